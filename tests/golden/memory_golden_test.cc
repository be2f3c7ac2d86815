// SPDX-License-Identifier: Apache-2.0
// Bytes of weights, gradients and optimizer state of a rank as SimuMax 4dcaae5 reports them for the
// same model, layout and definitions: no linear biases, norms of 2h a layer, untied matrices, bf16
// with fp32 gradients. Equal to the byte.
#include <gtest/gtest.h>

#include "sim/memory/model_state.h"

namespace meshwright {
namespace {

Model gpt_without_biases(int layers, int hidden, int heads) {
  Model model;
  model.num_layers = layers;
  model.hidden_size = hidden;
  model.ffn_hidden_size = 4 * hidden;
  model.num_attention_heads = heads;
  model.num_query_groups = heads;
  model.kv_channels = hidden / heads;
  model.vocab_size = 51200;
  model.position_embedding = PositionEmbedding::none;
  model.normalization = Normalization::rms_norm;
  model.add_bias_linear = false;
  model.tied_embeddings = false;
  return model;
}

Layout sizes(int tensor, int pipeline, int data) {
  Layout layout;
  layout.tensor_parallel_size = tensor;
  layout.pipeline_parallel_size = pipeline;
  layout.data_parallel_size = data;
  return layout;
}

Bytes states(const Model& model, const Layout& layout, std::size_t stage) {
  const Job job;
  const Stage held = pipeline_stages(model, layout)[stage];
  return model_state_memory(stage_parameters(model, job, layout, held), job, layout).total();
}

// 175B, tensor 8, pipeline 8, 3 chunks: a middle stage has 12 layers of 12h^2/8 + 2h, h = 12288:
// 2,718,203,904 parameters of 18 bytes. The ends add 51200 / 8 rows of h, the last a norm of h.
TEST(ModelStates, Of175BAreSimuMaxs) {
  Layout layout = sizes(8, 8, 1);
  layout.virtual_pipeline_parallel_size = 3;
  layout.schedule = PipelineSchedule::interleaved;
  const Model model = gpt_without_biases(96, 12288, 96);
  EXPECT_EQ(states(model, layout, 0), bytes(50343247872.0));
  EXPECT_EQ(states(model, layout, 1), bytes(48927670272.0));
  EXPECT_EQ(states(model, layout, 7), bytes(50343469056.0));
}

// 1T over 64 stages: 2 layers of 12h^2/8 + 2h, h = 25600.
TEST(ModelStates, Of1TAreSimuMaxs) {
  const Model model = gpt_without_biases(128, 25600, 160);
  EXPECT_EQ(states(model, sizes(8, 64, 1), 0), bytes(38340403200.0));
  EXPECT_EQ(states(model, sizes(8, 64, 1), 1), bytes(35391283200.0));
  EXPECT_EQ(states(model, sizes(8, 64, 1), 63), bytes(38340864000.0));
}

// 22B with its optimizer over 4 data ranks: 6 + 12/4 = 9 bytes a parameter.
TEST(ModelStates, WithADistributedOptimizerAreSimuMaxs) {
  Layout layout = sizes(2, 4, 4);
  layout.zero_stage = 1;
  const Model model = gpt_without_biases(48, 6144, 64);
  EXPECT_EQ(states(model, layout, 0), bytes(25878085632.0));
  EXPECT_EQ(states(model, layout, 1), bytes(24462508032.0));
  EXPECT_EQ(states(model, layout, 3), bytes(25878140928.0));
}

// Llama-3-8B, tensor 2, data 4: 128257 words are padded to 128512.
TEST(ModelStates, OfLlamaAreSimuMaxs) {
  Model model = gpt_without_biases(32, 4096, 32);
  model.ffn_hidden_size = 14336;
  model.num_query_groups = 8;
  model.activation = Activation::swiglu;
  model.vocab_size = 128257;
  Layout layout = sizes(2, 1, 4);
  layout.zero_stage = 1;
  EXPECT_EQ(states(model, layout, 0), bytes(36146810880.0));
}

// DeepSeek-V2, 4 layers of which 1 is dense, 160 experts over 8 ranks: the optimizer shards the
// dense part over 8 ranks, the experts over their own data size, 1.
TEST(ModelStates, OfExpertsAreSimuMaxs) {
  Model model = gpt_without_biases(4, 5120, 128);
  model.ffn_hidden_size = 12288;
  model.kv_channels = 128;
  model.vocab_size = 102400;
  model.activation = Activation::swiglu;
  model.mla = LatentAttention{1536, 512, 128, 64, 128};
  MixtureOfExperts moe;
  moe.num_moe_experts = 160;
  moe.moe_router_topk = 6;
  moe.moe_ffn_hidden_size = 1536;
  moe.moe_shared_expert_intermediate_size = 3072;
  moe.num_first_dense_layers = 1;
  model.moe = moe;
  Layout layout = sizes(1, 1, 8);
  layout.expert_parallel_size = 8;
  layout.zero_stage = 1;
  EXPECT_EQ(states(model, layout, 0), bytes(6787737600.0 + 13575475200.0 + 19954368000.0));
}

}  // namespace
}  // namespace meshwright
