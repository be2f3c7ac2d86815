// SPDX-License-Identifier: Apache-2.0
#include "sim/model/routing.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>

namespace meshwright {
namespace {

// Distinct places over all ways to choose: `group_topk` of the groups, and `topk` experts in them.
double enumerated(const Routing& r, int places) {
  const int groups = r.groups == 0 ? 1 : r.groups;
  const int open_groups = r.groups == 0 ? 1 : r.group_topk;
  double used = 0.0, ways = 0.0;
  for (unsigned chosen = 0; chosen < 1U << static_cast<unsigned>(groups); ++chosen) {
    if (std::popcount(chosen) != open_groups) continue;
    for (unsigned experts = 0; experts < 1U << static_cast<unsigned>(r.experts); ++experts) {
      if (std::popcount(experts) != r.topk) continue;
      std::set<int> at;
      bool inside = true;
      for (int e = 0; e < r.experts; ++e) {
        if ((experts >> static_cast<unsigned>(e) & 1U) == 0) continue;
        const auto group = static_cast<unsigned>(e * groups / r.experts);
        inside = inside && (chosen >> group & 1U) != 0;
        at.insert(e * places / r.experts);
      }
      if (!inside) continue;
      used += static_cast<double>(at.size());
      ways += 1.0;
    }
  }
  return used / ways;
}

// 2 of 8 experts on 4 places: of 28 pairs 4 share a place: (4 + 24 * 2) / 28.
TEST(Routing, PlacesOfATokenAreThoseOfAllItsChoices) {
  EXPECT_NEAR(places_of_token({8, 2}, 4), 52.0 / 28.0, 1e-12);
  for (const int topk : {1, 2, 3, 5}) {
    for (const int places : {2, 3, 4, 6, 12}) {
      const Routing routing{12, topk};
      EXPECT_NEAR(places_of_token(routing, places), enumerated(routing, places), 1e-12);
    }
  }
}

TEST(Routing, GroupsThatAreChosenByChanceAreEnumeratedToo) {
  for (const int places : {2, 4, 8}) {
    for (const int chosen : {1, 2, 3}) {
      const Routing routing{8, 2, 4, chosen};
      EXPECT_NEAR(places_of_token(routing, places), enumerated(routing, places), 1e-12)
          << places << " places, " << chosen << " groups";
    }
  }
}

TEST(Routing, OnePlaceHoldsAll) { EXPECT_EQ(places_of_token({256, 8, 8, 4}, 1), 1.0); }

// 8 nodes of DeepSeek-V3's 256 experts, 8 a token: 8 (1 - C(224, 8) / C(256, 8)) = 5.29 without a
// limit; 4 (1 - C(96, 8) / C(128, 8)) = 3.63 if groups were chosen by chance; by their scores 3.96.
TEST(Routing, DeepSeekV3UsesNearlyAllFourGroupsThatItChooses) {
  EXPECT_NEAR(places_of_token({256, 8}, 8), 5.29, 0.005);
  EXPECT_NEAR(places_of_token({256, 8, 8, 4}, 8), 3.96, 0.01);
  EXPECT_NEAR(places_of_token({128, 8}, 4), 3.63, 0.005);  // Qwen3-235B on 4 nodes
  EXPECT_NEAR(places_of_token({128, 4}, 8), 3.34, 0.005);  // gpt-oss-120b on 8
}

}  // namespace
}  // namespace meshwright
