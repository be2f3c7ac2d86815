// SPDX-License-Identifier: Apache-2.0
// What the trial counts of itself against what sim predicts: transfers, FLOPs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "calibrate/trial/trial.h"
#include "sim/layout/short_name.h"
#include "sim/operators/operators.h"
#include "sim/step/terms.h"
#include "sim/volume/volume.h"
#include "tests/ranks/some_layouts.h"

namespace meshwright::calibrate {
namespace {

// What the ranks counted is what the ledger of sim/volume/volume.h says, call by call.
std::vector<std::string> lines(const std::vector<Transfer>& transfers) {
  std::vector<std::string> text;
  for (const Transfer& t : transfers) {
    // Scalars: the gradient norm's, because the trial does not clip, and the mean square's.
    if (t.payload <= bytes(4)) continue;
    text.push_back(fmt::format("{} {} {} {} size {} times {} bytes {}", name_of(t.group), t.name,
                               name_of(t.collective), name_of(t.phase), t.group_size,
                               t.times_per_step, t.payload.value()));
  }
  std::sort(text.begin(), text.end());
  return text;
}

void expect_counted(const Model& model, const Layout& layout) {
  SCOPED_TRACE(model.name + " " + short_name(layout));
  Machine& m = machine();
  TrialStep step(model, small_job(), layout, *m.compute, *m.world, kOptions);
  step.run();
  step.run();
  const int stage = step.groups().at.pipeline;
  const auto stages = pipeline_stages(model, layout);
  const StageVolume ledger =
      stage_volume(model, small_job(), layout, stages[static_cast<std::size_t>(stage)], stage);
  EXPECT_EQ(lines(step.recorder().transfers()), lines(ledger.transfers));
}

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
    if (is_recomputed(op, layout, fully_recomputed)) sum.recompute += op.forward_flops.value();
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
    if (chunk.head) add(sum, head_operators(model, job, layout), layout, false);
  }
  return sum;
}

void expect_products(const Model& model, const Layout& layout) {
  SCOPED_TRACE(model.name + " " + short_name(layout));
  Machine& m = machine();
  TrialStep step(model, small_job(), layout, *m.compute, *m.world, kOptions);
  step.run();
  step.run();
  const auto stage = static_cast<std::size_t>(step.groups().at.pipeline);
  const Products one = products_of(model, layout, pipeline_stages(model, layout)[stage]);
  const int micro_batches = num_micro_batches(small_job().global_batch_size, layout);
  const auto counted = [&](TermKind kind) {
    return step.recorder().flops(kind).value() / micro_batches;
  };
  EXPECT_EQ(counted(TermKind::forward_compute), one.forward);
  EXPECT_EQ(counted(TermKind::backward_compute), one.backward);
  EXPECT_EQ(counted(TermKind::recompute), one.recompute);
}

TEST(TrialAccount, CountedTransfersAreTheLedgers) {
  for (const Layout& l : layouts_of(machine().world->size())) {
    for (const Model& m : {small_model(), small_llama(), small_multi_query()}) {
      expect_counted(m, l);
    }
    if (!needs_attention(l)) expect_counted(plain_mlp(), l);
  }
}

TEST(TrialAccount, CountedFlopsAreTheOperators) {
  for (const Layout& l : layouts_of(machine().world->size())) {
    for (const Model& m : {small_model(), small_llama(), small_multi_query()}) {
      expect_products(m, l);
    }
    if (!needs_attention(l)) expect_products(plain_mlp(), l);
  }
}

