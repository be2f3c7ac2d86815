// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/red_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/questions/rule_of_thumb.h"
#include "planner/questions/what_if_parameter.h"
#include "sim/base/error.h"
#include "sim/block/parameters.h"
#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

using testing::HasSubstr;

Scenario scenario(int nodes = 2, double memory_gib = 80) {
  return {small_model(), small_cluster(nodes, memory_gib), small_job()};
}

Estimate estimate_of(const Scenario& s, const Layout& layout) {
  CostTable table(s);
  return described(evaluate(table, layout, MemoryLimit::reported), table, layout);
}

double seconds_of(const RedFlag& flag) { return std::get<Seconds>(flag.effect).value(); }

Layout sizes(int tensor, int pipeline, int data) {
  Layout layout;
  layout.tensor_parallel_size = tensor;
  layout.pipeline_parallel_size = pipeline;
  layout.data_parallel_size = data;
  return layout;
}

double tensor_seconds(const Estimate& e) {
  return e.terms[static_cast<std::size_t>(TermKind::tensor_parallel_communication)]
      .cost.time.value();
}

// Sixteen tensor ranks on two nodes of 8, and on one of 16.
TEST(RedFlags, TensorRanksOnTwoNodesCostWhatOneNodeWouldSave) {
  Scenario two = scenario();
  two.cluster.inter_node.bandwidth = gigabytes_per_second(2.5);
  Scenario one = two;
  one.cluster.gpus_per_node = 16;
  one.cluster.num_nodes = 1;
  const Layout layout = sizes(16, 1, 1);
  const auto flag = group_beyond_domain(two, estimate_of(two, layout), Group::tensor, std::nullopt);
  ASSERT_TRUE(flag);
  EXPECT_EQ(flag->id, RedFlagId::tensor_beyond_domain);
  const double expected =
      tensor_seconds(estimate_of(two, layout)) - tensor_seconds(estimate_of(one, layout));
  EXPECT_DOUBLE_EQ(seconds_of(*flag), expected);
  EXPECT_GT(expected, 0.0);
  EXPECT_THAT(flag->sentence, HasSubstr("Each tensor group of 16 ranks spans 2 nodes of 8 GPUs."));
  EXPECT_FALSE(
      group_beyond_domain(two, estimate_of(two, sizes(8, 1, 2)), Group::tensor, std::nullopt));
}

// Four stages with 64 / 16 = 4 micro-batches, where 16 are enough: 4 times the batch. The step of
// 1F1B is (m + p - 1) t + rest: a share of the larger one is ((16 + 3) t + rest) / 4, so of the
// fill and drain 3 t only a quarter is left, and of the rest as well.
TEST(RedFlags, FewMicroBatchesCostThreeQuartersOfTheBubbleAndOfWhatComesOnceAStep) {
  const Scenario s = scenario(8);
  Layout layout = sizes(1, 4, 16);
  const Estimate e = estimate_of(s, layout);
  const auto flag = few_micro_batches(s, e);
  ASSERT_TRUE(flag);
  const auto term = [&](TermKind kind) {
    return e.terms[static_cast<std::size_t>(kind)].cost.time.value();
  };
  const double once = term(TermKind::pipeline_bubble) + term(TermKind::optimizer) +
                      term(TermKind::data_parallel_communication);
  EXPECT_NEAR(seconds_of(*flag), 0.75 * once, 0.02 * once);
  EXPECT_THAT(flag->sentence,
              HasSubstr("4 micro-batches for 4 stages. At least 16 are recommended, 4 per stage."));
  EXPECT_FALSE(few_micro_batches(s, estimate_of(s, sizes(1, 1, 64))));
}

TEST(RedFlags, EmptyMemoryIsWhatTheLayoutLeaves) {
  const Scenario s = scenario();
  const Estimate e = estimate_of(s, sizes(8, 1, 2));
  const auto flag = memory_half_empty(s, e);
  ASSERT_TRUE(flag);
  EXPECT_EQ(std::get<Bytes>(flag->effect), gibibytes(80) - e.peak_memory());
  const Scenario small = scenario(2, in_gibibytes(e.peak_memory()) * 1.9);
  EXPECT_FALSE(memory_half_empty(small, e));
}

