// SPDX-License-Identifier: Apache-2.0
#include "sim/collective/custom_all_reduce.h"

#include <gtest/gtest.h>

namespace meshwright {
namespace {

// 400 GB/s; 4 us and 0.5 us a peer; half of the link in one shot; 6 us more and all of it in two.
Cluster cluster() {
  Cluster c;
  c.gpus_per_node = 8;
  c.intra_node.bandwidth = gigabytes_per_second(400);
  c.intra_node.bandwidth_fraction = 1.0;
  c.intra_node.base_latency = microseconds(20);
  c.intra_node.custom_all_reduce = {.latency = microseconds(4),
                                    .peer_latency = microseconds(0.5),
                                    .one_shot_fraction = 0.5,
                                    .two_shot_latency = microseconds(6),
                                    .two_shot_fraction = 1.0,
                                    .max_payload = mebibytes(8),
                                    .relative_spread = 0.2,
                                    .provenance = Provenance::fitted};
  return c;
}
constexpr Placement kFour{4, 4, 1, 2}, kEight{8, 8, 1, 1};

double us(double payload, const Placement& p) {
  return custom_all_reduce_cost(bytes(payload), p, cluster())->time.value() * 1e6;
}

TEST(CustomAllReduce, ASmallMessageTakesOneShot) {
  // 4 ranks, 200 kB: 4 + 3 * 0.5 + 3 * 200e3 / 200e9 = 5.5 + 3 us.
  EXPECT_NEAR(us(200e3, kFour), 8.5, 1e-9);
}

TEST(CustomAllReduce, ALargerMessageTakesTwoShots) {
  // 8 ranks, 4 MB: one shot 7 * 4e6 / 200e9 = 140 us; two: 6 + 1.75 * 4e6 / 400e9 = 23.5 us.
  EXPECT_NEAR(us(4e6, kEight), 4 + 3.5 + 23.5, 1e-9);
}

TEST(CustomAllReduce, MorePayloadAndMorePeersAreNeverFaster) {
  double last = 0.0;
  for (double payload = 64; payload < 8e6; payload *= 1.5) {
    EXPECT_GE(us(payload, kEight), last);
    EXPECT_GE(us(payload, kEight), us(payload, kFour));
    last = us(payload, kEight);
  }
}

TEST(CustomAllReduce, ItIsThereForSmallMessagesInsideANodeOnly) {
  EXPECT_FALSE(custom_all_reduce_cost(mebibytes(9), kEight, cluster()));
  EXPECT_FALSE(custom_all_reduce_cost(kibibytes(8), {16, 8, 2, 1}, cluster()));
  EXPECT_FALSE(custom_all_reduce_cost(kibibytes(8), {1, 1, 1, 1}, cluster()));
  Cluster without = cluster();
  without.intra_node.custom_all_reduce = {};
  EXPECT_FALSE(custom_all_reduce_cost(kibibytes(8), kEight, without));
}

TEST(CustomAllReduce, ServingTakesTheFasterOne) {
  // 200 kB over 4: custom 8.5 us; the library 20 + 1.5 * 200e3 / 400e9.
  const Cost small = serving_all_reduce_cost(bytes(200e3), kFour, cluster());
  EXPECT_NEAR(small.time.value(), 8.5e-6, 1e-15);
  EXPECT_EQ(small.provenance, Provenance::fitted);
  const Cost large = serving_all_reduce_cost(mebibytes(64), kFour, cluster());
  EXPECT_EQ(large.time,
            collective_cost(Collective::all_reduce, mebibytes(64), kFour, cluster()).time);
}

}  // namespace
}  // namespace meshwright
