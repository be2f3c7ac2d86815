// SPDX-License-Identifier: Apache-2.0
// Each call between ranks of a step is left out once, and each time the loss, a gradient or a
// weight differs from the one-rank run on some rank: the tests of trial_ranks_test.cc notice any
// call that goes missing. The one exception is said below, and trial_account_test.cc counts it.
// Memory that nothing wrote is poisoned, or a gather could be left out unseen where its buffer
// still holds what an earlier gather brought.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sim/json/records.h"
#include "sim/layout/layout.h"
#include "sim/layout/short_name.h"
#include "tests/ranks/omitting_communicator.h"
#include "tests/ranks/same_step.h"

namespace meshwright::calibrate {
namespace {

class OneStep {
 public:
  OneStep(const Model& model, const Job& job, const Layout& layout, const Reference& alone)
      : layout_(layout),
        alone_(alone),
        world_(nullptr, *machine().world, omission_, -1),
        step_(model, job, layout, *machine().compute, world_, kOptions) {}

  // Runs the first step without this call.
  bool notices(TransferCall call) {
    omission_.begin(call);
    step_.run();
    step_.gather_weights();
    return machine().world->host_max(differs() ? 1.0 : 0.0) > 0.0;
  }

  // All calls of a step, on any rank.
  std::vector<TransferCall> calls() {
    omission_.begin({.split = -1});
    step_.run();
    const auto made = omission_.made;
    step_.gather_weights();
    omission_.made = made;
    const int ranks = machine().world->size();
    std::vector<TransferCall> all;
    for (int split = 0; split < omission_.splits; ++split) {
      append(all, {.split = split});
      for (int from = 0; from < ranks; ++from) {
        for (int to = 0; to < ranks; ++to) append(all, {.split = split, .from = from, .to = to});
      }
    }
    return all;
  }

  [[nodiscard]] bool differs() const {
    const double off = std::abs(step_.loss() - alone_.loss);
    if (step_.has_loss() && !(off <= kTolerance * alone_.loss)) return true;
    for (const Parameter& p : step_.store().parameters()) {
      if (layout_.zero_stage == 0 && gradient_difference(p, alone_).worst > kTolerance) return true;
      if (weight_difference(p, alone_.after_first, alone_).worst > kWeightTolerance) return true;
    }
    return false;
  }

 private:
  void append(std::vector<TransferCall>& all, TransferCall call) {
    const auto found = omission_.made.find(call);
    const int made = found == omission_.made.end() ? 0 : found->second;
    const int most = static_cast<int>(machine().world->host_max(made));
    for (call.n = 0; call.n < most; ++call.n) all.push_back(call);
  }

  Layout layout_;
  const Reference& alone_;
  Omission omission_;
  OmittingCommunicator world_;
  TrialStep step_;
};

Model two_layers(Model model) {
  model.num_layers = 2;
  return model;
}

// Recompute runs an MLP to its end, last reduction included, and drops what comes out.
int dropped_outputs(const Model& model, const Layout& layout, int micro_batches) {
  if (model.moe) return 0;
  const bool mlp = layout.recompute_granularity == RecomputeGranularity::full ||
                   recomputes_module(layout, kRecomputeMlp);
  return mlp ? model.num_layers * micro_batches : 0;
}

void expect_every_call_noticed(const Model& model, const Layout& layout) {
  SCOPED_TRACE(model.name + " " + short_name(layout));
  Job job = small_job();
  job.global_batch_size = 4;
  const Reference alone = reference(model, job);
  OneStep whole(model, job, layout, alone);
  const std::vector<TransferCall> calls = whole.calls();
  EXPECT_FALSE(whole.differs());
  EXPECT_FALSE(calls.empty());
  int unnoticed = 0;
  std::string which;
  for (const TransferCall& call : calls) {
    if (OneStep(model, job, layout, alone).notices(call)) continue;
    ++unnoticed;
    which +=
        fmt::format("group {} call {} from {} to {}; ", call.split, call.n, call.from, call.to);
  }
  EXPECT_EQ(unnoticed,
            dropped_outputs(model, layout, num_micro_batches(job.global_batch_size, layout)))
      << which;
}

std::vector<std::string> layouts_of(int ranks) {
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
            "dp=2,zero=3,fsdp=block,mbs=2,defer_grad_reduce"};
  if (ranks == 4) return {"tp=2,dp=2,sp,zero=3,mbs=2", "dp=4,zero=3,fsdp=block,shard=2"};
  return {};
}

TEST(OmittedTransfer, EachCallOfAShardedStepIsNoticedWhenItIsLeftOut) {
  if (machine().world->size() == 1) GTEST_SKIP() << "one rank makes no calls";
  for (const std::string& text : sharded_layouts(machine().world->size())) {
    expect_every_call_noticed(two_layers(small_llama()), layout_from_text(text));
  }
}

TEST(OmittedTransfer, EachCallOfAStepIsNoticedWhenItIsLeftOut) {
  if (machine().world->size() == 1) GTEST_SKIP() << "one rank makes no calls";
  for (const std::string& text : layouts_of(machine().world->size())) {
    const Layout layout = layout_from_text(text);
    expect_every_call_noticed(two_layers(small_model()), layout);
    expect_every_call_noticed(two_layers(small_multi_query()), layout);
  }
}

}  // namespace
}  // namespace meshwright::calibrate
