// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/capacity_grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "planner/capacity/capacity_answer.h"
#include "sim/hardware/node_count.h"
#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

// 720 = 45 x 16. Multiples of 45 next to 512: 495; of 90 and 180: 540. Of 360 none is within an
// eighth, 64: 360 and 720 are 152 and 208 away.
TEST(CapacityGrid, BatchesNearTheStatedOneFollowTheCount) {
  EXPECT_THAT(batches_near(512, 720), testing::ElementsAre(512, 495, 540));
  EXPECT_THAT(batches_near(512, 1024), testing::ElementsAre(512));
  EXPECT_THAT(batches_near(540, 720), testing::ElementsAre(540));
  EXPECT_THAT(batches_near(1, 96), testing::ElementsAre(1));
  // 24,576 = 3 x 8,192: multiples of 3, 6, 12, ... and 768.
  EXPECT_THAT(batches_near(2048, 24576),
              testing::ElementsAre(2048, 2049, 2046, 2052, 2040, 2064, 2016, 2112, 1920, 2304));
}

CapacityQuestion question_of(std::vector<int> gpus, int batch) {
  CapacityQuestion question{.model = small_model(),
                            .clusters = {{"small", small_cluster(2, 80), small_job()}},
                            .gpus = std::move(gpus),
                            .global_batch_sizes = {batch},
                            .train_tokens = 1e12,
                            .batch_follows = true};
  question.clusters.front().cluster.price_per_gpu_hour = 2.0;
  return question;
}

// 56 = 7 x 8 devices divide no 64 sequences into data-parallel groups of all: 56 or 63 do.
TEST(CapacityGrid, ACountIsJudgedWithABatchThatSuitsIt) {
  CapacityQuestion question = question_of({56, 64}, 64);
  const CapacityAnswer follows = capacity_answer(question, false);
  const CapacityRow& row = follows.rows[0];
  EXPECT_EQ(row.stated_batch_size, 64);
  EXPECT_EQ(row.global_batch_size % 7, 0);
  EXPECT_EQ(follows.rows[1].global_batch_size, 64);
  question.batch_follows = false;
  const CapacityAnswer fixed = capacity_answer(question, false);
  EXPECT_EQ(fixed.rows[0].global_batch_size, 64);
  EXPECT_TRUE(!fixed.rows[0].fits() || fixed.rows[0].run.days.p50 > row.run.days.p50);
  // A batch that was chosen is chosen again.
  question.batch_follows = true;
  question.global_batch_sizes = {row.global_batch_size};
  EXPECT_EQ(capacity_answer(question, false).rows[0].global_batch_size, row.global_batch_size);
}

// Between 16 devices, which are late, and 64: every row below the recommended one is late, and one
// of them is at most a node or 2 % below it.
TEST(CapacityGrid, CountsAtTheDeadlineAreTriedToANode) {
  CapacityQuestion question = question_of({16, 64}, 64);
  const std::vector<CapacityRow> ends = capacity_answer(question, false).rows;
  const double allowed = ends[1].run.days.p90 * 1.6;
  ASSERT_GT(ends[0].run.days.p90, allowed);
  question.options.limits.deadline_days = allowed;
  question.refines = true;
  const CapacityAnswer answer = capacity_answer(question, false);
  ASSERT_TRUE(answer.recommendation.smallest);
  const CapacityRow& least = answer.rows[*answer.recommendation.smallest];
  EXPECT_TRUE(least.between);
  EXPECT_LT(least.gpus, 64);
  int late = 0;
  for (const CapacityRow& row : answer.rows) {
    if (!row.keeps_limits()) late = std::max(late, row.gpus);
  }
  EXPECT_EQ(least.gpus - late, 8);
  EXPECT_TRUE(std::is_sorted(answer.rows.begin(), answer.rows.end(),
                             [](const auto& a, const auto& b) { return a.gpus < b.gpus; }));
  // Nobody named the counts: fewer than the least of them are tried.
  question.gpus = {64};
  EXPECT_EQ(capacity_answer(question, false).rows.size(), 1U);
  question.any_gpus = true;
  const CapacityAnswer open = capacity_answer(question, false);
  EXPECT_EQ(open.rows[*open.recommendation.smallest].gpus, least.gpus);
}

// The fastest within the budget, which a count between two of the grid keeps as well.
TEST(CapacityGrid, CountsAtTheBudgetAreTriedToANode) {
  CapacityQuestion question = question_of({16, 256}, 64);
  const std::vector<CapacityRow> ends = capacity_answer(question, false).rows;
  ASSERT_GT(ends[1].run.cost->p90, ends[0].run.cost->p90 * 1.02);
  question.options.limits.budget = (ends[0].run.cost->p90 + ends[1].run.cost->p90) / 2.0;
  question.refines = true;
  const CapacityAnswer answer = capacity_answer(question, false);
  EXPECT_TRUE(answer.rows[*answer.recommendation.recommended].between);
}

}  // namespace
}  // namespace meshwright::planner
