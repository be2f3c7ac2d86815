// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "sim/json/result_records.h"
#include "tests/unit/sim/volume/volume_fixture.h"

namespace meshwright {
namespace {

using namespace volume_test;

TEST(VolumeJson, TransfersCarryPayloadFormulaAndTotals) {
  const Volume all = volume(small_model(), small_job(), tensor(4));
  const Json json = volume_record().write(all);
  EXPECT_EQ(json["busiest_stage"], 0);
  const Json& stage = json["stages"][0];
  ASSERT_EQ(stage["transfers"].size(), all.stages[0].transfers.size());
  const Json& first = stage["transfers"][0];
  EXPECT_EQ(first["group"], "tensor");
  EXPECT_EQ(first["payload_bytes"], kUnit);
  EXPECT_EQ(first["formula"], "b*s*h*w/c");
  double sum = 0;
  for (const Json& transfer : stage["transfers"]) {
    sum += transfer["sent_per_step_bytes"].get<double>();
  }
  EXPECT_DOUBLE_EQ(stage["sent_bytes"].get<double>(), sum);
}

TEST(VolumeJson, OrdersAreWritten) {
  const Json orders =
      published_orders_record().write(published_orders(small_model(), small_job(), tensor(4)));
  EXPECT_EQ(orders["data_parallel_elements"], 64.0 * 64.0 * 8.0);
}

}  // namespace
}  // namespace meshwright
