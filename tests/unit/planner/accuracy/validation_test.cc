// SPDX-License-Identifier: Apache-2.0
#include "planner/accuracy/validation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/block/parameters.h"
#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

TEST(KendallTau, IsOneForEqualOrderAndMinusOneForReversed) {
  EXPECT_DOUBLE_EQ(kendall_tau({1, 2, 3}, {10, 20, 30}), 1.0);
  EXPECT_DOUBLE_EQ(kendall_tau({1, 2, 3}, {30, 20, 10}), -1.0);
}

// Pairs of 1 2 3 4 against 1 3 2 4: 5 agree, 1 does not: (5 - 1) / 6.
TEST(KendallTau, CountsPairs) {
  EXPECT_DOUBLE_EQ(kendall_tau({1, 2, 3, 4}, {1, 3, 2, 4}), 4.0 / 6.0);
}

// 1 1 2 against 1 2 3: the tied pair counts for neither; 2 / sqrt((3 - 1) * 3).
TEST(KendallTau, CorrectsForTies) {
  EXPECT_DOUBLE_EQ(kendall_tau({1, 1, 2}, {1, 2, 3}), 2.0 / std::sqrt(6.0));
  EXPECT_EQ(kendall_tau({1, 1}, {1, 2}), 0.0);
}

Observation observed(int data, double factor) {
  Layout layout;
  layout.data_parallel_size = data;
  Model model = small_model();
  model.num_layers = 4;
  Job job = small_job();
  job.global_batch_size = 16;
  const Outcome outcome = estimate({model, scaled_to(small_cluster(1, 80), data), job}, layout);
  const auto& predicted = std::get<Estimate>(outcome);
  Observation o;
  o.layout = o.run_layout = layout;
  o.run_layers = 4;
  o.run_global_batch_size = 16;
  o.ranks = data;
  o.step_time = predicted.step_time / factor;
  o.peak_memory = predicted.peak_memory() / 2.0;
  o.terms = {{TermKind::forward_compute, predicted.terms[0].cost.time * 2.0}};
  return o;
}

// Forward was measured twice as long as predicted, so that it is short by itself: of the step,
// forward / step.
TEST(Validation, NamesTheTermThatMostOfTheErrorComesFrom) {
  const Validation v =
      validate({small_model(), small_cluster(1, 80), small_job()}, {observed(1, 1.0)});
  const auto cause = largest_error_cause(v);
  ASSERT_TRUE(cause.has_value());
  EXPECT_EQ(cause->term, TermKind::forward_compute);
  const Estimate& predicted = v.layouts[0].predicted;
  EXPECT_NEAR(cause->share_of_step, -(predicted.terms[0].cost.time / predicted.step_time), 1e-12);
}

// The host takes 1.25 times as long, and so do the step and its forward: nothing is left for the
// term. The host's part: (1 - 1.25) predicted / measured, with measured = 1.25 predicted: -0.2.
TEST(Validation, NamesTheHostWhereItsSpeedExplainsTheError) {
  Observation slow = observed(1, 0.8);
  slow.host_time_ratio = 1.25;
  slow.terms[0].time = slow.terms[0].time * (1.25 / 2.0);
  const auto cause =
      largest_error_cause(validate({small_model(), small_cluster(1, 80), small_job()}, {slow}));
  ASSERT_TRUE(cause.has_value());
  EXPECT_FALSE(cause->term.has_value());
  EXPECT_NEAR(cause->share_of_step, -0.2, 1e-12);
}

