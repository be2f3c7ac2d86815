// SPDX-License-Identifier: Apache-2.0
// Each call between ranks of a step is left out once, and each time the loss, a gradient or a
// weight differs from the one-rank run on some rank: the tests of trial_ranks_test.cc notice any
// call that goes missing. The one exception is said below, and trial_account_test.cc counts it.
// Memory that nothing wrote is poisoned, or a gather could be left out unseen where its buffer
// still holds what an earlier gather brought.
#include <gtest/gtest.h>

#include <cmath>

#include "sim/json/records.h"
#include "tests/ranks/omitted_calls.h"
#include "tests/ranks/same_step.h"

namespace meshwright::calibrate {
namespace {

// The loss, a gradient or a weight.
Differs from(const Reference& alone, const Layout& layout) {
  return [&alone, layout](const TrialStep& step) {
    const double off = std::abs(step.loss() - alone.loss);
    if (step.has_loss() && !(off <= kTolerance * alone.loss)) return true;
    for (const Parameter& p : step.store().parameters()) {
      if (layout.zero_stage == 0 && gradient_difference(p, alone).worst > kTolerance) return true;
      if (weight_difference(p, alone.after_first, alone).worst > kWeightTolerance) return true;
    }
    return false;
  };
}

void expect_every_call_noticed(const Model& model, const Layout& layout) {
  Job job = small_job();
  job.global_batch_size = 4;
  const Reference alone = reference(model, job);
  expect_every_call_noticed(model, job, layout, kOptions, from(alone, layout));
}

std::vector<std::string> layout_texts_of(int ranks) {
  if (ranks == 2) {
    return {"tp=2,mbs=2",
            "tp=2,sp,mbs=2",
            "tp=2,sp,mbs=4,recompute=full",
            "tp=2,sp,mbs=4,recompute=selective,recompute_modules=core_attn+mlp",
            "pp=2,mbs=2",
            "dp=2,mbs=2",
            "dp=2,mbs=2,zero=1"};
  }
  if (ranks == 4)
    return {"tp=2,pp=2,mbs=4", "tp=2,dp=2,sp,zero=1,mbs=2", "pp=2,dp=2,mbs=2", "tp=4,sp,mbs=4"};
  return {};
}

std::vector<std::string> expert_layouts(int ranks) {
  if (ranks == 2)
    return {"dp=2,ep=2,mbs=2", "tp=2,sp,mbs=2", "tp=2,sp,ep=2,etp=1,mbs=2",
            "dp=2,ep=2,mbs=2,dispatcher=allgather", "tp=2,sp,mbs=2,dispatcher=allgather"};
  if (ranks == 4)
    return {"tp=2,dp=2,sp,ep=2,mbs=2", "dp=4,ep=2", "pp=2,dp=2,ep=2,mbs=2",
            "tp=2,dp=2,sp,ep=2,mbs=2,dispatcher=allgather"};
  return {};
}

TEST(OmittedTransfer, EachCallOfAStepWithExpertsIsNoticedWhenItIsLeftOut) {
  if (machine().world->size() == 1) GTEST_SKIP() << "one rank makes no calls";
  for (const std::string& text : expert_layouts(machine().world->size())) {
    expect_every_call_noticed(two_layers(small_moe()), layout_from_text(text));
    expect_every_call_noticed(two_layers(small_gpt_oss()), layout_from_text(text));
  }
}

std::vector<std::string> context_layouts(int ranks) {
  if (ranks == 2)
    return {"cp=2,mbs=2", "cp=2,cp_comm_type=a2a,mbs=2", "cp=2,cp_comm_type=all_gather"};
  if (ranks == 4) return {"cp=4", "tp=2,cp=2,sp,mbs=2"};
  return {};
}

TEST(OmittedTransfer, EachCallOfContextRanksIsNoticedWhenItIsLeftOut) {
  if (machine().world->size() == 1) GTEST_SKIP() << "one rank makes no calls";
  for (const std::string& text : context_layouts(machine().world->size())) {
    expect_every_call_noticed(two_layers(small_model()), layout_from_text(text));
  }
}

// Two layers for two stages; four for two chunks each.
TEST(OmittedTransfer, EachMessageOfASplitBackwardPassIsNoticedWhenItIsLeftOut) {
  if (machine().world->size() != 2) GTEST_SKIP() << "needs 2 ranks";
  expect_every_call_noticed(two_layers(small_model()), layout_from_text("pp=2,schedule=zb_h1"));
  expect_every_call_noticed(small_model(), layout_from_text("pp=2,schedule=dualpipe_v,vpp=2"));
}

std::vector<std::string> latent_layouts(int ranks) {
  if (ranks == 2) return {"tp=2,mbs=2", "tp=2,sp,mbs=2"};
  return {};
}

TEST(OmittedTransfer, EachCallOfLatentAttentionIsNoticedWhenItIsLeftOut) {
  if (machine().world->size() == 1) GTEST_SKIP() << "one rank makes no calls";
  for (const std::string& text : latent_layouts(machine().world->size())) {
    expect_every_call_noticed(two_layers(small_mla()), layout_from_text(text));
  }
}

std::vector<std::string> sharded_layouts(int ranks) {
  if (ranks == 2)
    return {"dp=2,zero=2,mbs=2", "dp=2,zero=3,mbs=2", "dp=2,zero=3,fsdp=block,mbs=2",
            "dp=2,zero=3,fsdp=block,defer_grad_reduce"};
  if (ranks == 4) return {"tp=2,dp=2,sp,zero=3,mbs=2", "dp=4,zero=3,fsdp=block,shard=2"};
  return {};
}

TEST(OmittedTransfer, EachCallOfAShardedStepIsNoticedWhenItIsLeftOut) {
  if (machine().world->size() == 1) GTEST_SKIP() << "one rank makes no calls";
  for (const std::string& text : sharded_layouts(machine().world->size())) {
    expect_every_call_noticed(two_layers(small_llama()), layout_from_text(text));
  }
}

std::vector<std::string> prediction_layouts(int ranks) {
  if (ranks == 2)
    return {"tp=2,mbs=4", "tp=2,sp,mbs=4", "tp=2,sp,mbs=4,recompute=full", "pp=2,mbs=4"};
  if (ranks == 4) return {"tp=2,pp=2,sp,mbs=4"};
  return {};
}

TEST(OmittedTransfer, EachCallOfMultiTokenPredictionIsNoticedWhenItIsLeftOut) {
  if (machine().world->size() == 1) GTEST_SKIP() << "one rank makes no calls";
  for (const std::string& text : prediction_layouts(machine().world->size())) {
    expect_every_call_noticed(two_layers(small_mtp()), layout_from_text(text));
  }
}

TEST(OmittedTransfer, EachCallOfAStepIsNoticedWhenItIsLeftOut) {
  if (machine().world->size() == 1) GTEST_SKIP() << "one rank makes no calls";
  for (const std::string& text : layout_texts_of(machine().world->size())) {
    const Layout layout = layout_from_text(text);
    expect_every_call_noticed(two_layers(small_model()), layout);
    expect_every_call_noticed(two_layers(small_multi_query()), layout);
    const bool of_heads = layout.tensor_parallel_size > 1 && !layout.sequence_parallel;
    if (of_heads) expect_every_call_noticed(two_layers(small_qwen()), layout);
  }
}

}  // namespace
}  // namespace meshwright::calibrate
