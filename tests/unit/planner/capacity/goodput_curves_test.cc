// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/goodput_curves.h"

#include <gtest/gtest.h>

#include "planner/capacity/capacity_answer.h"
#include "planner/capacity/failures.h"
#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

CapacityQuestion asked_question() {
  CapacityQuestion question;
  question.model = small_model();
  question.clusters = {{"small", small_cluster(4, 80), small_job()}};
  question.gpus = {16, 32};
  question.global_batch_sizes = {64};
  question.train_tokens = 1e12;
  return question;
}

const CapacityAnswer& small_answer() {
  static const CapacityAnswer answer = capacity_answer(asked_question(), false);
  return answer;
}

// At the row's own count and restart time the curve passes through the row.
TEST(GoodputCurves, PassThroughTheRow) {
  const CapacityAnswer& answer = small_answer();
  const CapacityRow* front = answer.front();
  ASSERT_TRUE(front != nullptr && answer.goodput_curves);
  const GoodputCurves& curves = *answer.goodput_curves;
  bool found = false;
  for (const GoodputCurve& curve : curves.curves) {
    if (curve.restart.value() != answer.question.options.failures.restart_seconds.value) continue;
    for (std::size_t i = 0; i < curves.gpus.size(); ++i) {
      if (curves.gpus[i] != front->gpus) continue;
      EXPECT_NEAR(curve.goodput[i], front->run.time.goodput(), 1e-12);
      found = true;
    }
  }
  EXPECT_TRUE(found);
}

TEST(GoodputCurves, FallWithEveryGpuAndEveryMinuteOfARestart) {
  const GoodputCurves& curves = *small_answer().goodput_curves;
  ASSERT_EQ(curves.curves.size(), 5U);
  for (std::size_t c = 0; c < curves.curves.size(); ++c) {
    for (std::size_t i = 0; i < curves.gpus.size(); ++i) {
      const double here = curves.curves[c].goodput[i];
      if (i > 0) {
        EXPECT_LE(here, curves.curves[c].goodput[i - 1]);
      }
      if (c > 0) {
        EXPECT_LT(here, curves.curves[c - 1].goodput[i]);
      }
    }
  }
}

// Nothing fails and nothing is added: a run of 1,000 s that starts for 250 s has a goodput of
// 1,000 / 1,250 = 0.8.
TEST(GoodputCurves, WithoutFailuresTheStartIsWhatIsLost) {
  CapacityOptions options;
  options.failures.per_thousand_node_days = stated(1e-12);
  options.failures.restart_seconds = stated(250.0);
  options.checkpoint.pause_seconds = stated(0.0);
  options.evaluation_share = 0.0;
  options.step_time_spread = stated(0.0);
  const double goodput =
      goodput_at(small_model(), small_job(), options, 8, {seconds(1000.0), seconds(1.0)});
  EXPECT_NEAR(goodput, 0.8, 1e-6);
}

// Inputs without a range: every quantile of a part is its expected time.
TEST(TimeRanges, CertainInputsHaveNone) {
  CapacityOptions options;
  for (Ranged* input :
       {&options.failures.per_thousand_node_days, &options.failures.detection_seconds,
        &options.failures.restart_seconds, &options.checkpoint.storage_gb_per_s_per_node}) {
    *input = stated(input->value);
  }
  const std::vector<RunPhase> phases{{1e5, seconds(6.0), seconds(6.0), seconds(6.0)}};
  const TrainingRun run =
      training_run({small_model(), small_cluster(4, 80), small_job()}, phases, options, {});
  const TimeRanges ranges = time_ranges(run, phases, options, 32);
  // 1e5 steps of 6 s are 6.944 days.
  EXPECT_NEAR(ranges.productive.p50, 6.944, 0.001);
  for (const auto& [kind, name] : kLostTimeNames) {
    EXPECT_NEAR(ranges[kind].p10, run.time[kind].value() / 86400.0, 1e-9) << name;
    EXPECT_NEAR(ranges[kind].p90, run.time[kind].value() / 86400.0, 1e-9) << name;
  }
}

// More failures lose more: with a range on their rate P90 is above P10.
TEST(TimeRanges, UncertainFailuresSpreadTheLostWork) {
  const CapacityAnswer& answer = small_answer();
  const Quantiles& wasted = (*answer.time_ranges)[LostTime::wasted_progress_from_disruption];
  EXPECT_LT(wasted.p10, wasted.p90);
}

}  // namespace
}  // namespace meshwright::planner
