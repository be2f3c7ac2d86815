// SPDX-License-Identifier: Apache-2.0
// Pipeline, data and context groups of the ledger.
#include <gtest/gtest.h>

#include "sim/block/parameters.h"
#include "sim/memory/stage_parameters.h"
#include "tests/unit/sim/volume/volume_fixture.h"

namespace meshwright {
namespace {

using namespace volume_test;

Layout piped(int stages, PipelineSchedule schedule = PipelineSchedule::one_f_one_b,
             int chunks = 1) {
  Layout layout;
  layout.pipeline_parallel_size = stages;
  layout.schedule = schedule;
  layout.virtual_pipeline_parallel_size = chunks;
  return layout;
}

double sent_in_all(const Layout& layout, Phase phase) {
  double sum = 0;
  for (const StageVolume& stage : volume(small_model(), small_job(), layout).stages) {
    sum += payload(stage, Group::pipeline, phase);
  }
  return sum;
}

TEST(PipelineVolume, EndsSendOneWayMiddlesBoth) {
  EXPECT_EQ(stage_of(small_model(), piped(4), 0).sent(Group::pipeline), bytes(16 * kUnit));
  EXPECT_EQ(stage_of(small_model(), piped(4), 1).sent(Group::pipeline), bytes(32 * kUnit));
  EXPECT_EQ(stage_of(small_model(), piped(4), 3).sent(Group::pipeline), bytes(16 * kUnit));
}

// Whatever is sent forward over a border comes back as a gradient of the same size; a model of C
// chunks has C-1 borders (ZB-V: less one, inside the last stage), DualPipe p-1 in each direction
// for half the micro-batches.
TEST(PipelineVolume, AllBordersAreCrossedOnceEachWay) {
  struct Case {
    Layout layout;
    double borders;
  };
  for (const Case& c : {Case{piped(4), 3}, Case{piped(4, PipelineSchedule::interleaved, 2), 7},
                        Case{piped(4, PipelineSchedule::zb_v, 2), 6},
                        Case{piped(4, PipelineSchedule::dualpipe, 2), 3}}) {
    EXPECT_EQ(sent_in_all(c.layout, Phase::forward), c.borders * 16 * kUnit);
    EXPECT_EQ(sent_in_all(c.layout, Phase::backward), c.borders * 16 * kUnit);
  }
}

TEST(PipelineVolume, SequenceParallelSendsPieces) {
  Layout layout = piped(2);
  layout.tensor_parallel_size = 4;
  layout.sequence_parallel = true;
  EXPECT_EQ(stage_of(small_model(), layout).sent(Group::pipeline), bytes(16 * kUnit / 4));
}

TEST(PipelineVolume, ScatteredSendsAreGatheredByTheReceiver) {
  Layout layout = piped(2);
  layout.tensor_parallel_size = 4;
  layout.scatter_gather_p2p = true;
  const StageVolume first = stage_of(small_model(), layout, 0);
  const StageVolume last = stage_of(small_model(), layout, 1);
  EXPECT_EQ(first.sent(Group::pipeline), bytes(16 * kUnit / 4));
  ASSERT_NE(find(last, "received activation all-gather"), nullptr);
  EXPECT_EQ(find(last, "received activation all-gather")->payload_per_step(), bytes(16 * kUnit));
  EXPECT_NE(find(first, "received gradient all-gather", Phase::backward), nullptr);
}

double dense_parameters(const Layout& layout) {
  const auto stages = pipeline_stages(small_model(), layout);
  return stage_parameters(small_model(), small_job(), layout, stages[0]).dense;
}

TEST(DataVolume, GradientsAreAllReducedOnceAStep) {
  Layout layout;
  layout.data_parallel_size = 4;
  const StageVolume stage = stage_of(small_model(), layout);
  const Transfer* sum = find(stage, "gradient all-reduce", Phase::step);
  ASSERT_NE(sum, nullptr);
  EXPECT_EQ(sum->payload.value(), 4 * dense_parameters(layout));
  EXPECT_EQ(sum->sent().value(), 1.5 * 4 * dense_parameters(layout));
}

// 12 h^2 + 13 h = 49984 a layer, 8 layers; embedding 128 h, positions 32 h, final norm 2 h.
TEST(DataVolume, ThePayloadIsEveryParameterOfTheRank) {
  Layout layout;
  layout.data_parallel_size = 4;
  const StageVolume stage = stage_of(small_model(), layout);
  EXPECT_EQ(find(stage, "gradient all-reduce", Phase::step)->payload.value(),
            4.0 * (8 * 49984 + (128 + 32 + 2) * 64));
}

TEST(DataVolume, ContextRanksReduceGradientsToo) {
  Layout layout;
  layout.data_parallel_size = 2;
  layout.context_parallel_size = 2;
  EXPECT_EQ(find(stage_of(small_model(), layout), "gradient all-reduce", Phase::step)->group_size,
            4);
}

// ZeRO-1: reduce-scatter of 4-byte gradients, all-gather of 2-byte weights, 3/4 of each.
TEST(DataVolume, ShardedOptimizerReducesAndGathers) {
  Layout layout;
  layout.data_parallel_size = 4;
  layout.zero_stage = 1;
  const StageVolume stage = stage_of(small_model(), layout);
  const double n = dense_parameters(layout);
  EXPECT_EQ(find(stage, "gradient reduce-scatter", Phase::step)->sent().value(), 0.75 * 4 * n);
  EXPECT_EQ(find(stage, "updated weight all-gather", Phase::step)->sent().value(), 0.75 * 2 * n);
}

// fp8_param_gather: the 12 h^2 = 49152 linear weights of each of the 8 layers go in 1 byte, the
// rest in 2.
TEST(DataVolume, Fp8WeightsAreGatheredInOneByte) {
  Layout layout;
  layout.data_parallel_size = 4;
  layout.zero_stage = 1;
  Job job = small_job();
  job.precision = Precision::fp8;
  job.fp8_param_gather = true;
  const StageVolume stage = volume(small_model(), job, layout).stages.front();
  EXPECT_EQ(find(stage, "updated weight all-gather", Phase::step)->payload.value(),
            2 * dense_parameters(layout) - 8 * 49152.0);
  job.fp8_recipe = Fp8Recipe::mxfp8;  // cast where they arrive
  const StageVolume wide = volume(small_model(), job, layout).stages.front();
  EXPECT_EQ(find(wide, "updated weight all-gather", Phase::step)->payload.value(),
            2 * dense_parameters(layout));
}

// 16 sequences over 4 ranks: 4 micro-batches.
TEST(DataVolume, ShardedGradientsAreReducedForEveryMicroBatch) {
  Layout layout;
  layout.data_parallel_size = 4;
  layout.zero_stage = 2;
  const int layers = small_model().num_layers;  // each is a unit of its own
  const StageVolume stage = stage_of(small_model(), layout);
  EXPECT_EQ(find(stage, "gradient reduce-scatter", Phase::backward)->times_per_step, 4 * layers);
  EXPECT_EQ(find(stage, "updated weight all-gather", Phase::step)->times_per_step, 1);
}

TEST(DataVolume, ShardedWeightsAreGatheredTwiceForEveryMicroBatch) {
  Layout layout;
  layout.data_parallel_size = 4;
  layout.zero_stage = 3;
  const int layers = 4 * small_model().num_layers;  // linears, each a unit of its own
  const StageVolume stage = stage_of(small_model(), layout);
  EXPECT_EQ(find(stage, "weight all-gather", Phase::forward)->times_per_step, 4 * layers);
  EXPECT_EQ(find(stage, "weight all-gather again", Phase::backward)->times_per_step, 4 * layers);
  EXPECT_EQ(find(stage, "gradient reduce-scatter", Phase::backward)->times_per_step, 4 * layers);
  EXPECT_EQ(find(stage, "updated weight all-gather", Phase::step), nullptr);
}

// 12 h^2 with h = 16384 are 3.22e9 parameters a layer: 0.5e9 of them stay from the second forward
// to its backward, 1 - 0.5 / 3.22 = 0.845 are gathered once more, in as many of the 4 * 8 linears'
// calls:
// 28. Small layers stay whole.
TEST(DataVolume, WeightsOfLargeLayersAreGatheredAgainToRunThemAgain) {
  Layout layout;
  layout.data_parallel_size = 4;
  layout.zero_stage = 3;
  layout.recompute_granularity = RecomputeGranularity::full;
  constexpr std::string_view kAgain = "weight all-gather to run again";
  EXPECT_EQ(find(stage_of(small_model(), layout), kAgain, Phase::recompute), nullptr);
  Model large = small_model();
  large.hidden_size = 16384;
  large.kv_channels = 2048;
  large.ffn_hidden_size = 65536;
  const StageVolume stage = stage_of(large, layout);
  const Transfer* again = find(stage, kAgain, Phase::recompute);
  const Transfer* gather = find(stage, "weight all-gather", Phase::forward);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->times_per_step, 4 * 28);
  EXPECT_NEAR(again->payload_per_step() / gather->payload_per_step(), 0.845, 1e-3);
  layout.recompute_granularity = RecomputeGranularity::none;
  EXPECT_EQ(find(stage_of(large, layout), kAgain, Phase::recompute), nullptr);
}

TEST(DataVolume, OptimizersThatSumAllGradientsStillGatherTheWeights) {
  Layout layout;
  layout.data_parallel_size = 4;
  layout.zero_stage = 1;
  layout.all_reduce_gradients = true;
  const StageVolume stage = stage_of(small_model(), layout);
  EXPECT_NE(find(stage, "gradient all-reduce", Phase::step), nullptr);
  EXPECT_EQ(find(stage, "gradient reduce-scatter", Phase::step), nullptr);
  EXPECT_NE(find(stage, "updated weight all-gather", Phase::step), nullptr);
}

// FSDP on 4 ranks, 16 / 4 = 4 micro-batches, 8 blocks of 12 h^2 parameters and more. Each
// micro-batch gathers the first block, the other 7 and the root; again 8 before backward; reduces
// likewise.
TEST(DataVolume, FsdpGathersUnitsAndKeepsItsRoot) {
  Layout layout;
  layout.data_parallel_size = 4;
  layout.zero_stage = 3;
  layout.fsdp_unit = FsdpUnit::block;
  const StageVolume stage = stage_of(small_model(), layout);
  const auto calls = [&](std::string_view name, Phase phase) {
    const Transfer* found = find(stage, name, phase);
    return found == nullptr ? 0.0 : found->times_per_step;
  };
  EXPECT_EQ(calls("first unit's weight all-gather", Phase::forward), 4);
  EXPECT_EQ(calls("unit weight all-gather", Phase::forward), 4 * 7);
  EXPECT_EQ(calls("root weight all-gather", Phase::forward), 4);
  EXPECT_EQ(calls("unit weight all-gather again", Phase::backward), 4 * 8);
  EXPECT_EQ(calls("unit gradient reduce-scatter", Phase::backward), 4 * 7);
  EXPECT_EQ(calls("first unit's gradient reduce-scatter", Phase::backward), 4);
  EXPECT_EQ(calls("root gradient reduce-scatter", Phase::backward), 4);
  EXPECT_FALSE(find(stage, "root weight all-gather")->overlappable);
  EXPECT_TRUE(find(stage, "unit weight all-gather")->overlappable);
}

// The same bytes as ZeRO-3, less the second gather of the root (2 bytes of 128 x 64 embedding, 32 x
// 64 positions and the final norm of 2 x 64); SHARD_GRAD_OP gathers nothing again.
TEST(DataVolume, FsdpMovesWhatZeroThreeMovesLessTheRootsSecondGather) {
  Layout layout;
  layout.data_parallel_size = 4;
  layout.zero_stage = 3;
  const auto moved = [](const Layout& l) {
    return payload_of_micro_batches(stage_of(small_model(), l), Group::data);
  };
  const double zero_3 = moved(layout);
  layout.fsdp_unit = FsdpUnit::block;
  const double root = 128 * 64 + 32 * 64 + 2 * 64;
  EXPECT_DOUBLE_EQ(zero_3 - moved(layout), 4 * 2 * root);
  const double all = static_cast<double>(total_parameters(small_model()));
  layout.zero_stage = 2;
  EXPECT_DOUBLE_EQ(moved(layout), 4 * (2 + 4) * all);
  layout.fsdp_unit = FsdpUnit::whole;
  layout.zero_stage = 3;
  EXPECT_DOUBLE_EQ(moved(layout), 4 * (2 + 4) * all);
}

// Deferred: gathers for every micro-batch, one reduction of each of 8 units. Below a pipeline of 2
// stages: one of each, 4 units. With one micro-batch a step nothing is deferred. The trial's FSDP
// reduces all of a stage at once.
TEST(DataVolume, FsdpReducesOnceWhereItIsToldToOrStandsBelowAPipeline) {
  Layout layout;
  layout.tensor_engine = TensorEngine::dtensor;
  layout.data_parallel_size = 4;
  layout.zero_stage = 3;
  layout.fsdp_unit = FsdpUnit::block;
  layout.defer_grad_reduce = true;
  const StageVolume deferred = stage_of(small_model(), layout);
  EXPECT_EQ(find(deferred, "gradient reduce-scatter", Phase::step)->times_per_step, 8);
  EXPECT_EQ(find(deferred, "unit gradient reduce-scatter", Phase::backward), nullptr);
  EXPECT_EQ(find(deferred, "unit weight all-gather")->times_per_step, 4 * 7);
  layout.micro_batch_size = 4;
  const StageVolume only = stage_of(small_model(), layout);
  EXPECT_EQ(find(only, "gradient reduce-scatter", Phase::step), nullptr);
  EXPECT_EQ(find(only, "unit gradient reduce-scatter", Phase::backward)->times_per_step, 7);
  layout.micro_batch_size = 1;
  layout.defer_grad_reduce = false;
  layout.pipeline_parallel_size = 2;
  const StageVolume piped = stage_of(small_model(), layout);
  EXPECT_EQ(payload_of_micro_batches(piped, Group::data), 0);
  EXPECT_EQ(find(piped, "gradient reduce-scatter", Phase::step)->times_per_step, 4);
  EXPECT_FALSE(find(piped, "gradient reduce-scatter", Phase::step)->overlappable);
  EXPECT_EQ(find(piped, "updated weight all-gather", Phase::step)->times_per_step, 4);
  layout.tensor_engine = TensorEngine::megatron;
  const StageVolume tried = stage_of(small_model(), layout);
  EXPECT_EQ(find(tried, "gradient reduce-scatter", Phase::step)->times_per_step, 1);
}

// ZeRO's paper, section 7: stage 1 sends what plain data parallelism sends, stage 3 half as much
// again, when all numbers are equally wide and there is one micro-batch.
TEST(DataVolume, ZeroStagesCompareAsPublished) {
  Job job = small_job();
  job.global_batch_size = 4;
  job.gradient_precision = Precision::bf16;
  const auto sent = [&](int zero) {
    Layout layout;
    layout.data_parallel_size = 4;
    layout.zero_stage = zero;
    const Volume all = volume(small_model(), job, layout);
    double sum = 0;
    for (const Transfer& t : all.stages[0].transfers) {
      if (t.payload > bytes(8)) sum += t.sent_per_step().value();
    }
    return sum;
  };
  EXPECT_DOUBLE_EQ(sent(1), sent(0));
  EXPECT_DOUBLE_EQ(sent(2), sent(0));
  EXPECT_DOUBLE_EQ(sent(3), 1.5 * sent(0));
}

// 8 ranks, shards over 4: reduce-scatter and gather inside 4, a quarter summed over 2 copies.
TEST(DataVolume, HybridShardingSumsShardsOverCopies) {
  Layout layout;
  layout.data_parallel_size = 8;
  layout.zero_stage = 1;
  layout.zero_shard_size = 4;
  const StageVolume stage = stage_of(small_model(), layout);
  const double n = dense_parameters(layout);
  EXPECT_EQ(find(stage, "gradient reduce-scatter", Phase::step)->group_size, 4);
  const Transfer* copies = find(stage, "gradient shard all-reduce", Phase::step);
  ASSERT_NE(copies, nullptr);
  EXPECT_EQ(copies->group_size, 2);
  EXPECT_EQ(copies->payload.value(), 4 * n / 4);
}

// Keys and values: 32/4 tokens * 2 * 64 columns * 2 bytes = 2048; 3 hops; 16 micro-batches, 8
// layers.
TEST(ContextVolume, RingPassesKeysAndValuesForwardAndTwiceBack) {
  Layout layout;
  layout.context_parallel_size = 4;
  const StageVolume stage = stage_of(small_model(), layout);
  EXPECT_EQ(payload(stage, Group::context, Phase::forward), 16 * 8 * 3 * 2048);
  EXPECT_EQ(payload(stage, Group::context, Phase::backward), 2 * 16 * 8 * 3 * 2048);
}

// The gathers move the same bytes as the ring: 3/4 of the whole 4 * 2048, 3 times.
TEST(ContextVolume, AllGatherSendsWhatTheRingSends) {
  Layout layout;
  layout.context_parallel_size = 4;
  const Bytes ring = stage_of(small_model(), layout).sent(Group::context);
  layout.cp_comm_type = ContextParallelAlgorithm::all_gather;
  EXPECT_EQ(stage_of(small_model(), layout).sent(Group::context), ring);
}

// DeepSpeed-Ulysses: 4 N h / P for MHA: 8 tokens * 4 * 64 columns * 2 bytes, 3/4 of it sent, twice.
TEST(ContextVolume, UlyssesTradesSequenceForHeads) {
  Layout layout;
  layout.context_parallel_size = 4;
  layout.cp_comm_type = ContextParallelAlgorithm::a2a;
  EXPECT_EQ(stage_of(small_model(), layout).sent(Group::context).value(),
            2 * 16 * 8 * 0.75 * 8 * 4 * 64 * 2);
}

// All-to-all over 2 (half of 8 * 4 * 64 * 2 = 4096), then a ring over 2: 1 hop of 2048.
TEST(ContextVolume, HierarchicalIsAnAllToAllInsideARing) {
  Layout layout;
  layout.context_parallel_size = 4;
  layout.cp_comm_type = ContextParallelAlgorithm::a2a_p2p;
  layout.hierarchical_context_parallel_size = 2;
  EXPECT_EQ(stage_of(small_model(), layout).sent(Group::context).value(),
            16 * 8 * (2 * 2048 + 3 * 2048));
}

// 2 key-value groups over 4 tensor ranks: each rank still holds one group, 2 * 8 columns; 16
// tokens.
TEST(ContextVolume, SharedGroupsAreSentByEveryRank) {
  Model model = small_model();
  model.num_query_groups = 2;
  Layout layout = tensor(4);
  layout.context_parallel_size = 2;
  EXPECT_EQ(find(stage_of(model, layout), "key-value ring send")->payload, bytes(16 * 16 * 2));
}

TEST(ContextVolume, RecomputedAttentionExchangesAgain) {
  Layout layout;
  layout.context_parallel_size = 4;
  layout.recompute_granularity = RecomputeGranularity::selective;
  const StageVolume stage = stage_of(small_model(), layout);
  EXPECT_EQ(payload(stage, Group::context, Phase::recompute),
            payload(stage, Group::context, Phase::forward));
}

TEST(ContextVolume, ASlidingWindowChangesNothing) {
  Layout layout;
  layout.context_parallel_size = 4;
  Model model = small_model();
  const Bytes full = stage_of(model, layout).sent(Group::context);
  model.sliding_window = 8;
  EXPECT_EQ(stage_of(model, layout).sent(Group::context), full);
}

// Stages r and p-1-r hold the same layers; each has seen half the micro-batches.
TEST(DataVolume, DualPipeSumsGradientsOfMirroredStages) {
  const Layout layout = piped(4, PipelineSchedule::dualpipe, 2);
  for (const int stage : {0, 1}) {
    const StageVolume here = stage_of(small_model(), layout, stage);
    const StageVolume there = stage_of(small_model(), layout, 3 - stage);
    const std::string_view name = "mirrored stage gradient all-reduce";
    ASSERT_NE(find(here, name, Phase::step), nullptr);
    EXPECT_EQ(find(here, name, Phase::step)->payload, find(there, name, Phase::step)->payload);
  }
}

// ZeRO-1 over two data ranks leaves each of them half of the gradients to sum.
TEST(DataVolume, MirroredStagesSumWhatZeroLeftThem) {
  Layout layout = piped(4, PipelineSchedule::dualpipe, 2);
  layout.data_parallel_size = 2;
  const std::string_view name = "mirrored stage gradient all-reduce";
  const Bytes whole = find(stage_of(small_model(), layout), name, Phase::step)->payload;
  layout.zero_stage = 1;
  EXPECT_EQ(2.0 * find(stage_of(small_model(), layout), name, Phase::step)->payload, whole);
}

}  // namespace
}  // namespace meshwright
