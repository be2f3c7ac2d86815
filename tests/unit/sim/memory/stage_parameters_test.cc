// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/stage_parameters.h"

#include <gtest/gtest.h>

#include "korthikanti.h"
#include "sim/memory/model_state.h"
#include "tiny.h"

namespace meshwright {
namespace {

// A layer has 12h^2 weights and 13h biases and norms; of the latter norms 4h and the two
// row-parallel biases 2h are whole on each tensor rank, 7h are split. On a stage without embedding:
//   22B  48 layers, h 6144, t 8:   (48 * 12h^2 / 8) * 18 = 45.5625 GiB (Korthikanti 2022, figure 1:
//        45.56) and (48 * (6 + 7/8) h) * 18 = 0.0340 GiB of biases and norms.
//   530B 3 layers, h 20480, t 8: 31.6406 GiB (31.64) and 0.0071 GiB.
TEST(StageParameters, WeightsAndOptimizerAreKorthikantis) {
  for (const auto& [setup, published] :
       {std::pair{korthikanti_22b(), 45.5625}, std::pair{korthikanti_175b(), 45.5625},
        std::pair{korthikanti_530b(), 31.640625}, std::pair{korthikanti_1t(), 32.958984375}}) {
    const Stage stage = layers_only(setup);
    const double h = setup.model.hidden_size;
    const double biases_and_norms =
        in_gibibytes(bytes(stage.num_layers() * (6 + 7.0 / 8) * h * 18));
    const auto parameters = stage_parameters(setup.model, setup.job, setup.layout, stage);
    const Bytes state = model_state_memory(parameters, setup.job, setup.layout).total();
    EXPECT_DOUBLE_EQ(in_gibibytes(state), published + biases_and_norms);
    EXPECT_NEAR(in_gibibytes(state) / published, 1.0, 0.001);
  }
}

// 1000 words are padded to 1024 rows of 64. Stage 0: the table, 128 positions. Stage 1: the final
// norm (2*64) and its own copy of the tied table.
TEST(StageParameters, ATiedHeadOnAnotherStageHasItsOwnCopy) {
  Model model = tiny_model();
  const Job job;
  const Layout layout = two_stages();
  const auto stages = pipeline_stages(model, layout);
  const double first = stage_parameters(model, job, layout, stages[0]).dense;
  const double last = stage_parameters(model, job, layout, stages[1]).dense;
  EXPECT_DOUBLE_EQ(first - last, 128 * 64 - 2 * 64);
  // Untied: the head has a matrix anyway, and the sum stays.
  model.tied_embeddings = false;
  EXPECT_DOUBLE_EQ(stage_parameters(model, job, layout, stages[1]).dense, last);
}

TEST(StageParameters, ATiedHeadBesideTheEmbeddingSharesItsMatrix) {
  Model model = tiny_model();
  const Job job;
  const Layout layout;
  const auto stage = pipeline_stages(model, layout).front();
  const double tied = stage_parameters(model, job, layout, stage).dense;
  model.tied_embeddings = false;
  EXPECT_DOUBLE_EQ(stage_parameters(model, job, layout, stage).dense - tied, 1024 * 64);
}

// DualPipe holds every chunk twice: the layers of all stages add up to twice the model's.
TEST(StageParameters, DualPipeHoldsTheModelTwice) {
  const Model model = tiny_model();
  const Job job;
  Layout layout = two_stages();
  const auto layers = [&](const Layout& l) {
    int sum = 0;
    for (const Stage& stage : pipeline_stages(model, l)) sum += stage.num_layers();
    return sum;
  };
  EXPECT_EQ(layers(layout), 4);
  layout.schedule = PipelineSchedule::dualpipe;
  layout.virtual_pipeline_parallel_size = 2;
  EXPECT_EQ(layers(layout), 8);
  // Each stage has an embedding and a head, which share the tied table: its 1024*64 once.
  const auto stages = pipeline_stages(model, layout);
  EXPECT_DOUBLE_EQ(stage_parameters(model, job, layout, stages[0]).dense,
                   stage_parameters(model, job, layout, stages[1]).dense);
}

TEST(StageParameters, TensorAndExpertSizesNeverAddWeights) {
  Model model = tiny_model();
  model.moe = MixtureOfExperts{};
  model.moe->num_moe_experts = 8;
  model.moe->moe_router_topk = 2;
  model.moe->moe_ffn_hidden_size = 128;
  const Job job;
  const auto parameters = [&](int t, int e) {
    Layout layout;
    layout.tensor_parallel_size = t;
    layout.expert_parallel_size = e;
    layout.expert_tensor_parallel_size = 1;
    layout.data_parallel_size = e;
    return stage_parameters(model, job, layout, pipeline_stages(model, layout).front());
  };
  EXPECT_LT(parameters(2, 1).dense, parameters(1, 1).dense);
  // 8 experts of 2*64*128 weights in 4 layers, divided by 4 ranks.
  EXPECT_DOUBLE_EQ(parameters(1, 4).expert, 4 * 8 * 2.0 * 64 * 128 / 4);
  EXPECT_DOUBLE_EQ(parameters(1, 1).expert, 4 * parameters(1, 4).expert);
}

}  // namespace
}  // namespace meshwright