// Measured = predicted / (1 + e): errors +25 %, -20 %, 0: median 20 %, worst 25 %. Predicted is of
// the four layers and sixteen sequences that were run.
TEST(Validation, SignsErrorsAndTakesMedianAndWorst) {
  const Validation v = validate({small_model(), small_cluster(1, 80), small_job()},
                                {observed(1, 1.25), observed(2, 0.8), observed(4, 1.0)});
  ASSERT_EQ(v.layouts.size(), 3U);
  EXPECT_NEAR(v.layouts[0].error, 0.25, 1e-12);  // rounding of one division
  EXPECT_NEAR(v.layouts[1].error, -0.2, 1e-12);
  EXPECT_NEAR(v.layouts[2].error, 0.0, 1e-12);
  EXPECT_NEAR(v.median_absolute_error, 0.2, 1e-12);
  EXPECT_NEAR(v.worst_absolute_error, 0.25, 1e-12);
  EXPECT_NEAR(v.layouts[0].memory_error, 1.0, 1e-12);
  ASSERT_EQ(v.layouts[0].terms.size(), 1U);
  EXPECT_DOUBLE_EQ(v.layouts[0].terms[0].measured / v.layouts[0].terms[0].predicted, 2.0);
  EXPECT_TRUE(v.layouts[2].inside_interval);
  EXPECT_DOUBLE_EQ(v.kendall_tau, 1.0);
}

// Measured a quarter longer than predicted, on a host that was slower by as much: right for that
// host. A run that does not say how fast its host was counts among all only.
TEST(Validation, AHostSlowerThanCalibratedIsToldFromAWrongPrediction) {
  Observation slow = observed(1, 0.8);
  slow.host_time_ratio = 1.25;
  const Validation v =
      validate({small_model(), small_cluster(1, 80), small_job()}, {slow, observed(2, 2.0)});
  EXPECT_NEAR(v.layouts[0].error, -0.2, 1e-12);
  ASSERT_TRUE(v.layouts[0].at_host_speed.has_value());
  EXPECT_NEAR(v.layouts[0].at_host_speed->error, 0.0, 1e-12);
  EXPECT_TRUE(v.layouts[0].at_host_speed->inside_interval);
  EXPECT_FALSE(v.layouts[1].at_host_speed.has_value());
  EXPECT_NEAR(*v.median_absolute_error_at_host_speed, 0.0, 1e-12);
  EXPECT_EQ(*v.interval_coverage_at_host_speed, 1.0);
  EXPECT_NEAR(*v.worst_absolute_error_at_host_speed, 0.0, 1e-12);
  EXPECT_FALSE(validate({small_model(), small_cluster(1, 80), small_job()}, {observed(2, 2.0)})
                   .median_absolute_error_at_host_speed.has_value());
  EXPECT_FALSE(v.regret_at_host_speed.has_value());
}

// Two data ranks take about half the time of one, so they are predicted fastest; measured, one rank
// is made twice and a half as fast as two.
TEST(Validation, RegretIsTheChosenLayoutOverTheBestMeasured) {
  Observation one = observed(1, 1.0), two = observed(2, 1.0);
  one.step_time = seconds(2);
  two.step_time = seconds(5);
  EXPECT_DOUBLE_EQ(validate({small_model(), small_cluster(1, 80), small_job()}, {one, two}).regret,
                   1.5);
  two.step_time = seconds(1);
  EXPECT_EQ(validate({small_model(), small_cluster(1, 80), small_job()}, {one, two}).regret, 0.0);
}

// Two data ranks, predicted fastest, took 1.5 s on a host that was 2 times slower; one rank took 1
// s. The choice is 50 % slower as measured, and the fastest at the speed of the calibration.
TEST(Validation, RegretAtHostSpeedDividesTheSlowdownOut) {
  Observation one = observed(1, 1.0), two = observed(2, 1.0);
  one.step_time = seconds(1);
  two.step_time = seconds(1.5);
  one.host_time_ratio = 1.0;
  two.host_time_ratio = 2.0;
  const Validation v = validate({small_model(), small_cluster(1, 80), small_job()}, {one, two});
  EXPECT_NEAR(v.regret, 0.5, 1e-12);
  EXPECT_NEAR(v.regret_at_host_speed.value_or(-1.0), 0.0, 1e-12);
}

