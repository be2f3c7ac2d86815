// SPDX-License-Identifier: Apache-2.0
// Expert groups of the ledger: tokens to experts and back, and the experts' own gradients.
#include <gtest/gtest.h>

#include "sim/block/parameters.h"
#include "tests/unit/sim/volume/volume_fixture.h"

namespace meshwright {
namespace {

using namespace volume_test;

// 4 experts over 4 ranks: each rank's expert has no copy; without expert parallelism all 4 have.
TEST(DataVolume, ExpertsAreReducedOverTheirOwnGroup) {
  Layout layout;
  layout.data_parallel_size = 4;
  EXPECT_GT(stage_of(small_experts(), layout).sent(Group::expert_data), bytes(0));
  layout.expert_parallel_size = 4;
  EXPECT_EQ(stage_of(small_experts(), layout).sent(Group::expert_data), bytes(0));
  EXPECT_GT(stage_of(small_experts(), layout).sent(Group::data), bytes(0));
}

// 32 tokens * 2 experts * 64 * 2 bytes = 8192 a call; 2 calls each way; probabilities 32 * 2 * 2 =
// 128, or 256 in fp32; forward 4 ranks gather 4 counts of 8 bytes each, 128. 4 data ranks: 4
// micro-batches, 8 layers.
TEST(ExpertVolume, TokensGoToExpertsAndBack) {
  Layout layout;
  layout.data_parallel_size = 4;
  layout.expert_parallel_size = 4;
  const StageVolume stage = stage_of(small_experts(), layout);
  EXPECT_EQ(payload(stage, Group::expert, Phase::forward), 4 * 8 * (2 * 8192 + 128 + 128));
  EXPECT_EQ(payload(stage, Group::expert, Phase::backward), 4 * 8 * (2 * 8192 + 128));
  EXPECT_EQ(stage.sent(Group::expert).value(), 0.75 * 4 * 8 * (4 * 8192 + 3 * 128));
  Job wide = small_job();
  wide.moe_router_fp32 = true;
  EXPECT_EQ(
      payload(volume(small_experts(), wide, layout).stages.front(), Group::expert, Phase::backward),
      4 * 8 * (2 * 8192 + 256));
}

// Buffers filled to 1.5 of the balanced number of tokens: 1.5 times the bytes, and no counts.
TEST(ExpertVolume, ACapacityFactorSendsFullBuffers) {
  Layout layout;
  layout.data_parallel_size = 4;
  layout.expert_parallel_size = 4;
  Model model = small_experts();
  model.moe->moe_expert_capacity_factor = 1.5;
  EXPECT_EQ(payload(stage_of(model, layout), Group::expert, Phase::forward),
            1.5 * 4 * 8 * (2 * 8192 + 128));
}

// 2 of 4 experts, one a rank: a token goes to 2 ranks, each once, with nothing beside it: 8192
// bytes a call; 4 ranks gather 4 * 32 tokens of 64 * 2 bytes, and of each of 4 experts a byte of
// the map and 2 of the probability, and reduce 64 * 2. Backward they gather 64 * 2, and reduce 64 *
// 2 and 2 for each probability.
TEST(Volume, DispatchersSendWhatTheySay) {
  Layout layout;
  layout.data_parallel_size = layout.expert_parallel_size = 4;
  layout.moe_token_dispatcher_type = MoeTokenDispatcherType::flex;
  EXPECT_DOUBLE_EQ(payload(stage_of(small_experts(), layout), Group::expert, Phase::forward),
                   4 * 8 * 2 * 8192);
  layout.moe_token_dispatcher_type = MoeTokenDispatcherType::allgather;
  EXPECT_DOUBLE_EQ(payload(stage_of(small_experts(), layout), Group::expert, Phase::forward),
                   4 * 8 * 128 * (64 * 2 + 3 * 4 + 64 * 2));
  EXPECT_DOUBLE_EQ(payload(stage_of(small_experts(), layout), Group::expert, Phase::backward),
                   4 * 8 * 128 * (64 * 2 + 64 * 2 + 2 * 4));
}

// 2 tensor ranks have 32 / 2 tokens each. Over 2 expert ranks of 2 pieces each 2 * 16 tokens are
// gathered and then 4 * 16, whatever experts they go to, 64 * 2 + 3 * 4 bytes of each; all 4 ranks
// send (4 - 1) * 16 of them. 2 data ranks: 8 micro-batches, 8 layers.
TEST(ExpertVolume, GatheredTokensAreNoCopies) {
  Layout layout = tensor(2, true);
  layout.data_parallel_size = layout.expert_parallel_size = 2;
  layout.expert_tensor_parallel_size = 2;
  layout.moe_token_dispatcher_type = MoeTokenDispatcherType::allgather;
  const StageVolume stage = stage_of(small_experts(), layout);
  const double forward = 64 * 2 + 3 * 4 + 64 * 2, backward = 64 * 2 + 64 * 2 + 2 * 4;
  EXPECT_DOUBLE_EQ(payload(stage, Group::expert, Phase::forward), 8 * 8 * 2 * 16 * forward);
  EXPECT_DOUBLE_EQ(payload(stage, Group::expert_tensor, Phase::forward), 8 * 8 * 4 * 16 * forward);
  EXPECT_DOUBLE_EQ(payload(stage, Group::expert_tensor, Phase::backward),
                   8 * 8 * 4 * 16 * backward);
  EXPECT_DOUBLE_EQ(stage.sent(Group::expert).value() + stage.sent(Group::expert_tensor).value(),
                   8 * 8 * 3 * 16 * (forward + backward));
}

// Dispatch sends 33/64 of the 8192 bytes of a call in fp8 with a byte per 32 numbers. The backward
// pass sends the gradient of the combine so.
TEST(Volume, TokensMayTravelInFp8) {
  Layout layout;
  layout.data_parallel_size = layout.expert_parallel_size = 4;
  layout.moe_token_dispatcher_type = MoeTokenDispatcherType::flex;
  Job job = small_job();
  job.moe_dispatch_fwd_dtype = job.moe_combine_bwd_dtype = Precision::fp8;
  const StageVolume stage = volume(small_experts(), job, layout).stages.front();
  for (const Phase phase : {Phase::forward, Phase::backward}) {
    EXPECT_DOUBLE_EQ(payload(stage, Group::expert, phase), 4 * 8 * 8192 * (1 + 33.0 / 64));
  }
}

// Sequence parallelism leaves each tensor rank 32 / 2 tokens; the 2 ranks of an expert see both's:
// 2 * 16 * 2 * 64 * 2 = 8192 gathered, and as much scattered; and 2 * 16 * 2 * 2 = 128 of their
// probabilities forward, of the gradients backward.
TEST(ExpertVolume, ExpertTensorRanksShareTheirTokens) {
  const StageVolume stage = stage_of(small_experts(), tensor(2, true));
  EXPECT_EQ(payload(stage, Group::expert_tensor, Phase::forward), 16 * 8 * (2 * 8192 + 128));
  EXPECT_EQ(payload(stage, Group::expert_tensor, Phase::backward), 16 * 8 * (2 * 8192 + 128));
  Layout whole = tensor(2, true);
  whole.expert_tensor_parallel_size = 1;
  EXPECT_EQ(stage_of(small_experts(), whole).sent(Group::expert_tensor), bytes(0));
}

TEST(ExpertVolume, RecomputedExpertsExchangeAgain) {
  Layout layout;
  layout.data_parallel_size = 4;
  layout.expert_parallel_size = 4;
  layout.recompute_granularity = RecomputeGranularity::selective;
  EXPECT_EQ(payload(stage_of(small_experts(), layout), Group::expert, Phase::recompute), 0);
  layout.recompute_modules = {kRecomputeMlp | kRecomputeSharedExperts};
  EXPECT_EQ(payload(stage_of(small_experts(), layout), Group::expert, Phase::recompute), 0);
  layout.recompute_modules = {kRecomputeMoe};
  const StageVolume stage = stage_of(small_experts(), layout);
  EXPECT_EQ(payload(stage, Group::expert, Phase::recompute),
            payload(stage, Group::expert, Phase::forward));
}

}  // namespace
}  // namespace meshwright