// 30 % MFU where fewer GPUs reach 50 %: at their rate the step of 10 s takes 10 x 30 / 50 = 6 s.
TEST(RedFlags, LowUtilizationCostsWhatTheRateOfFewerGpusWouldSave) {
  Estimate e;
  e.step_time = seconds(10);
  e.model_flops_utilization = 0.3;
  ScalePoint fewer;
  fewer.gpus = 64;
  fewer.model_flops_utilization = 0.5;
  const auto flag = low_utilization(e, fewer, DeviceKind::gpu);
  ASSERT_TRUE(flag);
  EXPECT_NEAR(seconds_of(*flag), 4.0, 1e-12);
  fewer.model_flops_utilization = 0.37;  // 0.3 / 0.37 = 0.81
  EXPECT_FALSE(low_utilization(e, fewer, DeviceKind::gpu));
}

// One micro-batch of one sequence a rank: the step is t + r, in k times the batch t + r / k. The
// loss is r (1 - 1/64), and from the first doubling on at which r / k is below 10 % it is small.
TEST(RedFlags, ASmallBatchPaysForWhatComesOnceAStep) {
  const Scenario s = scenario(8);
  const Estimate e = estimate_of(s, sizes(1, 1, 64));
  const auto flag = small_batch(s, e);
  ASSERT_TRUE(flag);
  const auto in_batch = [&](int times) {
    Scenario larger = s;
    larger.job.global_batch_size *= times;
    return estimate_of(larger, e.layout).step_time.value() / times;
  };
  EXPECT_NEAR(seconds_of(*flag), in_batch(1) - in_batch(64), 1e-12);
  int enough = 2;
  while (in_batch(enough) > 1.1 * in_batch(64)) enough *= 2;
  EXPECT_THAT(flag->sentence, HasSubstr(std::to_string(64 * enough) + " sequences on"));
  Scenario large = s;
  large.job.global_batch_size *= 64;
  EXPECT_FALSE(small_batch(large, estimate_of(large, e.layout)));
}

// 8 layers on 4 stages of 2 chunks, and of one.
TEST(RedFlags, ChunksOfOneLayerSaveWhatChunksOfTwoTakeMore) {
  const Scenario s = scenario();
  const Layout twice = sizes(1, 4, 4);
  Layout layout = twice;
  layout.schedule = PipelineSchedule::interleaved;
  layout.virtual_pipeline_parallel_size = 2;
  const auto flag = one_layer_chunks(s, estimate_of(s, layout));
  ASSERT_TRUE(flag);
  EXPECT_NEAR(seconds_of(*flag),
              (estimate_of(s, twice).step_time - estimate_of(s, layout).step_time).value(), 1e-12);
  EXPECT_FALSE(one_layer_chunks(s, estimate_of(s, twice)));
}

// Nobody measured how much communication slows compute: half of it to either side.
TEST(RedFlags, AnAssumedInputMovesTheStepByItsSpread) {
  Scenario s = scenario(8);
  s.cluster.device.overlap_slowdown = 0.4;
  Layout layout = sizes(1, 1, 64);
  layout.overlap_grad_reduce = true;
  const auto flag = assumed_input(s, estimate_of(s, layout), nullptr);
  ASSERT_TRUE(flag);
  const double spread = relative_spread(WhatIfParameter::overlap_slowdown, s);
  const auto step = [&](double factor) {
    return estimate_of(scaled(s, WhatIfParameter::overlap_slowdown, factor), layout)
        .step_time.value();
  };
  EXPECT_NEAR(seconds_of(*flag), (step(std::exp(spread)) - step(std::exp(-spread))) / 2.0, 1e-12);
  s.cluster.device.overlap_slowdown = 0.0;
  EXPECT_FALSE(assumed_input(s, estimate_of(s, layout), nullptr));
}

