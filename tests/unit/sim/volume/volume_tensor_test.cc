// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/unit/sim/volume/volume_fixture.h"

namespace meshwright {
namespace {

using namespace volume_test;

// 16 micro-batches. Layers: 2 all-reduces each way, 8 layers. Embedding: 1 forward; logits: 1
// backward; cross-entropy: 3 of 32 * 4 bytes.
TEST(TensorVolume, TwoAllReducesALayerEachWay) {
  const StageVolume stage = stage_of(small_model(), tensor(4));
  EXPECT_EQ(payload(stage, Group::tensor, Phase::forward), 16 * ((8 * 2 + 1) * kUnit + 3 * 128));
  EXPECT_EQ(payload(stage, Group::tensor, Phase::backward), 16 * (8 * 2 + 1) * kUnit);
  // U = (t-1)/t * S; 2U an all-reduce: 3/4 * 2.
  EXPECT_EQ(stage.sent(Group::tensor).value(), 1.5 * 16 * ((8 * 4 + 2) * kUnit + 3 * 128));
}

// 4 units forward, 6 backward a layer (Megatron-LM layers.py gathers the saved pieces again).
// Learned positions: all-reduce forward, all-gather backward. Logits: gather; reduce-scatter and
// gather again.
TEST(TensorVolume, SequenceParallelGathersSavedInputsAgain) {
  const StageVolume stage = stage_of(small_model(), tensor(4, true));
  EXPECT_EQ(payload(stage, Group::tensor, Phase::forward),
            16 * ((8 * 4 + 1 + 1) * kUnit + 3 * 128));
  EXPECT_EQ(payload(stage, Group::tensor, Phase::backward), 16 * (8 * 6 + 1 + 2) * kUnit);
}

TEST(TensorVolume, WithoutLearnedPositionsTheEmbeddingIsReduceScattered) {
  Model model = small_model();
  model.position_embedding = PositionEmbedding::rope;
  const StageVolume stage = stage_of(model, tensor(4, true));
  ASSERT_NE(find(stage, "embedding reduce-scatter"), nullptr);
  EXPECT_EQ(find(stage, "embedding all-reduce"), nullptr);
}

// Full recompute runs each layer's forward collectives once more: 2 all-reduces, or 4 calls.
TEST(TensorVolume, FullRecomputeRepeatsTheForwardOfTheLayers) {
  for (const bool sequence_parallel : {false, true}) {
    Layout layout = tensor(4, sequence_parallel);
    layout.recompute_granularity = RecomputeGranularity::full;
    const double calls = sequence_parallel ? 4 : 2;
    EXPECT_EQ(payload(stage_of(small_model(), layout), Group::tensor, Phase::recompute),
              16 * 8 * calls * kUnit);
    layout.recompute_method = RecomputeMethod::block;
    layout.recompute_num_layers = 2;
    EXPECT_EQ(payload(stage_of(small_model(), layout), Group::tensor, Phase::recompute),
              16 * 2 * calls * kUnit);
  }
}

TEST(TensorVolume, SelectiveRecomputeOfAttentionRepeatsNothing) {
  Layout layout = tensor(4);
  layout.recompute_granularity = RecomputeGranularity::selective;
  EXPECT_EQ(payload(stage_of(small_model(), layout), Group::tensor, Phase::recompute), 0);
  layout.recompute_modules = {kRecomputeMlp};
  EXPECT_EQ(payload(stage_of(small_model(), layout), Group::tensor, Phase::recompute),
            16 * 8 * kUnit);
}

TEST(TensorVolume, ParallelAttentionAndMlpReduceOnce) {
  Model model = small_model();
  model.parallel_attention_mlp = true;
  model.vocab_size = 0;
  const StageVolume stage = stage_of(model, tensor(4));
  EXPECT_EQ(payload(stage, Group::tensor, Phase::forward), 16 * 8 * kUnit);
  EXPECT_EQ(payload(stage, Group::tensor, Phase::backward), 16 * 8 * kUnit);
}

// A bare MLP: one all-reduce a layer each way, and no vocabulary.
TEST(TensorVolume, ALayerWithoutAttentionReducesOnce) {
  Model model = small_model();
  model.num_attention_heads = 0;
  model.num_query_groups = 0;
  model.vocab_size = 0;
  const StageVolume stage = stage_of(model, tensor(4));
  EXPECT_EQ(payload_of_micro_batches(stage, Group::tensor), 16 * 8 * 2 * kUnit);
}

// 2 groups over 4 ranks: the columns q + 2 kv = 64 + 2 * 16 = 96 are gathered: 32 * 96 * 2 = 6144.
TEST(TensorVolume, SharedQueryGroupsAreGathered) {
  Model model = small_model();
  model.num_query_groups = 2;
  const StageVolume stage = stage_of(model, tensor(4));
  const Transfer* gather = find(stage, "query-key-value all-gather of shared groups");
  ASSERT_NE(gather, nullptr);
  EXPECT_EQ(gather->payload, bytes(6144));
  EXPECT_EQ(gather->times_per_step, 16 * 8);
  EXPECT_EQ(find(stage_of(model, tensor(2)), "query-key-value all-gather of shared groups"),
            nullptr);
}

// MLA: only the latents are gathered: 32 tokens * 16 or 8 columns * 2 bytes.
TEST(TensorVolume, LatentAttentionGathersLatents) {
  Model model = small_model();
  model.mla = LatentAttention{16, 8, 8, 4, 8};
  const StageVolume stage = stage_of(model, tensor(4, true));
  ASSERT_NE(find(stage, "latent query all-gather"), nullptr);
  EXPECT_EQ(find(stage, "latent query all-gather")->payload, bytes(32 * 16 * 2));
  EXPECT_EQ(find(stage, "latent key-value all-gather")->payload, bytes(32 * 8 * 2));
  EXPECT_EQ(find(stage, "rotary key all-gather")->payload, bytes(32 * 4 * 2));
  EXPECT_EQ(find(stage, "attention input all-gather"), nullptr);
}

// Up projections that run again gather their latents again, as often as forward; the rotary key is
// kept.
TEST(TensorVolume, RecomputedUpProjectionsGatherLatentsAgain) {
  Model model = small_model();
  model.mla = LatentAttention{16, 8, 8, 4, 8};
  Layout layout = tensor(4, true);
  EXPECT_EQ(find(stage_of(model, layout), "latent query all-gather", Phase::recompute), nullptr);
  layout.recompute_granularity = RecomputeGranularity::selective;
  layout.recompute_modules = {kRecomputeMlaUpProjection};
  const StageVolume stage = stage_of(model, layout);
  for (const std::string_view name : {"latent query all-gather", "latent key-value all-gather"}) {
    ASSERT_NE(find(stage, name, Phase::recompute), nullptr);
    EXPECT_EQ(find(stage, name, Phase::recompute)->times_per_step,
              find(stage, name)->times_per_step);
  }
  EXPECT_EQ(find(stage, "rotary key all-gather", Phase::recompute), nullptr);
}

// Megatron-LM overlaps the input gradient's reduction with the weight gradient; the forward one
// only with tp_comm_overlap.
TEST(TensorVolume, OverlapIsWhatTheSwitchesAllow) {
  Layout layout = tensor(4, true);
  EXPECT_FALSE(find(stage_of(small_model(), layout), "MLP input all-gather")->overlappable);
  EXPECT_TRUE(
      find(stage_of(small_model(), layout), "MLP input gradient reduce-scatter", Phase::backward)
          ->overlappable);
  layout.tp_comm_overlap = true;
  EXPECT_TRUE(find(stage_of(small_model(), layout), "MLP input all-gather")->overlappable);
}

// Parameters that each tensor rank holds whole: a layer's two norms (2 * 2 * 64) and two biases of
// row-parallel linears (2 * 64) = 384; 8 layers and the final norm 128: 3200 numbers of 4 bytes.
TEST(TensorVolume, SequenceParallelSumsReplicatedGradientsOnce) {
  const StageVolume stage = stage_of(small_model(), tensor(4, true));
  const Transfer* sum = find(stage, "replicated parameter gradient all-reduce", Phase::step);
  ASSERT_NE(sum, nullptr);
  EXPECT_EQ(sum->payload, bytes(4 * (8 * 384 + 128)));
  EXPECT_EQ(sum->times_per_step, 1);
}

// Norms of queries and keys have weight and bias of a head's 8 columns each, whole on every tensor
// rank, which has seen its own heads: 8 layers * 2 * 16 numbers of 4 bytes without sequence
// parallelism, beside the others with it.
TEST(TensorVolume, NormsOfHeadsAreSummedWithoutSequenceParallelismToo) {
  constexpr const char* kSum = "replicated parameter gradient all-reduce";
  Model model = small_model();
  EXPECT_EQ(find(stage_of(model, tensor(4, false)), kSum, Phase::step), nullptr);
  model.qk_layernorm = true;
  const StageVolume whole = stage_of(model, tensor(4, false));
  ASSERT_NE(find(whole, kSum, Phase::step), nullptr);
  EXPECT_EQ(find(whole, kSum, Phase::step)->payload, bytes(4 * 8 * 2 * 16));
  const StageVolume pieces = stage_of(model, tensor(4, true));
  ASSERT_NE(find(pieces, kSum, Phase::step), nullptr);
  EXPECT_EQ(find(pieces, kSum, Phase::step)->payload, bytes(4 * (8 * (384 + 2 * 16) + 128)));
}

// Payload that one depth of multi-token prediction adds, per micro-batch.
double added_by_prediction(const Layout& layout) {
  Model model = small_model();
  const double without = payload_of_micro_batches(stage_of(model, layout), Group::tensor);
  model.mtp_num_layers = 1;
  return (payload_of_micro_batches(stage_of(model, layout), Group::tensor) - without) / 16;
}

// Each prediction layer repeats layer (4 + 6), embedding (1 + 1), logits (1 + 2) and loss, and has
// a projection 2h -> h: input gathered (2), output gathered (1); back 2 + 2 and 1. Without sequence
// parallelism layer 2 + 2, embedding 1, logits 1, and of the projection output (1) and input
// gradient (2).
TEST(TensorVolume, MultiTokenPredictionRepeatsLayerAndHead) {
  EXPECT_EQ(added_by_prediction(tensor(4, true)), (10 + 2 + 3 + 8) * kUnit + 3 * 128);
  EXPECT_EQ(added_by_prediction(tensor(4)), (4 + 1 + 1 + 3) * kUnit + 3 * 128);
}

// Layer (4, or 2 without sequence parallelism) and projection (2 + 1, or 1) once more; the block
// method leaves them out.
TEST(TensorVolume, MultiTokenPredictionIsRunAgainByTheUniformMethod) {
  for (const bool sequence_parallel : {false, true}) {
    Layout layout = tensor(4, sequence_parallel);
    const double once = added_by_prediction(layout);
    layout.recompute_granularity = RecomputeGranularity::full;
    EXPECT_EQ(added_by_prediction(layout) - once, (sequence_parallel ? 4 + 3 : 2 + 1) * kUnit);
    layout.recompute_method = RecomputeMethod::block;
    EXPECT_EQ(added_by_prediction(layout), once);
  }
}

// First and last stage sum their copies: 128 rows / 4 * 64 columns * 4 bytes = 8192.
TEST(TensorVolume, TiedEmbeddingsAreSummedOverTheEndsOfThePipeline) {
  Layout layout = tensor(4);
  layout.pipeline_parallel_size = 4;
  for (const int stage : {0, 3}) {
    const StageVolume ends = stage_of(small_model(), layout, stage);
    const Transfer* sum = find(ends, "shared embedding gradient all-reduce", Phase::step);
    ASSERT_NE(sum, nullptr);
    EXPECT_EQ(sum->payload, bytes(8192));
  }
  EXPECT_EQ(stage_of(small_model(), layout, 1).sent(Group::embedding), bytes(0));
  Model untied = small_model();
  untied.tied_embeddings = false;
  EXPECT_EQ(stage_of(untied, layout, 0).sent(Group::embedding), bytes(0));
  layout.schedule = PipelineSchedule::zb_v;
  layout.virtual_pipeline_parallel_size = 2;
  EXPECT_EQ(stage_of(small_model(), layout, 0).sent(Group::embedding), bytes(0));
}

// fp8: a linear's input and its output's gradient are gathered in 1 byte, sums are made in 2.
TEST(TensorVolume, Fp8GathersWhatALinearTakesInOneByte) {
  Job job = small_job();
  job.precision = Precision::fp8;
  const StageVolume stage = volume(small_model(), job, tensor(4, true)).stages.front();
  EXPECT_EQ(find(stage, "MLP input all-gather")->payload, bytes(kUnit / 2));
  EXPECT_EQ(find(stage, "MLP output gradient all-gather", Phase::backward)->payload,
            bytes(kUnit / 2));
  EXPECT_EQ(find(stage, "MLP output reduce-scatter")->payload, bytes(kUnit));
  EXPECT_EQ(find(stage, "logits input all-gather")->payload, bytes(kUnit));
}

}  // namespace
}  // namespace meshwright
