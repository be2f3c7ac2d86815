// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/ranks/group_communicators.h"

#include <gtest/gtest.h>

#include "sim/json/records.h"
#include "tests/unit/calibrate/alone.h"

namespace meshwright::calibrate {
namespace {

// One of several ranks, which counts what is split off.
class OneOfSeveral : public Alone {
 public:
  explicit OneOfSeveral(int rank) : rank_(rank) {}
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] std::unique_ptr<Communicator> split(int color, int key) override {
    ++splits;
    return color == kNoGroup ? nullptr : Alone::split(color, key);
  }
  int splits = 0;

 private:
  int rank_;
};

int splits_of(const char* layout, int rank = 0) {
  OneOfSeveral ranks(rank);
  const GroupCommunicators groups(layout_from_text(layout), ranks);
  return ranks.splits;
}

// The tensor ranks are the expert-tensor ranks, too; the data ranks are those of experts' data and
// of both kinds of shards; the two stages are those with the embedding. The stages have a second
// communicator for gradients.
TEST(GroupCommunicators, GroupsOfTheSameRanksShareOne) {
  EXPECT_EQ(splits_of("tp=2"), 1);
  EXPECT_EQ(splits_of("dp=2"), 1);
  EXPECT_EQ(splits_of("pp=2"), 2);
  EXPECT_EQ(splits_of("tp=2,pp=2,dp=2"), 4);
  EXPECT_EQ(splits_of("dp=2,zero=3"), 1);
}

TEST(GroupCommunicators, ARankAloneHasNone) {
  OneOfSeveral ranks(0);
  const GroupCommunicators groups(Layout{}, ranks);
  EXPECT_EQ(ranks.splits, 0);
  EXPECT_EQ(groups.tensor, nullptr);
  EXPECT_EQ(groups.all.size(), 0U);
}

// Four stages: only the first and the last have the embedding. Every rank makes the same calls.
TEST(GroupCommunicators, ARankOutsideAGroupTakesPartInItsSplitAndGetsNothing) {
  for (int rank = 0; rank < 4; ++rank) {
    OneOfSeveral ranks(rank);
    const GroupCommunicators groups(layout_from_text("pp=4"), ranks);
    EXPECT_EQ(ranks.splits, 3) << rank;
    EXPECT_EQ(groups.embedding != nullptr, rank == 0 || rank == 3) << rank;
    EXPECT_NE(groups.pipeline, groups.pipeline_backward);
    EXPECT_EQ(groups.data, nullptr);
  }
}

// Four data ranks in shards of two: {0, 1}, {2, 3} share a copy, {0, 2}, {1, 3} hold the same.
TEST(GroupCommunicators, ShardGroupsAndTheirCopiesAreGroupsOfTheirOwn) {
  Layout layout = layout_from_text("dp=4,zero=1");
  layout.zero_shard_size = 2;
  OneOfSeveral ranks(0);
  const GroupCommunicators groups(layout, ranks);
  EXPECT_EQ(ranks.splits, 3);
  EXPECT_NE(groups.data_shard, groups.data_copies);
  EXPECT_NE(groups.data_shard, groups.data);
  EXPECT_EQ(groups.expert_data_shard, groups.data_shard);
}

}  // namespace
}  // namespace meshwright::calibrate