// 20 GB/s for 1e14 FLOP/s are 0.2e-3 bytes per FLOP, 200 GB/s are 2e-3. An H100's 0.455e-3 would be
// 45.5 GB/s.
TEST(RedFlags, TensorRanksOnASlowLinkCostWhatAnH100sLinkWouldSave) {
  Scenario slow = scenario();
  slow.cluster.intra_node.bandwidth = gigabytes_per_second(20);
  const Layout layout = sizes(4, 1, 4);
  EXPECT_NEAR(link_bytes_per_flop(slow), 0.2e-3, 1e-12);
  const auto flag = tensor_on_slow_link(slow, estimate_of(slow, layout));
  ASSERT_TRUE(flag);
  Scenario faster = slow;
  faster.cluster.intra_node.bandwidth = gigabytes_per_second(45.5);
  const double saved =
      tensor_seconds(estimate_of(slow, layout)) - tensor_seconds(estimate_of(faster, layout));
  EXPECT_GT(saved, 0.0);
  EXPECT_NEAR(seconds_of(*flag), saved, 1e-9);
  EXPECT_THAT(flag->sentence,
              HasSubstr("4 tensor ranks communicate in every layer over a link of 20"));
  EXPECT_FALSE(tensor_on_slow_link(slow, estimate_of(slow, sizes(1, 1, 16))));
  EXPECT_FALSE(tensor_on_slow_link(scenario(), estimate_of(scenario(), layout)));
}

// The rule has one tensor rank for models below 1B. 10 s with 4, 12 s with one: 2 s rest on it.
TEST(RedFlags, MoreTensorRanksThanTheRuleOfThumbCostWhatTheRuleTakesMore) {
  RuleOfThumb rule;
  rule.row = &rule_of_thumb_row(small_model());
  rule.estimate = Estimate{};
  rule.estimate->step_time = seconds(12);
  Estimate winner;
  winner.layout = sizes(4, 1, 4);
  winner.step_time = seconds(10);
  const auto flag = tensor_beyond_rule(winner, rule);
  ASSERT_TRUE(flag);
  EXPECT_DOUBLE_EQ(seconds_of(*flag), 2.0);
  EXPECT_THAT(flag->sentence, HasSubstr("4 tensor ranks exceed"));
  winner.layout = sizes(1, 1, 16);
  EXPECT_FALSE(tensor_beyond_rule(winner, rule));
  rule.estimate.reset();
  winner.layout = sizes(4, 1, 4);
  EXPECT_FALSE(tensor_beyond_rule(winner, rule));
}

// 1,024 tokens need no context ranks by the rule. Without them the layout takes its own time; on a
// device with less memory than that layout needs, the difference is what it lacks.
TEST(RedFlags, ContextRanksForShortSequencesCostWhatTheLayoutWithoutThemDoes) {
  Layout layout = sizes(1, 1, 8);
  layout.context_parallel_size = 2;
  const Layout whole = sizes(1, 1, 16);
  const Scenario s = scenario();
  const auto flag = context_for_memory(s, estimate_of(s, layout));
  ASSERT_TRUE(flag);
  EXPECT_NEAR(seconds_of(*flag),
              (estimate_of(s, whole).step_time - estimate_of(s, layout).step_time).value(), 1e-12);
  const Bytes needed = estimate_of(s, whole).peak_memory();
  const Scenario small = scenario(2, in_gibibytes(needed) - 1.0);
  const auto lacking = context_for_memory(small, estimate_of(small, layout));
  ASSERT_TRUE(lacking);
  EXPECT_NEAR(in_gibibytes(std::get<Bytes>(lacking->effect)), 1.0, 1e-9);
  EXPECT_FALSE(context_for_memory(s, estimate_of(s, whole)));
  Scenario longer = s;
  longer.job.seq_length = 32768;  // the rule has 2
  EXPECT_FALSE(context_for_memory(longer, estimate_of(longer, layout)));
}

