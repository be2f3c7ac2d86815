// SPDX-License-Identifier: Apache-2.0
#include "tests/ranks/account.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "calibrate/trial/states/whole_states.h"
#include "calibrate/trial/trial.h"
#include "sim/block/transfer_names.h"
#include "sim/layout/short_name.h"
#include "sim/operators/operators.h"
#include "sim/schedule/traits.h"
#include "sim/volume/volume.h"

namespace meshwright::calibrate {
namespace {

// Lines of the calls that the ranks counted; they must equal the ledger of sim/volume/volume.h,
// call by call.
std::vector<std::string> lines(const std::vector<Transfer>& transfers) {
  std::vector<std::string> text;
  std::map<std::string, double> sent;  // a message of several hidden states is as many
  for (const Transfer& t : transfers) {
    // Scalars: the gradient norm's, because the trial does not clip, and the mean square's. Its
    // ranks know each other's counts of tokens.
    if (t.payload <= bytes(4) || t.name == transfer_names::kTokenCounts) continue;
    if (t.collective == Collective::send_recv && t.group == Group::pipeline) {
      sent[std::string(t.name)] += t.payload_per_step().value();
      continue;
    }
    text.push_back(fmt::format("{} {} {} {} size {} times {} bytes {}", name_of(t.group), t.name,
                               name_of(t.collective), name_of(t.phase), t.group_size,
                               t.times_per_step, t.payload.value()));
  }
  for (const auto& [name, sum] : sent) text.push_back(fmt::format("{} bytes {}", name, sum));
  std::sort(text.begin(), text.end());
  return text;
}

// Sharded by unit, the same bytes in other calls: the ledger cuts a chunk into units alike, of
// which one really is larger by the embedding; and a piece of the replicated gradients is what
// falls into a rank's shard.
std::map<std::string, double> sums(const std::vector<Transfer>& transfers) {
  std::map<std::string, double> bytes_of;
  for (const Transfer& t : transfers) {
    if (t.payload <= bytes(4) || t.name == transfer_names::kTokenCounts ||
        t.name == transfer_names::kReplicatedGradientAllReduce) {
      continue;
    }
    bytes_of[fmt::format("{} {} {} {} size {}", name_of(t.group), t.name, name_of(t.collective),
                         name_of(t.phase), t.group_size)] += t.payload_per_step().value();
  }
  return bytes_of;
}

// A unit's array is padded to whole shards of each of its pieces (7 linears at most).
void expect_same_bytes(const std::map<std::string, double>& counted,
                       const std::map<std::string, double>& listed, int units) {
  ASSERT_EQ(counted.size(), listed.size());
  const double padding = 4.0 * units * (7 * machine().world->size() - 1);
  for (const auto& [call, sum] : listed) {
    ASSERT_TRUE(counted.count(call) == 1) << call;
    EXPECT_GE(counted.at(call) + 1e-6 * sum, sum) << call;
    EXPECT_LE(counted.at(call), sum + padding) << call;
  }
}

}  // namespace

void expect_counted(const Model& model, const Layout& layout, const StepOptions& options,
                    const Job& job) {
  SCOPED_TRACE(model.name + " " + short_name(layout));
  ASSERT_EQ(trial_unsupported(model, job, layout), "");
  Machine& m = machine();
  TrialStep step(model, job, layout, *m.compute, *m.world, options);
  step.run();
  step.run();
  const int stage = step.groups().at.pipeline;
  const auto stages = pipeline_stages(model, layout);
  const StageVolume ledger =
      stage_volume(model, job, layout, stages[static_cast<std::size_t>(stage)], stage);
  // On mirrored stages the gradients of the dense part and of experts are two calls, and one in the
  // ledger.
  const bool mirrors_experts = model.moe && traits(layout.schedule).mirrored();
  if (shards_by_unit(layout) || reduces_by_layer(layout) || mirrors_experts ||
      layout.cp_comm_type == ContextParallelAlgorithm::a2a) {
    const int micro_batches = num_micro_batches(job.global_batch_size, layout);
    expect_same_bytes(sums(step.recorder().transfers()), sums(ledger.transfers),
                      (model.num_layers + 1) * micro_batches);
    return;
  }
  EXPECT_EQ(lines(step.recorder().transfers()), lines(ledger.transfers));
}

namespace {

// Products only: forward, backward and what is run again.
struct Products {
  double forward = 0.0, backward = 0.0, recompute = 0.0;
};

void add(Products& sum, const std::vector<Operator>& operators, const Layout& layout,
         bool fully_recomputed) {
  for (const Operator& op : operators) {
    if (op.kind != OperatorKind::gemm) continue;
    sum.forward += op.forward_flops.value();
    sum.backward += op.backward_flops.value();
    sum.recompute += op.forward_flops.value() * recomputed_share(op, layout, fully_recomputed);
  }
}

Products products_of(const Model& model, const Layout& layout, const Stage& stage) {
  const Job job = small_job();
  int recomputed = fully_recomputed_layers(layout, stage.num_layers());
  Products sum;
  for (const Chunk& chunk : stage.chunks) {
    for (int i = 0; i < chunk.num_layers; ++i) {
      const LayerKind kind = layer_kind(model, chunk.first_layer + i);
      add(sum, layer_operators(model, kind, job, layout), layout, recomputed-- > 0);
    }
    for (int i = 0; chunk.head && i <= model.mtp_num_layers; ++i) {
      add(sum, head_operators(model, job, layout), layout, false);
    }
    const bool again = mtp_is_recomputed(layout);
    for (int i = 0; chunk.mtp && i < model.mtp_num_layers; ++i) {
      const LayerKind last = layer_kind(model, model.num_layers - 1);
      add(sum, layer_operators(model, last, job, layout), layout, again);
      add(sum, mtp_operators(model, job, layout), layout, again);
    }
  }
  return sum;
}

}  // namespace

void expect_products(const Model& model, const Layout& layout) {
  SCOPED_TRACE(model.name + " " + short_name(layout));
  Machine& m = machine();
  TrialStep step(model, small_job(), layout, *m.compute, *m.world, kOptions);
  step.run();
  step.run();
  const auto stage = static_cast<std::size_t>(step.groups().at.pipeline);
  const Products one = products_of(model, layout, pipeline_stages(model, layout)[stage]);
  const double micro_batches = micro_batches_of_chunk(small_job(), layout);
  const auto counted = [&](TermKind kind) {
    return step.recorder().flops(kind).value() / micro_batches;
  };
  EXPECT_EQ(counted(TermKind::forward_compute), one.forward);
  EXPECT_EQ(counted(TermKind::backward_compute), one.backward);
  EXPECT_EQ(counted(TermKind::recompute), one.recompute);
}

void expect_memory(const Model& model, const Layout& l, Band band) {
  Machine& m = machine();
  const Observation o =
      run_trial(model, small_job(), l, *m.compute, *m.world, {.warmup_steps = 0, .steps = 1});
  if (m.world->rank() != 0) return;
  const double needed = trial_memory(model, small_job(), l).value();
  EXPECT_GT(band.under * needed, o.peak_memory.value()) << model.name << " " << short_name(l);
  EXPECT_LT(needed, band.over * o.peak_memory.value()) << model.name << " " << short_name(l);
}

}  // namespace meshwright::calibrate
