// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/ranks/group_communicators.h"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/hardware/placement.h"
#include "sim/schedule/traits.h"

namespace meshwright::calibrate {
namespace {

// Where each rank sits: its group among those of a kind, and its place in it.
struct Seat {
  int group = 0, place = 0;
};
using Seats = std::vector<Seat>;  // by rank
using Members = std::vector<std::vector<int>>;

// A number that ranks share exactly when they share these two coordinates.
int color(int a, int size_a, int b) { return b * size_a + a; }

Seats seats_of(Group group, const Layout& layout) {
  Seats seats(static_cast<std::size_t>(world_size(layout)));
  const Members groups = group_ranks(group, layout);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (std::size_t place = 0; place < groups[g].size(); ++place) {
      seats[static_cast<std::size_t>(groups[g][place])] = {static_cast<int>(g),
                                                           static_cast<int>(place)};
    }
  }
  return seats;
}

// Neighbours in a group are a shard group; every shard-th rank holds a copy of the same shard.
Seats shards_of(Seats seats, int shard) {
  const auto groups = static_cast<int>(seats.size());
  for (Seat& seat : seats) seat.group = color(seat.group, groups, seat.place / shard);
  return seats;
}
Seats copies_of(Seats seats, int shard) {
  const auto groups = static_cast<int>(seats.size());
  for (Seat& seat : seats) seat.group = color(seat.group, groups, seat.place % shard);
  return seats;
}

// Groups the ranks that have the same place in their stages; only stages with the same number are
// joined.
template <typename Number>
Seats stages_of(const Layout& layout, const Number& number_of) {
  const int pipelines =
      layout.tensor_parallel_size * layout.context_parallel_size * layout.data_parallel_size;
  Seats seats;
  for (int rank = 0; rank < world_size(layout); ++rank) {
    const Coordinates at = coordinates(layout, rank);
    const int place = color(at.tensor, layout.tensor_parallel_size,
                            color(at.context, layout.context_parallel_size, at.data));
    seats.push_back({place + number_of(at.pipeline) * pipelines, at.pipeline});
  }
  return seats;
}

// The stage that uses the embedding besides the first: with the head, or with multi-token
// prediction where a list has that elsewhere.
int other_embedding_stage(const Layout& layout) {
  int other = layout.pipeline_parallel_size - 1;
  for (std::size_t i = 0; i < layout.pipeline_layout.chunks().size(); ++i) {
    if (layout.pipeline_layout.chunks()[i].mtp_num_layers == 0) continue;
    other = static_cast<int>(i) % layout.pipeline_parallel_size;
  }
  return other;
}

Seats all_stages(const Layout& layout) {
  return stages_of(layout, [](int /*stage*/) { return 0; });
}
Seats embedding_stages(const Layout& layout) {
  const int other = other_embedding_stage(layout);
  return stages_of(layout, [other](int stage) { return stage == other ? 0 : stage; });
}
Seats mirrored_stages(const Layout& layout) {
  const bool mirrored = traits(layout.schedule).mirrored();
  const int last = layout.pipeline_parallel_size - 1;
  return stages_of(layout,
                   [=](int stage) { return mirrored ? std::min(stage, last - stage) : stage; });
}

// The groups of more than one rank, in the order of their first ranks.
Members members(const Seats& seats) {
  std::map<int, std::vector<int>> by_group;
  for (std::size_t rank = 0; rank < seats.size(); ++rank) {
    by_group[seats[rank].group].push_back(static_cast<int>(rank));
  }
  Members groups;
  for (auto& [group, ranks] : by_group) {
    if (ranks.size() == 1) continue;
    std::sort(ranks.begin(), ranks.end(), [&](int a, int b) {
      return seats[static_cast<std::size_t>(a)].place < seats[static_cast<std::size_t>(b)].place;
    });
    groups.push_back(std::move(ranks));
  }
  std::sort(groups.begin(), groups.end());
  return groups;
}

// Every rank sees the same groups in the same order, and so makes the same calls.
class Splitter {
 public:
  Splitter(Communicator& ranks, std::vector<SharedCommunicator>& all) : ranks_(ranks), all_(all) {}

  SharedCommunicator shared(const Seats& seats) {
    const Members groups = members(seats);
    if (groups.empty()) return nullptr;
    const auto [known, is_new] = made_.try_emplace(groups);
    if (is_new) known->second = made(groups);
    return known->second;
  }
  // One of its own, though the ranks may have another.
  SharedCommunicator own(const Seats& seats) {
    const Members groups = members(seats);
    return groups.empty() ? nullptr : made(groups);
  }

 private:
  SharedCommunicator made(const Members& groups) {
    int group = kNoGroup, place = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const auto found = std::find(groups[g].begin(), groups[g].end(), ranks_.rank());
      if (found == groups[g].end()) continue;
      group = static_cast<int>(g);
      place = static_cast<int>(found - groups[g].begin());
    }
    SharedCommunicator communicator = ranks_.split(group, place);
    if (communicator != nullptr) all_.push_back(communicator);
    return communicator;
  }

  Communicator& ranks_;
  std::vector<SharedCommunicator>& all_;
  std::map<Members, SharedCommunicator> made_;
};

}  // namespace

GroupCommunicators::GroupCommunicators(const Layout& layout, Communicator& ranks) {
  Splitter split(ranks, all);
  const auto of = [&](Group group) { return split.shared(seats_of(group, layout)); };
  const Seats of_data = seats_of(Group::data, layout);
  const Seats of_expert_data = seats_of(Group::expert_data, layout);
  const int shard = zero_shard_group_size(layout), expert_shard = expert_shard_group_size(layout);
  tensor = of(Group::tensor);
  context = of(Group::context);
  data = split.shared(of_data);
  pipeline = split.shared(all_stages(layout));
  if (ranks.sends_alone()) pipeline_backward = split.own(all_stages(layout));
  embedding = split.shared(embedding_stages(layout));
  mirrored = split.shared(mirrored_stages(layout));
  expert = of(Group::expert);
  expert_tensor = of(Group::expert_tensor);
  expert_data = split.shared(of_expert_data);
  data_shard = split.shared(shards_of(of_data, shard));
  data_copies = split.shared(copies_of(of_data, shard));
  expert_data_shard = split.shared(shards_of(of_expert_data, expert_shard));
  expert_data_copies = split.shared(copies_of(of_expert_data, expert_shard));
}

void GroupCommunicators::connect(Compute& compute) const {
  void* number = compute.allocate(sizeof(float));
  compute.fill_zero(number, sizeof(float));
  for (const SharedCommunicator& group : all) {
    group->all_reduce(static_cast<float*>(number), 1, Reduction::sum);
  }
  compute.synchronize();
  compute.release(number);
}

}  // namespace meshwright::calibrate