// 76 of 80 GiB are 95 %: 4 GiB above 72.
TEST(RedFlags, MemoryAboveNinetyPercentIsWhatLiesAbove) {
  Estimate e;
  StageMemory stage;
  stage.reserve = gibibytes(76);
  e.memory = {stage};
  const auto flag = memory_nearly_full(scenario(), e);
  ASSERT_TRUE(flag);
  EXPECT_NEAR(in_gibibytes(std::get<Bytes>(flag->effect)), 4.0, 1e-9);
  EXPECT_THAT(flag->sentence, HasSubstr("76 of 80 GiB are used (95 %)"));
  e.memory[0].reserve = gibibytes(72);
  EXPECT_FALSE(memory_nearly_full(scenario(), e));
}

TEST(RedFlags, OfAPlanComeLargestFirst) {
  SearchOptions options;
  const Plan plan = search({small_model(), small_cluster(8, 80), small_job()}, options);
  const auto flags = red_flags(plan, options, {});
  ASSERT_FALSE(flags.empty());
  for (std::size_t i = 1; i < flags.size(); ++i) {
    if (std::holds_alternative<Seconds>(flags[i].effect)) {
      EXPECT_GE(std::abs(seconds_of(flags[i - 1])), std::abs(seconds_of(flags[i])));
    }
  }
}

// 8 layers of 4 x 1024^2 + 2 x 1024 x 4096 and 2 x 32000 x 1024 are 0.17B; 150 layers of 4 x 8192 x
// 1024 + 2 x 8192 x 32768 are 86B.
TEST(RuleOfThumb, RowsGoBySize) {
  Model model = small_model();
  EXPECT_EQ(rule_of_thumb_row(model).name, "dense below 1B");
  model.num_layers = 150;
  model.hidden_size = 8192;
  model.ffn_hidden_size = 32768;
  EXPECT_EQ(rule_of_thumb_row(model).name, "dense 70-175B");
  EXPECT_EQ(rule_of_thumb_context(8192).high, 1);
  EXPECT_EQ(rule_of_thumb_context(32768).high, 2);
  EXPECT_EQ(rule_of_thumb_context(131072).low, 4);
}

// Data parallelism only, as the rule has it below 1B: the rest of the layout is the fastest.
TEST(RuleOfThumb, IsPricedWithTheBestOfWhatItLeavesOpen) {
  SearchOptions options;
  const Plan plan = search({small_model(), small_cluster(2, 80), small_job()}, options);
  const RuleOfThumb rule = rule_of_thumb(plan, options);
  ASSERT_TRUE(rule.estimate);
  EXPECT_EQ(rule.estimate->layout.data_parallel_size, 16);
  EXPECT_GE(rule.estimate->step_time, plan.ranked.front().step_time);
  EXPECT_THAT(sentence_of(rule, plan.ranked.front()), HasSubstr("dense below 1B"));
}

TEST(RuleOfThumb, WhatCannotRunSaysWhy) {
  Cluster tiny = small_cluster(2, 80);
  tiny.device.memory = gibibytes(0.5);
  const RuleOfThumb rule = rule_of_thumb({small_model(), tiny, small_job()}, {});
  EXPECT_FALSE(rule.estimate);
  EXPECT_THAT(rule.reason, HasSubstr("GiB"));
}

// A batch too small for its pipeline is told once.
TEST(RedFlags, OfTwoThatSayTheSameOneIsRaised) {
  const Scenario s = scenario(8);
  const Estimate piped = estimate_of(s, sizes(1, 4, 16));
  ASSERT_TRUE(few_micro_batches(s, piped));
  ASSERT_TRUE(small_batch(s, piped));
  EXPECT_EQ(batch_flag(s, piped)->id, RedFlagId::few_micro_batches);
  const Estimate flat = estimate_of(s, sizes(1, 1, 64));
  EXPECT_EQ(batch_flag(s, flat).has_value(), small_batch(s, flat).has_value());
}

}  // namespace
}  // namespace meshwright::planner
