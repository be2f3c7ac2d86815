// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/reference_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/capacity/capacity_answer.h"
#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

CapacityQuestion question() {
  CapacityQuestion q;
  q.model = small_model();
  q.clusters = {{"small", small_cluster(2, 80), small_job()}};
  q.gpus = {16};
  q.global_batch_sizes = {64};
  q.train_tokens = 1e12;
  ReferenceRun& run = q.options.reference.emplace();
  run.name = "a run";
  run.source = "a page";
  run.gpus = 16;
  run.gpu_hours = 5e4;
  return q;
}

double part(const ReferenceComparison& comparison, const std::string& name) {
  for (const ReferencePart& one : comparison.parts) {
    if (one.name == name) return one.gpu_hours;
  }
  ADD_FAILURE() << "no part " << name;
  return 0.0;
}

double sum_of(const ReferenceComparison& comparison) {
  double sum = comparison.gpu_hours;
  for (const ReferencePart& one : comparison.parts) sum += one.gpu_hours;
  return sum;
}

TEST(ReferenceRun, WithoutOneThereIsNoComparison) {
  CapacityQuestion q = question();
  q.options.reference.reset();
  EXPECT_FALSE(capacity_answer(q, false).reference);
  q = question();
  q.options.reference->gpus = 32;  // no row has as many
  EXPECT_FALSE(capacity_answer(q, false).reference);
}

TEST(ReferenceRun, PartsAddUpToWhatIsStated) {
  CapacityQuestion q = question();
  Layout slower;
  slower.tensor_parallel_size = 8;
  q.reference_layout = StatedLayout{.layout = slower};
  q.options.reference->step_seconds = 2.0;
  q.options.reference->goodput = 0.5;
  const CapacityAnswer answer = capacity_answer(q, false);
  ASSERT_TRUE(answer.reference);
  EXPECT_NEAR(sum_of(*answer.reference), 5e4, 1e-6);
  EXPECT_GE(part(*answer.reference, "layout"), 0.0);  // the row has the fastest
}

// A step of twice the predicted time is twice the GPU-hours: the part is as much as the row at the
// predicted inputs.
TEST(ReferenceRun, TheStepsPartIsTheRatioOfTheSteps) {
  CapacityQuestion q = question();
  const CapacityAnswer today = capacity_answer(q, false);
  const double predicted = today.rows.front().main_phase().estimate.step_time.value();
  q.options.reference->step_seconds = 2.0 * predicted;
  const CapacityAnswer answer = capacity_answer(q, false);
  const double row = answer.reference->gpu_hours + part(*answer.reference, "ranges");
  EXPECT_NEAR(part(*answer.reference, "step") / row, 1.0, 1e-9);
}

// A row of one batch beside a run that had a schedule.
TEST(ReferenceRun, BatchesByPhaseAreAPartOfARowWithoutThem) {
  CapacityQuestion q = question();
  q.options.schedule = {{5e11, 16, 1024}, {0.0, 64, 1024}};
  q.with_schedule = false;
  const CapacityAnswer one = capacity_answer(q, false);
  ASSERT_EQ(one.rows.size(), 1U);
  EXPECT_GT(part(*one.reference, "batches by phase"), 0.0);  // small batches are slow
  q.with_schedule = true;
  q.global_batch_sizes.clear();
  const CapacityAnswer both = capacity_answer(q, false);
  ASSERT_TRUE(both.reference->schedule_gpu_hours);
  EXPECT_NEAR(*both.reference->schedule_gpu_hours, part(*one.reference, "batches by phase"), 1e-6);
}

}  // namespace
}  // namespace meshwright::planner
