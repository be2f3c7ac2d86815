// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/imported/imported.h"

namespace meshwright::calibrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kStart[] =
    "nvbandwidth Version: v0.6\nBuilt from Git version: v0.6\n\nCUDA Runtime Version: 12040\n\n"
    "Device 0: NVIDIA H100 80GB HBM3 (00000000:18:00)\nDevice 1: NVIDIA H100 80GB HBM3 "
    "(00000000:2a:00)\n\n";

double rate_of(const MeasuredPoint& point) { return (point.amount / point.time()).value() / 1e9; }

TEST(Nvbandwidth, CopiesToAndFromTheHostAndBetweenDevices) {
  const Imported result = imported(
      std::string(kStart) +
          "Running host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n"
          "           0         1\n 0     55.00     55.50\n\nSUM host_to_device_memcpy_ce "
          "110.50\n\n"
          "Running device_to_host_memcpy_ce.\nmemcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)\n"
          "           0         1\n 0     50.00     50.00\n\nSUM device_to_host_memcpy_ce "
          "100.00\n\n"
          "Running device_to_device_memcpy_write_ce.\nmemcpy CE GPU(row) <- GPU(column) bandwidth "
          "(GB/s)\n           0         1\n 0       N/A    390.00\n 1    390.00       N/A\n\nSUM "
          "device_to_device_memcpy_write_ce 780.00\n\nRunning device_local_copy.\nmemcpy local "
          "GPU(column) "
          "bandwidth (GB/s)\n           0         1\n 0   1300.00   1300.00\n",
      "nvb.txt");
  EXPECT_EQ(result.tool, "nvbandwidth");
  EXPECT_THAT(result.devices, ElementsAre("NVIDIA H100 80GB HBM3"));
  ASSERT_EQ(result.points.size(), 3U);
  EXPECT_EQ(result.points[0].as<timed::HostLink>()->direction, HostDirection::to_device);
  EXPECT_EQ(result.points[0].amount, mebibytes(512));
  EXPECT_NEAR(rate_of(result.points[0]), 55.5, 1e-9);
  EXPECT_EQ(result.points[1].as<timed::HostLink>()->direction, HostDirection::to_host);
  EXPECT_NEAR(rate_of(result.points[1]), 50.0, 1e-9);
  const GroupCall& pair = result.points[2].as<timed::CollectiveCall>()->call;
  EXPECT_EQ(pair.collective, Collective::send_recv);
  EXPECT_EQ(pair.tier, Tier::intra_node);
  EXPECT_NEAR(rate_of(result.points[2]), 390.0, 1e-9);
  EXPECT_THAT(result.notes, ElementsAre(HasSubstr("left out: device_local_copy")));
}

// One of four is slow, and stands out; a matrix of two kinds of links is no rate.
TEST(Nvbandwidth, ASlowDeviceIsNamedAndMixedLinksAreNotAveraged) {
  const Imported slow = imported(
      "./nvbandwidth -b 64\nRunning host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) "
      "bandwidth (GB/s)\n          0         1         2         3\n0     55.0     55.0     12.5   "
      "  "
      "55.0\n",
      "nvb.txt");
  ASSERT_EQ(slow.points.size(), 1U);
  EXPECT_EQ(slow.points[0].amount, mebibytes(64));
  EXPECT_THAT(slow.notes.front(), HasSubstr("GPU2 has 12.5 GB/s"));
  const Imported mixed = from_nvbandwidth(
      "Running device_to_device_memcpy_read_ce.\nmemcpy CE GPU(row) -> GPU(column) bandwidth "
      "(GB/s)\n"
      "      0     1     2\n0   N/A   260.0   21.0\n1   260.0   N/A   21.0\n2   21.0   21.0   "
      "N/A\n");
  EXPECT_TRUE(mixed.points.empty());
  EXPECT_THAT(mixed.notes.front(), HasSubstr("several kinds of links"));
}

TEST(Nvbandwidth, JsonIsTheSame) {
  const Imported result = imported(
      R"x({"nvbandwidth": {"GPU Device list": ["0: NVIDIA H100 80GB HBM3 (00000000:18:00)"],
          "testcases": [{"name": "host_to_device_memcpy_ce", "status": "Passed",
            "bandwidth_matrix": [["55.25"]]},
           {"name": "device_to_host_memcpy_ce", "status": "Waived"}]
}
})x",
      "nvb.json");
  ASSERT_EQ(result.points.size(), 1U);
  EXPECT_NEAR(rate_of(result.points[0]), 55.25, 1e-9);
  EXPECT_THAT(result.devices, ElementsAre("NVIDIA H100 80GB HBM3"));
}

}  // namespace
}  // namespace meshwright::calibrate
