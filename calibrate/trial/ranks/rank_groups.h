// SPDX-License-Identifier: Apache-2.0
// The groups that one rank belongs to under a layout, each counting and timing its own traffic.
#pragma once

#include <optional>

#include "calibrate/trial/ranks/counted_group.h"
#include "calibrate/trial/ranks/group_communicators.h"
#include "sim/hardware/placement.h"
#include "sim/layout/layout.h"

namespace meshwright::calibrate {

struct RankGroups {
  RankGroups(const Layout& layout, int rank, const GroupCommunicators& made, Recorder& recorder,
             const MessageEdge& edge);
  // Makes the communicators. Collective over `ranks`.
  RankGroups(const Layout& layout, Communicator& ranks, Recorder& recorder,
             const MessageEdge& edge);

  Coordinates at;
  CountedGroup tensor;
  CountedGroup context;
  CountedGroup data;       // with the context ranks
  CountedGroup pipeline;   // rank in it: the stage
  CountedGroup embedding;  // the two stages with the embedding's matrix; others alone in theirs
  CountedGroup mirrored;   // the two stages with the same layers; else each alone
  CountedGroup expert;     // rank in it: which of the experts
  CountedGroup expert_tensor;
  CountedGroup expert_data;
  // Data ranks that share one copy of the sharded states, and those that hold the same shard.
  CountedGroup data_shard, data_copies;
  CountedGroup expert_data_shard, expert_data_copies;

  // The stages as gradients pass them (GroupCommunicators::pipeline_backward).
  [[nodiscard]] CountedGroup& pipeline_backward() { return gradients_ ? *gradients_ : pipeline; }

 private:
  std::optional<CountedGroup> gradients_;
};

}  // namespace meshwright::calibrate
