// SPDX-License-Identifier: Apache-2.0
#include "sim/collective/group_load.h"

#include <gtest/gtest.h>

#include "tests/unit/sim/hardware/nodes_of_eight.h"

namespace meshwright {
namespace {

double gb(BytesPerSecond rate) { return rate / gigabytes_per_second(1); }

TEST(GroupLoad, EveryAxisIsListedWithItsNarrowestWire) {
  // tp8 dp4 pp2 on 8 nodes: 8 tensor rings, 16 data rings, 32 pairs.
  const Cluster c = nodes_of_eight(8);
  const Layout l{.tensor_parallel_size = 8, .pipeline_parallel_size = 2, .data_parallel_size = 4};
  const auto loads = group_loads(Topology::of(c), l, c);
  ASSERT_EQ(loads.size(), 3U);
  EXPECT_EQ(loads[0].group, Group::tensor);
  EXPECT_EQ(loads[0].num_groups, 8);
  EXPECT_NEAR(gb(loads[0].together), 400.0, 1e-6);
  EXPECT_EQ(loads[0].wires.front().kind, WireKind::node);
  EXPECT_EQ(loads[0].wires.front().wires, 64);
  EXPECT_EQ(loads[1].num_groups, 16);
  EXPECT_NEAR(gb(loads[1].together), 50.0, 1e-6);
  EXPECT_EQ(loads[2].group, Group::pipeline);
  EXPECT_EQ(loads[2].num_groups, 32);
  for (const GroupLoad& load : loads) {
    EXPECT_NEAR(load.closed_form / load.together, 1.0, 1e-6);
    EXPECT_LE(load.together.value(), load.alone.value() * (1 + 1e-12));
    EXPECT_LE(load.with_others.value(), load.together.value() * (1 + 1e-12));
  }
  // Stages send from the first half to the second; data rings use the same NICs: half each.
  EXPECT_NEAR(gb(loads[1].with_others), 25.0, 1e-6);
  EXPECT_NEAR(gb(loads[2].with_others), 25.0, 1e-6);
}

TEST(GroupLoad, OneRankHasNoGroups) {
  EXPECT_TRUE(group_loads(Topology::of(nodes_of_eight(1)), Layout{}, nodes_of_eight(1)).empty());
}

}  // namespace
}  // namespace meshwright
