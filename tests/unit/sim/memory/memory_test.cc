// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/memory.h"

#include <gtest/gtest.h>

#include "korthikanti.h"
#include "sim/memory/activation_memory.h"
#include "tiny.h"

namespace meshwright {
namespace {

// The table's logits: 128 positions x 1024 rows, 4 bytes of probability; at the peak the output
// linear turns them into a gradient of 2.
TEST(StageMemory, FirstAndLastStageDiffer) {
  const Model model = tiny_model();
  const Layout layout = two_stages();
  const auto stages = pipeline_stages(model, layout);
  const StageMemory first = stage_memory(model, tiny_job(), layout, stages[0], 0);
  const StageMemory last = stage_memory(model, tiny_job(), layout, stages[1], 1);
  EXPECT_EQ(first.logits, Bytes{});
  EXPECT_GE(last.logits, bytes(128.0 * 1024 * 2));
  EXPECT_LE(last.logits, bytes(128.0 * 1024 * 6));
  EXPECT_GT(first.activations, last.activations);  // two micro-batches in flight against one
}

TEST(StageMemory, GpipeKeepsTheLogitsOfAllMicroBatches) {
  const Model model = tiny_model();
  Layout layout = two_stages();
  const Stage last = pipeline_stages(model, layout)[1];
  const StageMemory alternating = stage_memory(model, tiny_job(), layout, last, 1);
  layout.schedule = PipelineSchedule::gpipe;
  const StageMemory gpipe = stage_memory(model, tiny_job(), layout, last, 1);
  EXPECT_EQ(gpipe.logits - alternating.logits, 7 * bytes(128.0 * 1024 * 4));
  EXPECT_EQ(gpipe.activations, 8 * alternating.activations);
}

// In each of 4 layers the forward pass keeps one layer while the backward pass of another
// micro-batch frees one. The peak is that micro-batch's activations and one layer, when the logits
// are gone, or not there yet.
TEST(StageMemory, PassesThatTakeTurnsInEachLayerHoldOneLayerMoreWithoutLogits) {
  Model model = tiny_model();
  model.vocab_size = 100;
  model.moe =
      MixtureOfExperts{.num_moe_experts = 4, .moe_router_topk = 2, .moe_ffn_hidden_size = 64};
  Layout layout;
  layout.data_parallel_size = layout.expert_parallel_size = 2;
  const Stage stage = pipeline_stages(model, layout)[0];
  const UnitBytes units = unit_bytes(model, tiny_job(), layout);
  const ChunkMemory chunk = chunk_memories(units, layout, chunk_groups(model, layout, stage))[0];
  EXPECT_EQ(4 * chunk.layer, chunk.held.whole - units.embedding - units.head);
  const Bytes alone = moving_memory(model, tiny_job(), layout, stage, 0).total();
  layout.overlap_moe_expert_parallel_comm = true;
  const Bytes together = moving_memory(model, tiny_job(), layout, stage, 0).total();
  const auto in_turns = [&](const Workspace& w) {
    return w.total() + chunk.layer - (chunk.held.logits + w.logits);
  };
  const Bytes most = std::max(in_turns(chunk.forward), in_turns(chunk.backward));
  EXPECT_NEAR((together - alone).value(),
              (most - std::max(chunk.forward.total(), chunk.backward.total())).value(), 8);
  EXPECT_GT(together, alone);
}

// Two tensors of 128 * 64 * 2 bytes are on their way only when messages overlap with compute.
TEST(StageMemory, OverlappedMessagesHaveTheirOwnBuffers) {
  const Model model = tiny_model();
  Layout layout = two_stages();
  const Stage first = pipeline_stages(model, layout)[0];
  const auto buffers = [&] {
    return stage_memory(model, tiny_job(), layout, first, 0).communication_buffers;
  };
  EXPECT_EQ(buffers(), Bytes{});
  layout.overlap_p2p_comm = true;
  EXPECT_EQ(buffers(), bytes(2.0 * 128 * 64 * 2));
}

// Four layers as 3 + 1: the first stage holds 2 micro-batches of 3 layers, the last 1 of 1.
TEST(StageMemory, UnevenStagesHoldTheirOwnLayers) {
  const Model model = tiny_model();
  Layout layout = two_stages();
  layout.num_layers_in_first_pipeline_stage = 3;
  const auto stages = pipeline_stages(model, layout);
  const Bytes layer = layer_activation_bytes(model, {}, tiny_job(),
                                             micro_batch_tokens(tiny_job(), layout), layout, false);
  const Bytes ids = bytes(8.0 * 128);
  EXPECT_EQ(stage_memory(model, tiny_job(), layout, stages[0], 0).activations,
            2 * (3 * layer + ids));
}

// Interleaved over 2 stages with chunks of 1, 4 micro-batches: the peak is the walk's over the
// program with each chunk's own bytes.
TEST(StageMemory, PeakIsTheLargestMoment) {
  const Model model = tiny_model();
  Layout layout = two_stages();
  layout.schedule = PipelineSchedule::interleaved;
  layout.virtual_pipeline_parallel_size = 2;
  const Stage stage = pipeline_stages(model, layout)[1];  // layers 1 and 3, the head
  const auto held = [&](std::size_t c) {
    return chunk_activations({model, tiny_job(), layout}, stage, c);
  };
  // 3 chunks in flight at the first backward (2 + 1), of the head's chunk one.
  const StageMemory peak = stage_memory(model, tiny_job(), layout, stage, 1);
  EXPECT_EQ(peak.activations, 2 * held(0).whole + held(1).whole);
  EXPECT_EQ(
      peak.logits,
      held(1).logits +
          logits_bytes(model, tiny_job(), micro_batch_tokens(tiny_job(), layout), layout).beside);
}

// fp8: each linear weight in two 1-byte copies beside the 16-bit one; a layer has 12 * 64^2 of
// them.
TEST(StageMemory, Fp8KeepsTwoCopiesOfEachLinear) {
  const Model model = tiny_model();
  const Stage stage = pipeline_stages(model, Layout{}).front();
  Job job = tiny_job();
  const Bytes wide = stage_memory(model, job, Layout{}, stage, 0).weights;
  job.precision = Precision::fp8;
  EXPECT_EQ(stage_memory(model, job, Layout{}, stage, 0).weights - wide,
            bytes(2.0 * 4 * 12 * 64 * 64));
}

// The same weights: where products take operands by rows and by columns, one copy of a per-tensor
// recipe; of mxfp8 two with a byte for 32, of fp4 two of half a byte with one for 16.
TEST(StageMemory, CopiesOfWeightsAreTheRecipes) {
  const Model model = tiny_model();
  const Stage stage = pipeline_stages(model, Layout{}).front();
  Job job = tiny_job();
  const Bytes wide = stage_memory(model, job, Layout{}, stage, 0).weights;
  job.operands_in_any_layout = true;
  const auto added = [&](Precision precision, std::optional<Fp8Recipe> recipe) {
    job.precision = precision;
    job.fp8_recipe = recipe;
    return (stage_memory(model, job, Layout{}, stage, 0).weights - wide).value() /
           (4.0 * 12 * 64 * 64);
  };
  EXPECT_EQ(added(Precision::fp8, Fp8Recipe::tensorwise), 1.0);
  EXPECT_EQ(added(Precision::fp8, Fp8Recipe::mxfp8), 2 * (1 + 1.0 / 32));
  EXPECT_EQ(added(Precision::fp8, Fp8Recipe::blockwise), 2 * (1 + 4.0 / 128));
  EXPECT_EQ(added(Precision::fp4, std::nullopt), 2 * (0.5 + 1.0 / 16));
}

// Of the two copies the transposed one is left out; where one copy serves both, nothing is.
TEST(StageMemory, WeightsThatAreTransposedEachTimeHaveOneCopy) {
  const Model model = tiny_model();
  const Stage stage = pipeline_stages(model, Layout{}).front();
  Job job = tiny_job();
  job.precision = Precision::fp8;
  const auto weights = [&] { return stage_memory(model, job, Layout{}, stage, 0).weights; };
  const Bytes two = weights();
  job.disable_parameter_transpose_cache = true;
  EXPECT_EQ(two - weights(), bytes(1.0 * 4 * 12 * 64 * 64));
  job.operands_in_any_layout = true;
  const Bytes one = weights();
  job.disable_parameter_transpose_cache = false;
  EXPECT_EQ(one, weights());
}

// fp8_param_gather: those 12 * 64^2 weights of each of the 4 layers have no 16-bit copy, as long as
// an optimizer is sharded.
TEST(StageMemory, Fp8WeightsAloneNeedNoWideCopy) {
  const Model model = tiny_model();
  const Stage stage = pipeline_stages(model, Layout{}).front();
  Job job = tiny_job();
  job.precision = Precision::fp8;
  const auto weights = [&](int zero_stage) {
    return stage_memory(model, job, sharded_over(4, zero_stage), stage, 0).weights;
  };
  const Bytes both = weights(1);
  job.fp8_param_gather = true;
  EXPECT_EQ(both - weights(1), bytes(2.0 * 4 * 12 * 64 * 64));
  EXPECT_EQ(weights(0), both);
}

// 4 experts of 2 * 64 * 32 weights in each of 4 layers; router (64 * 4) and table are not fp8's.
TEST(Fp8Parameters, ExpertsAreCountedApart) {
  Model model = tiny_model();
  Job job = tiny_job();
  const Stage stage = pipeline_stages(model, Layout{}).front();
  EXPECT_EQ(fp8_parameters(model, job, Layout{}, stage).dense, 0.0);
  job.precision = Precision::fp8;
  EXPECT_EQ(fp8_parameters(model, job, Layout{}, stage).dense, 4.0 * 12 * 64 * 64);
  model.moe = MixtureOfExperts{};
  model.moe->num_moe_experts = 4;
  model.moe->moe_router_topk = 2;
  model.moe->moe_ffn_hidden_size = 32;
  const StageParameters found = fp8_parameters(model, job, Layout{}, stage);
  EXPECT_EQ(found.dense, 4.0 * 4 * 64 * 64);
  EXPECT_EQ(found.expert, 4.0 * 4 * 2 * 64 * 32);
}

// A search may cache this part: sharding changes the states, never the rest.
TEST(StageMemory, ThePartThatChangesDoesNotDependOnZero) {
  const Model model = tiny_model();
  const Stage stage = pipeline_stages(model, Layout{}).front();
  const Bytes plain = moving_memory(model, tiny_job(), sharded_over(4, 0), stage, 0).total();
  EXPECT_EQ(moving_memory(model, tiny_job(), sharded_over(4, 3), stage, 0).total(), plain);
}

// ZeRO-3 over 4 ranks gathers the largest unit twice (now and next) and reduces one gradient. The
// table, 1024*64 = 65536, is larger than a layer, 12*64^2 + 13*64 = 49984.
TEST(StageMemory, ZeroThreeGathersItsLargestUnit) {
  const Model model = tiny_model();
  const Job job = tiny_job();
  const Stage stage = pipeline_stages(model, Layout{}).front();
  const Bytes two = stage_memory(model, job, sharded_over(4, 2), stage, 0).communication_buffers;
  const Bytes three = stage_memory(model, job, sharded_over(4, 3), stage, 0).communication_buffers;
  EXPECT_EQ(three - two, bytes(65536.0 * (2 * 2 + 4)));
}

// 50 GB allocated, 1.2 times that reserved: 60 GB; on a device of 55 GB not more than it has.
TEST(PrintedPeak, IsWhatTheFrameworkPrints) {
  Device device;
  device.memory = bytes(80e9);
  MemoryFacts facts{.reserved_ratio = 1.2};
  EXPECT_EQ(printed_peak(bytes(50e9), facts, device), bytes(50e9));
  facts.reports_reserved = true;
  EXPECT_EQ(printed_peak(bytes(50e9), facts, device), bytes(60e9));
  device.memory = bytes(55e9);
  EXPECT_EQ(printed_peak(bytes(50e9), facts, device), bytes(55e9));
}

// A rank of tp2 pp4 dp8 is in three groups, with experts over its data ranks in a fourth.
TEST(OutsideAllocator, IsTheContextAndACommunicatorForEachGroup) {
  Device device;
  device.context_memory = gibibytes(0.75);
  device.communicator_memory = gibibytes(0.5);
  Layout layout;
  EXPECT_EQ(outside_allocator(device, layout), gibibytes(0.75));
  layout.tensor_parallel_size = 2;
  layout.pipeline_parallel_size = 4;
  layout.data_parallel_size = 8;
  EXPECT_EQ(outside_allocator(device, layout), gibibytes(2.25));
  layout.expert_parallel_size = 8;
  EXPECT_EQ(outside_allocator(device, layout), gibibytes(2.75));
  EXPECT_EQ(outside_allocator({}, layout), Bytes{});
}

}  // namespace
}  // namespace meshwright