TEST(TrialAccount, ObservationSaysWhatWasRunAndItsTermsAddUpToTheStep) {
  Machine& m = machine();
  const TrialOptions options{.warmup_steps = 1, .steps = 1};
  const Observation o = run_trial(small_model(), small_job(), layout_from_text("tp=2,pp=2,dp=2"),
                                  *m.compute, *m.world, options);
  EXPECT_EQ(o.failure, "");
  EXPECT_FALSE(o.complete);
  EXPECT_EQ(o.ranks, m.world->size());
  EXPECT_EQ(o.run_layout.tensor_parallel_size, std::min(2, m.world->size()));
  EXPECT_EQ(o.run_layers, o.ranks == 4 ? 4 : 2);
  double sum = 0.0;
  for (const ObservedTerm& t : o.terms) sum += t.time.value();
  EXPECT_NEAR(sum, o.step_time.value(), 1e-9);  // one step: each median is that step's
  EXPECT_GT(o.peak_memory, bytes(0));
  EXPECT_GT(o.loss, 0.0);
}

// What decides whether a GPU is asked to run a layout, over pipelines, sequence parallelism,
// recompute and ZeRO. Messages under way are a large part of a model this small. Interleaved
// stages, which keep what they have sent to the end of the step, do not run on GPUs.
TEST(TrialAccount, MemoryThatIsAskedForBeforeARunIsWhatTheRunTakes) {
  Machine& m = machine();
  const TrialOptions options{.warmup_steps = 0, .steps = 1};
  for (const Layout& l : layouts_of(m.world->size())) {
    const Observation o = run_trial(small_llama(), small_job(), l, *m.compute, *m.world, options);
    if (m.world->rank() != 0 || l.virtual_pipeline_parallel_size > 1) continue;
    const double needed = trial_memory(small_llama(), small_job(), l).value();
    EXPECT_GT(1.1 * needed, o.peak_memory.value()) << short_name(l);
    EXPECT_LT(needed, 1.02 * o.peak_memory.value()) << short_name(l);
  }
}

// Intervals of a rank follow each other without gaps from its step's begin to its end, and those of
// a term add up to the term.
TEST(TrialAccount, IntervalsFillTheStepOfEveryRank) {
  Machine& m = machine();
  TrialOptions options{.warmup_steps = 0, .steps = 1};
  options.keep_intervals = true;
  const char* text = m.world->size() == 1 ? "mbs=4" : "pp=2,mbs=2";
  const Layout layout = layout_from_text(m.world->size() == 4 ? "tp=2,pp=2,mbs=2" : text);
  const Observation o =
      run_trial(small_model(), small_job(), layout, *m.compute, *m.world, options);
  std::vector<Seconds> end(static_cast<std::size_t>(m.world->size()));
  for (const ObservedInterval& i : o.intervals) {
    Seconds& last = end[static_cast<std::size_t>(i.rank)];
    EXPECT_NEAR(i.begin.value(), last.value(), 1e-9);
    EXPECT_GE(i.end, i.begin);
    last = i.end;
  }
  for (const Seconds& last : end) {
    EXPECT_GT(last, seconds(0));
    EXPECT_LE(last.value(), o.step_time.value() + 1e-9);
  }
  EXPECT_EQ(o.counted_time.size(), o.counted.size());
  EXPECT_GT(o.tokens_per_second, 0.0);
}

TEST(TrialAccount, RanksThatALayoutDoesNotNeedStayIdle) {
  Machine& m = machine();
  const Observation o = run_trial(small_model(), small_job(), Layout{}, *m.compute, *m.world,
                                  {.warmup_steps = 0, .steps = 2});
  EXPECT_TRUE(o.complete);
  EXPECT_EQ(o.ranks, 1);
  if (m.world->rank() == 0) {
    EXPECT_EQ(o.steps, 2);
  }
  EXPECT_TRUE(o.counted.empty());
}

TEST(TrialAccount, TrainingLowersTheLoss) {
  Machine& m = machine();
  const Layout l = layouts_of(m.world->size()).front();
  TrialOptions options{.warmup_steps = 0, .steps = 1};
  const double first = run_trial(small_model(), small_job(), l, *m.compute, *m.world, options).loss;
  options.steps = 20;
  const double last = run_trial(small_model(), small_job(), l, *m.compute, *m.world, options).loss;
  EXPECT_LT(last, 0.98 * first);
}

}  // namespace
}  // namespace meshwright::calibrate
