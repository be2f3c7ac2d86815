// SPDX-License-Identifier: Apache-2.0
#include "calibrate/service_workload.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/calibrate/two_layers.h"

namespace meshwright::calibrate {
namespace {

double calls_of(const Workload& workload, const GemmShape& shape) {
  double sum = 0;
  for (const GemmDemand& demand : workload.gemms) {
    if (demand.variant.shape == shape) sum += demand.calls;
  }
  return sum;
}

// On one rank 4 heads of 16 give 3 x 64 columns of query, key and value; the head has 1,024. Nine
// numbers of rows: a ninth of two layers, and of one head.
TEST(ServiceWorkload, HasProductsOfFewRows) {
  Workload workload;
  add_service(workload, two_layers(), {1}, 4.0);
  for (const int rows : kServedRows) {
    EXPECT_NEAR(calls_of(workload, {1, rows, 192, 64}), 2.0 / 9, 1e-12) << rows;
    EXPECT_NEAR(calls_of(workload, {1, rows, 1024, 64}), 1.0 / 9, 1e-12) << rows;
  }
  EXPECT_TRUE(workload.collectives.empty());
}

// Two layers have four all-reduces, and the embedding one: 5 of each number of rows. 64 numbers of
// 4 bytes a row are 256 bytes.
TEST(ServiceWorkload, HasTheAllReducesOfTensorRanks) {
  Workload workload;
  add_service(workload, two_layers(), {2}, 4.0);
  ASSERT_EQ(workload.collectives.size(), kServedRows.size());
  EXPECT_EQ(workload.collectives.front().payload, bytes(256));
  EXPECT_EQ(workload.collectives.back().payload, bytes(512 * 256));
  for (const CollectiveDemand& demand : workload.collectives) {
    EXPECT_EQ(demand.group_size, 2);
    EXPECT_NEAR(demand.calls, 5.0 / 9, 1e-12);
  }
  EXPECT_NEAR(calls_of(workload, {1, 1, 96, 64}), 2.0 / 9, 1e-12);
}

}  // namespace
}  // namespace meshwright::calibrate
