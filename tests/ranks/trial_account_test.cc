// SPDX-License-Identifier: Apache-2.0
// What the trial counts of itself against what sim predicts: transfers, FLOPs.
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "calibrate/trial/trial.h"
#include "sim/block/transfer_names.h"
#include "sim/layout/short_name.h"
#include "sim/memory/host_traffic.h"
#include "sim/step/terms.h"
#include "sim/volume/volume.h"
#include "tests/ranks/account.h"
#include "tests/ranks/some_layouts.h"

namespace meshwright::calibrate {
namespace {

// Parameters for which each tensor rank saw a piece of the sequence: their gradients are summed
// over the data ranks once.
void expect_replicated_gradients(const Model& model, const Layout& layout) {
  Machine& m = machine();
  TrialStep step(model, small_job(), layout, *m.compute, *m.world, kOptions);
  step.run();
  double here = 0.0;
  for (const Transfer& t : step.recorder().transfers()) {
    if (t.name == transfer_names::kReplicatedGradientAllReduce) {
      here += t.payload_per_step().value();
    }
  }
  std::vector<double> all(static_cast<std::size_t>(m.world->size()));
  m.world->host_gather(&here, all.data(), sizeof here);
  const auto stages = pipeline_stages(model, layout);
  double listed = 0.0;
  for (const Transfer& t : stage_volume(model, small_job(), layout, stages[0], 0).transfers) {
    if (t.name == transfer_names::kReplicatedGradientAllReduce) {
      listed += t.payload_per_step().value();
    }
  }
  EXPECT_GT(listed, 0.0);
  EXPECT_EQ(std::accumulate(all.begin(), all.end(), 0.0), listed * m.world->size());
}

TEST(TrialAccount, CountedTransfersOfShardedStatesAreTheLedgers) {
  for (const Layout& l : sharded_layouts_of(machine().world->size())) {
    for (const Model& m : {small_model(), small_llama()}) expect_counted(m, l);
    const bool routes = l.tensor_parallel_size == 1 || l.sequence_parallel;
    if (routes && l.fsdp_unit == FsdpUnit::none) expect_counted(small_moe_with_capacity(), l);
    if (l.sequence_parallel) expect_replicated_gradients(small_llama(), l);
  }
}

// Messages of 16 bits, in turn with gradients in 16 bits and in 32.
TEST(TrialAccount, CountedTransfersIn16BitsAreTheLedgers) {
  const int ranks = machine().world->size();
  std::vector<std::pair<Model, std::vector<Layout>>> all{
      {small_model(), layouts_of(ranks)},
      {small_llama(), sharded_layouts_of(ranks)},
      {small_mla(), context_layouts_of(ranks)},
      {small_mtp(), prediction_layouts_of(ranks)},
      {small_moe(), expert_layouts_of(ranks)}};
  Job job = small_job(Precision::bf16);
  for (const auto& [model, layouts] : all) {
    for (const Layout& l : layouts) {
      const bool narrow = job.gradient_precision == Precision::bf16;
      job.gradient_precision = narrow ? Precision::fp32 : Precision::bf16;
      expect_counted(model, l, kOptions, job);
    }
  }
}

TEST(TrialAccount, CountedTransfersOfLatentAttentionAreTheLedgers) {
  for (const Layout& l : latent_layouts_of(machine().world->size())) {
    expect_counted(small_mla(), l);
    expect_products(small_mla(), l);
  }
}

// All-to-alls are two where the ledger has one: before attention and after it.
TEST(TrialAccount, CountedTransfersOfContextRanksAreTheLedgers) {
  for (const Layout& l : context_layouts_of(machine().world->size())) {
    for (const Model& m : {small_model(), small_mla()}) {
      expect_counted(m, l);
      expect_products(m, l);
    }
  }
}

TEST(TrialAccount, CountedTransfersAreTheLedgers) {
  for (const Layout& l : layouts_of(machine().world->size())) {
    for (const Model& m : {small_model(), small_llama(), small_multi_query(), small_qwen()}) {
      expect_counted(m, l);
    }
    if (!needs_attention(l)) expect_counted(plain_mlp(), l);
  }
  for (const Layout& l : split_layouts_of(machine().world->size())) {
    for (const Model& m : {small_model(), small_llama()}) {
      expect_counted(m, l);
      expect_products(m, l);
    }
  }
  StepOptions routed = kOptions;
  routed.moe_router_force_load_balancing = false;
  for (const Layout& l : expert_layouts_of(machine().world->size())) {
    expect_counted(small_moe(), l, routed);
    expect_counted(small_moe(), l);
    expect_counted(small_gpt_oss(), l);
  }
  for (const Layout& l : expert_layouts_of(machine().world->size(), kExpertsWithCapacity)) {
    expect_counted(small_moe_with_capacity(), l);
  }
}

TEST(TrialAccount, CountedFlopsAreTheOperators) {
  for (const Layout& l : layouts_of(machine().world->size())) {
    for (const Model& m : {small_model(), small_llama(), small_multi_query()}) {
      expect_products(m, l);
    }
    if (!needs_attention(l)) expect_products(plain_mlp(), l);
  }
  for (const Layout& l : expert_layouts_of(machine().world->size())) {
    expect_products(small_moe(), l);
    expect_products(small_gpt_oss(), l);
  }
  for (const Layout& l : expert_layouts_of(machine().world->size(), kExpertsWithCapacity)) {
    expect_products(small_moe_with_capacity(), l);
  }
}

TEST(TrialAccount, ObservationSaysWhatWasRunAndItsTermsAddUpToTheStep) {
  Machine& m = machine();
  const TrialOptions options{.warmup_steps = 1, .steps = 1};
  const Observation o = run_trial(small_model(), small_job(), layout_from_text("tp=2,pp=2,dp=2"),
                                  *m.compute, *m.world, options);
  EXPECT_EQ(o.failure, "");
  EXPECT_EQ(o.complete, m.world->size() == 8);
  EXPECT_EQ(o.ranks, m.world->size());
  EXPECT_EQ(o.run_layout.tensor_parallel_size, std::min(2, m.world->size()));
  EXPECT_EQ(o.run_layers, o.ranks >= 4 ? 4 : 2);
  double sum = 0.0;
  for (const ObservedTerm& t : o.terms) sum += t.time.value();
  EXPECT_NEAR(sum, o.step_time.value(), 1e-9);  // one step: each median is that step's
  EXPECT_GT(o.peak_memory, bytes(0));
  EXPECT_GT(o.loss, 0.0);
}

// This memory decides whether a GPU is asked to run a layout. It is tested over pipelines, sequence
// parallelism, recompute and ZeRO. Messages under way are a large part of a model this small.
TEST(TrialAccount, MemoryThatIsAskedForBeforeARunIsWhatTheRunTakes) {
  for (const Layout& l : layouts_of(machine().world->size())) {
    expect_memory(small_llama(), l, {1.02, 1.1});
    expect_memory(small_qwen(), l, {1.02, 1.1});
  }
}

TEST(TrialAccount, MemoryOfSplitBackwardPassesIsWhatTheRunTakes) {
  for (const Layout& l : split_layouts_of(machine().world->size())) {
    expect_memory(small_llama(), l, {1.02, 1.1});
  }
}

TEST(TrialAccount, MemoryOfExpertsAndShardedStatesIsWhatTheRunTakes) {
  for (const Layout& l : expert_layouts_of(machine().world->size())) {
    expect_memory(small_moe(), l, band_of_experts(l));
    expect_memory(small_gpt_oss(), l, band_of_experts(l));
  }
  // The trial gathers a unit when it is needed and adds its gradients where they stay; the model
  // also holds FSDP's next unit's weights, the gradients of one pass beside their sum, and a second
  // copy of what is under reduction: up to 24 % of all that a model this small takes.
  for (const Layout& l : sharded_layouts_of(machine().world->size())) {
    expect_memory(small_llama(), l, {1.25, 1.15});
  }
}

// Each way, to the byte; shards of an optimizer are padded.
void expect_host_traffic(const Model& model, const Layout& layout) {
  SCOPED_TRACE(model.name + " " + short_name(layout));
  Machine& m = machine();
  Job job = small_job();
  job.moe_load_imbalance = 1.0;  // tokens are dealt out in turn
  TrialStep step(model, job, layout, *m.compute, *m.world, kOptions);
  step.run();
  step.run();
  const int stage = step.groups().at.pipeline;
  const HostTraffic listed = host_traffic(
      model, job, layout, pipeline_stages(model, layout)[static_cast<std::size_t>(stage)],
      micro_batches_of_chunk(job, layout));
  EXPECT_GT(listed.to_host(), Bytes{});
  const double units = layout.zero_stage > 0 ? 2.0 * (model.num_layers + 1) : 0.0;
  const double padding = 4.0 * units * (m.world->size() - 1);
  EXPECT_GE(step.host().to_host(), listed.to_host());
  EXPECT_LE(step.host().to_host(), listed.to_host() + bytes(padding));
  EXPECT_GE(step.host().to_device(), listed.to_device());
  EXPECT_LE(step.host().to_device(), listed.to_device() + bytes(padding));
}

TEST(TrialAccount, WhatGoesToTheHostAndComesBackIsWhatIsListed) {
  for (const Layout& l : offloading_layouts_of(machine().world->size())) {
    for (const Model& m : {small_model(), small_llama(), small_qwen()}) expect_host_traffic(m, l);
    if (l.context_parallel_size == 1) expect_host_traffic(small_mla(), l);
  }
  for (const Layout& l : offloading_expert_layouts_of(machine().world->size())) {
    expect_host_traffic(small_moe(), l);
    expect_host_traffic(small_gpt_oss(), l);
  }
}

// Sharded states as above: FSDP's next unit and copies of gradients, and ZeRO-2's unit whose
// gradient is whole, which the model does not have: 16 % of what is left beside the host. The
// trial's ZeRO-1 copies a shard of gradients and weights for its step: 24 % where all else is on
// the host.
TEST(TrialAccount, MemoryBesideTheHostsIsWhatTheRunTakes) {
  for (const Layout& l : offloading_layouts_of(machine().world->size())) {
    const Band whole = l.zero_stage == 1 ? Band{1.02, 1.25} : Band{1.02, 1.1};
    expect_memory(small_llama(), l, l.zero_stage > 1 ? Band{1.25, 1.2} : whole);
  }
  for (const Layout& l : offloading_expert_layouts_of(machine().world->size())) {
    expect_memory(small_moe(), l, {1.02, 1.1});
  }
}

TEST(TrialAccount, MemoryOfLatentAttentionAndContextRanksIsWhatTheRunTakes) {
  for (const Layout& l : latent_layouts_of(machine().world->size())) {
    expect_memory(small_mla(), l, {1.02, 1.1});
  }
  // The trial holds all ranks' keys and values at once, as they came and in order; a ring as the
  // model counts it holds its own and the next: 16 % more of what a model this small takes.
  for (const Layout& l : context_layouts_of(machine().world->size())) {
    expect_memory(small_window(), l, {1.02, 1.2});
  }
}

// Intervals of a rank follow each other without gaps from its step's begin to its end, and those of
// a term add up to the term.
TEST(TrialAccount, IntervalsFillTheStepOfEveryRank) {
  Machine& m = machine();
  TrialOptions options{.warmup_steps = 0, .steps = 1};
  options.keep_intervals = true;
  const std::map<int, const char*> layouts{
      {1, "mbs=4"}, {2, "pp=2,mbs=2"}, {4, "tp=2,pp=2,mbs=2"}, {8, "tp=2,pp=2,dp=2,mbs=2"}};
  const Layout layout = layout_from_text(layouts.at(m.world->size()));
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
  for (const CountedTransfer& counted : o.counted) EXPECT_TRUE(counted.time);
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
