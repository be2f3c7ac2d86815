// SPDX-License-Identifier: Apache-2.0
#include "tests/ranks/omitted_calls.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/layout/short_name.h"
#include "tests/ranks/omitting_communicator.h"
#include "tests/ranks/same_step.h"

namespace meshwright::calibrate {
namespace {

class OneStep {
 public:
  OneStep(const Model& model, const Job& job, const Layout& layout, const StepOptions& options,
          const Differs& differs)
      : differs_(differs),
        gathers_later_(layout.overlap_param_gather),
        world_(nullptr, *machine().world, omission_, -1),
        step_(model, job, layout, *machine().compute, world_, options) {}

  // Runs the first step without this call.
  bool notices(TransferCall call) {
    omission_.begin(call);
    step_.run();
    step_.gather_weights();
    return machine().world->host_max(differs_(step_) ? 1.0 : 0.0) > 0.0;
  }

  // All calls of a step, on any rank.
  std::vector<TransferCall> calls() {
    omission_.begin({.split = -1});
    step_.run();
    const auto made = omission_.made;
    step_.gather_weights();
    // Else of the next step, which gathers them beside its forward pass.
    if (!gathers_later_) omission_.made = made;
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

  [[nodiscard]] bool differs() const { return differs_(step_); }

 private:
  void append(std::vector<TransferCall>& all, TransferCall call) {
    const auto found = omission_.made.find(call);
    const int made = found == omission_.made.end() ? 0 : found->second;
    const int most = static_cast<int>(machine().world->host_max(made));
    for (call.n = 0; call.n < most; ++call.n) all.push_back(call);
  }

  const Differs& differs_;
  bool gathers_later_;
  Omission omission_;
  OmittingCommunicator world_;
  TrialStep step_;
};

// Multi-token prediction that is run again whole needs its last output for the norm behind it.
int dropped_outputs(const Model& model, const Layout& layout, int micro_batches) {
  if (model.moe) return 0;
  const bool mlp = recomputes_module(layout, kRecomputeMlp);
  if (!mlp && layout.recompute_granularity != RecomputeGranularity::full) return 0;
  return (model.num_layers + (mlp ? model.mtp_num_layers : 0)) * micro_batches;
}

}  // namespace

void expect_every_call_noticed(const Model& model, const Job& job, const Layout& layout,
                               const StepOptions& options, const Differs& differs, int too_small) {
  SCOPED_TRACE(model.name + " " + short_name(layout));
  OneStep whole(model, job, layout, options, differs);
  const std::vector<TransferCall> calls = whole.calls();
  EXPECT_FALSE(whole.differs());
  EXPECT_FALSE(calls.empty());
  int unnoticed = 0;
  std::string which;
  for (const TransferCall& call : calls) {
    if (OneStep(model, job, layout, options, differs).notices(call)) continue;
    ++unnoticed;
    which +=
        fmt::format("group {} call {} from {} to {}; ", call.split, call.n, call.from, call.to);
  }
  const int micro_batches = num_micro_batches(job.global_batch_size, layout);
  const int dropped = dropped_outputs(model, layout, micro_batches);
  EXPECT_GE(unnoticed, dropped) << which;
  EXPECT_LE(unnoticed, dropped + too_small) << which;
}

}  // namespace meshwright::calibrate
