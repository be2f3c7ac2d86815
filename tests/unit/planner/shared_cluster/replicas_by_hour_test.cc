// SPDX-License-Identifier: Apache-2.0
#include "planner/shared_cluster/replicas_by_hour.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/serving/deployment_choices.h"

namespace meshwright::planner {
namespace {

using testing::ElementsAre;

// 20 requests/s on replicas of 2.4: 8.33, so 9. 4.8 on two of them is two, no third.
TEST(ReplicasByHour, ARateNeedsWholeReplicas) {
  EXPECT_EQ(replicas_for(20.0, 2.4), 9);
  EXPECT_EQ(replicas_for(4.8, 2.4), 2);
  EXPECT_EQ(replicas_for(0.0, 2.4), 0);
  EXPECT_EQ(replicas_for(1.0, 0.0), 0);
  EXPECT_EQ(replicas_for(1e300, 1e-300), kMostReplicas);
}

TEST(ReplicasByHour, AStartTakesFullHours) {
  EXPECT_EQ(lead_hours(0.0), 0);
  EXPECT_EQ(lead_hours(300.0), 1);
  EXPECT_EQ(lead_hours(3600.0), 1);
  EXPECT_EQ(lead_hours(3601.0), 2);
}

TEST(ReplicasByHour, WithoutAStartAndAReleaseTheyFollowTheNeed) {
  EXPECT_THAT(held_replicas({4, 2, 4, 1, 1, 1}, 0, 1), ElementsAre(4, 2, 4, 1, 1, 1));
}

// Hour 5 holds the four that hour 0 of the next period needs; hour 1 those of hour 2.
TEST(ReplicasByHour, AReplicaIsHeldAnHourBeforeItServes) {
  EXPECT_THAT(held_replicas({4, 2, 4, 1, 1, 1}, 1, 1), ElementsAre(4, 4, 4, 1, 1, 4));
}

// The dip of hour 1 is shorter than two hours and is held over; the three hours at 1 are not.
TEST(ReplicasByHour, AShortDipIsHeldOver) {
  EXPECT_THAT(held_replicas({4, 2, 4, 1, 1, 1}, 0, 2), ElementsAre(4, 4, 4, 1, 1, 1));
  EXPECT_THAT(held_replicas({4, 2, 4, 1, 1, 1}, 0, 4), ElementsAre(4, 4, 4, 4, 4, 4));
}

// What is held is never less than what is needed.
TEST(ReplicasByHour, TheNeedIsAlwaysHeld) {
  const std::vector<int> needed{3, 1, 0, 5, 2, 2, 9, 1};
  for (int lead = 0; lead < 10; ++lead) {
    for (int release = 1; release < 10; ++release) {
      const std::vector<int> held = held_replicas(needed, lead, release);
      for (std::size_t h = 0; h < needed.size(); ++h) EXPECT_GE(held[h], needed[h]);
    }
  }
}

// Nine replicas of 4 GPUs: two a host of 8, so 5 hosts. Three of 16: two hosts each. Replicas of 3:
// two a host, and 2 GPUs of it stay unused.
TEST(ReplicasByHour, ReplicasTakeWholeHosts) {
  EXPECT_EQ(hosts_for_replicas(9, 4, 8), 5);
  EXPECT_EQ(hosts_for_replicas(3, 16, 8), 6);
  EXPECT_EQ(hosts_for_replicas(3, 3, 8), 2);
  EXPECT_EQ(hosts_for_replicas(0, 4, 8), 0);
}

}  // namespace
}  // namespace meshwright::planner