// Counted bytes equal the ledger's, except for single numbers. One call more or less is another
// number of bytes.
TEST(Validation, BytesAreAsPredictedWhenEveryCallIsInTheLedgerAndNoOther) {
  Observation o = observed(2, 1.0);
  Model model = small_model();
  model.num_layers = 4;
  Job job = small_job();
  job.global_batch_size = 16;
  const Volume ledger = volume(model, job, o.run_layout);
  for (const Transfer& t : ledger.stages[0].transfers) {
    if (t.payload > bytes(4)) o.counted.push_back({t});
  }
  ASSERT_FALSE(o.counted.empty());
  const auto same = [](const Observation& seen) {
    return validate({small_model(), small_cluster(1, 80), small_job()}, {seen})
        .layouts[0]
        .same_bytes;
  };
  EXPECT_TRUE(same(o));
  Observation more = o;
  more.counted[0].times_per_step += 1.0;
  EXPECT_FALSE(same(more));
  Observation less = o;
  less.counted.pop_back();
  EXPECT_FALSE(same(less));
}

// ZeRO-2 cuts a chunk into units alike, 5 of 4 layers and the embedding: the same bytes in calls of
// other sizes, filled up to whole shards, are as predicted; a call that is missing is not.
TEST(Validation, BytesOfUnitsAreComparedInAllCallsTogether) {
  Observation o = observed(2, 1.0);
  o.run_layout.zero_stage = 2;
  Model model = small_model();
  model.num_layers = 4;
  Job job = small_job();
  job.global_batch_size = 16;
  const Volume ledger = volume(model, job, o.run_layout);
  for (const Transfer& t : ledger.stages[0].transfers) {
    if (t.payload <= bytes(4)) continue;
    o.counted.push_back({t});
    if (t.times_per_step < 2.0) continue;
    Transfer larger = t;  // half as much again once, half as much once
    larger.times_per_step = 1.0;
    o.counted.back().times_per_step -= 2.0;
    larger.payload = t.payload * 1.5 + bytes(4);  // a number of padding
    o.counted.push_back({larger});
    larger.payload = t.payload * 0.5;
    o.counted.push_back({larger});
  }
  const auto same = [](const Observation& seen) {
    return validate({small_model(), small_cluster(1, 80), small_job()}, {seen})
        .layouts[0]
        .same_bytes;
  };
  EXPECT_TRUE(same(o));
  Observation less = o;
  less.counted.pop_back();
  EXPECT_FALSE(same(less));
}

// Half of the experts were run, on half of their ranks: what is predicted is of these, half of the
// weights of experts.
TEST(Validation, PredictsTheExpertsThatWereRun) {
  Model model = small_model();
  model.moe = MixtureOfExperts{.num_moe_experts = 8,
                               .moe_router_topk = 2,
                               .moe_ffn_hidden_size = model.ffn_hidden_size,
                               .moe_router_num_groups = 4,
                               .moe_router_group_topk = 2};
  Observation o = observed(1, 1.0);
  const auto memory = [&](int experts) {
    o.run_num_moe_experts = experts;
    const Validation v = validate({model, small_cluster(1, 80), small_job()}, {o});
    return v.layouts.at(0).predicted.memory.front().weights.value();
  };
  const LayerParameters layer = layer_parameters(model, {true, false});
  const double left_out = 4.0 / 8.0 * static_cast<double>(layer.expert) * 4 * 2;  // bf16
  EXPECT_NEAR(memory(8) - memory(4), left_out, 4 * 4 * model.hidden_size * 4.0);  // and the router
  EXPECT_EQ(memory(8), memory(0));
}

TEST(Validation, InferenceIsNotATrainingStep) {
  Observation decode = observed(1, 1.0);
  decode.mode = TrialMode::decode;
  const Validation v = validate({small_model(), small_cluster(1, 80), small_job()}, {decode});
  EXPECT_TRUE(v.layouts.empty());
  EXPECT_EQ(v.skipped.size(), 1U);
}

TEST(Validation, SkipsWhatFailedAndSaysWhy) {
  Observation failed = observed(1, 1.0);
  failed.failure = "rank 1 ended early";
  Observation untimed = observed(2, 1.0);
  untimed.step_time = seconds(0);
  const Validation v =
      validate({small_model(), small_cluster(1, 80), small_job()}, {failed, untimed});
  EXPECT_TRUE(v.layouts.empty());
  ASSERT_EQ(v.skipped.size(), 2U);
  EXPECT_NE(v.skipped[0].find("rank 1 ended early"), std::string::npos);
  EXPECT_EQ(v.median_absolute_error, 0.0);
}

}  // namespace
}  // namespace meshwright::planner
