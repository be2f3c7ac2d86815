// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/traffic_matrix.h"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/hardware/placement.h"
#include "sim/schedule/traits.h"
#include "sim/volume/volume.h"

namespace meshwright::planner {
namespace {

// What one rank of a stage sends in a step within a group, by who receives it.
struct SentInGroup {
  double next = 0.0;      // to the next rank of the group
  double others = 0.0;    // to all others, equal parts
  double forward = 0.0;   // to the next stage
  double backward = 0.0;  // to the previous stage
};

SentInGroup sent_in_group(const StageVolume& stage, Group group) {
  SentInGroup sent;
  for (const Transfer& transfer : stage.transfers) {
    if (transfer.group != group) continue;
    const double bytes = transfer.sent_per_step().value();
    if (transfer.collective == Collective::all_to_all) {
      sent.others += bytes;
    } else if (group != Group::pipeline) {
      sent.next += bytes;
    } else if (transfer.phase == Phase::backward) {
      sent.backward += bytes;
    } else {
      sent.forward += bytes;
    }
  }
  return sent;
}

class TrafficSums {
 public:
  explicit TrafficSums(const Estimate& estimate)
      : estimate_(estimate), ranks_(world_size(estimate.layout)) {
    matrix_.ranks_per_group = (ranks_ + kMostTrafficGroups - 1) / kMostTrafficGroups;
    matrix_.groups = (ranks_ + matrix_.ranks_per_group - 1) / matrix_.ranks_per_group;
  }

  void add_group(Group group) {
    std::vector<SentInGroup> of_stage;
    for (const StageVolume& stage : estimate_.volume.stages) {
      of_stage.push_back(sent_in_group(stage, group));
    }
    if (group == Group::pipeline) return add_stages(of_stage);
    for (const std::vector<int>& ranks : group_ranks(group, estimate_.layout)) {
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        const SentInGroup& sent = of_stage[stage_of(ranks[i])];
        add(ranks[i], ranks[(i + 1) % ranks.size()], sent.next);
        if (sent.others > 0.0) add_to_others(ranks, i, sent.others);
      }
    }
  }

  TrafficMatrix matrix() {
    for (const auto& [place, bytes] : sums_) {
      matrix_.cells.push_back({place.first, place.second, Bytes(bytes)});
    }
    return std::move(matrix_);
  }

 private:
  [[nodiscard]] std::size_t stage_of(int rank) const {
    return static_cast<std::size_t>(coordinates(estimate_.layout, rank).pipeline);
  }

  void add(int from, int to, double bytes) {
    if (bytes <= 0.0 || from == to) return;
    sums_[{from / matrix_.ranks_per_group, to / matrix_.ranks_per_group}] += bytes;
  }

  void add_to_others(const std::vector<int>& ranks, std::size_t from, double bytes) {
    const double each = bytes / static_cast<double>(ranks.size() - 1);
    for (std::size_t to = 0; to < ranks.size(); ++to) {
      if (to != from) add(ranks[from], ranks[to], each);
    }
  }

  // Ranks of neighbouring stages are this far apart.
  [[nodiscard]] int stride_of_stages() const {
    int stride = 1;
    for (const Axis axis : estimate_.layout.rank_order) {
      if (axis == Axis::pipeline) break;
      stride *= axis_size(estimate_.layout, axis);
    }
    return stride;
  }

  void add_stages(const std::vector<SentInGroup>& of_stage) {
    const int stages = estimate_.layout.pipeline_parallel_size, stride = stride_of_stages();
    const ScheduleTraits& schedule = traits(estimate_.layout.schedule);
    const bool both_ways = schedule.folded() || schedule.mirrored();
    for (int rank = 0; rank < ranks_; ++rank) {
      const int stage = static_cast<int>(stage_of(rank));
      const SentInGroup& sent = of_stage[static_cast<std::size_t>(stage)];
      const auto at = [&](int other) { return rank + (other - stage) * stride; };
      if (!both_ways) {
        add(rank, at((stage + 1) % stages), sent.forward);
        add(rank, at((stage + stages - 1) % stages), sent.backward);
        continue;
      }
      const int neighbours = (stage > 0 ? 1 : 0) + (stage < stages - 1 ? 1 : 0);
      const double each = (sent.forward + sent.backward) / std::max(1, neighbours);
      if (stage > 0) add(rank, at(stage - 1), each);
      if (stage < stages - 1) add(rank, at(stage + 1), each);
    }
  }

  const Estimate& estimate_;
  int ranks_ = 1;
  TrafficMatrix matrix_;
  std::map<std::pair<int, int>, double> sums_;
};

}  // namespace

Bytes TrafficMatrix::sent() const {
  Bytes sum;
  for (const TrafficCell& cell : cells) sum += cell.sent;
  return sum;
}

TrafficMatrix traffic_matrix(const Estimate& estimate) {
  TrafficSums sums(estimate);
  for (const auto& [group, name] : kGroupNames) sums.add_group(group);
  return sums.matrix();
}

}  // namespace meshwright::planner
