// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/ranks/rank_groups.h"

#include <algorithm>
#include <utility>

#include "sim/schedule/traits.h"

namespace meshwright::calibrate {
namespace {

// A color that ranks share exactly when they share these two coordinates.
int color(int a, int size_a, int b) { return b * size_a + a; }

// Group of this kind that contains the rank, and the rank's place in it.
struct Member {
  int group = 0, place = 0, groups = 1;
};
Member member_of(Group group, const Layout& layout, int rank) {
  Member member;
  const auto groups = group_ranks(group, layout);
  member.groups = static_cast<int>(groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto found = std::find(groups[g].begin(), groups[g].end(), rank);
    if (found == groups[g].end()) continue;
    member.group = static_cast<int>(g);
    member.place = static_cast<int>(found - groups[g].begin());
  }
  return member;
}

std::unique_ptr<Communicator> split_group(Group group, const Layout& layout, Communicator& ranks) {
  const Member member = member_of(group, layout, ranks.rank());
  return ranks.split(member.group, member.place);
}

// Neighbours in the group are a shard group; every shard-th rank holds a copy of the same shard.
std::unique_ptr<Communicator> shards_of(Group group, int shard, const Layout& layout,
                                        Communicator& ranks) {
  const Member member = member_of(group, layout, ranks.rank());
  return ranks.split(color(member.group, member.groups, member.place / shard), member.place);
}
std::unique_ptr<Communicator> copies_of(Group group, int shard, const Layout& layout,
                                        Communicator& ranks) {
  const Member member = member_of(group, layout, ranks.rank());
  return ranks.split(color(member.group, member.groups, member.place % shard), member.place);
}

// Groups the ranks that have the same place in their stages; only stages with the same `number` are
// joined.
std::unique_ptr<Communicator> stages_of(const Layout& layout, Coordinates at, Communicator& ranks,
                                        int number) {
  const int place = color(at.tensor, layout.tensor_parallel_size,
                          color(at.context, layout.context_parallel_size, at.data));
  const int pipelines =
      layout.tensor_parallel_size * layout.context_parallel_size * layout.data_parallel_size;
  return ranks.split(place + number * pipelines, at.pipeline);
}
std::unique_ptr<Communicator> all_stages(const Layout& layout, Coordinates at,
                                         Communicator& ranks) {
  return stages_of(layout, at, ranks, 0);
}
// The first stage and the one that uses the embedding, too: with the head, or with multi-token
// prediction where a list has that elsewhere.
std::unique_ptr<Communicator> embedding_stages(const Layout& layout, Coordinates at,
                                               Communicator& ranks) {
  int other = layout.pipeline_parallel_size - 1;
  for (std::size_t i = 0; i < layout.pipeline_layout.chunks().size(); ++i) {
    if (layout.pipeline_layout.chunks()[i].mtp_num_layers == 0) continue;
    other = static_cast<int>(i) % layout.pipeline_parallel_size;
  }
  return stages_of(layout, at, ranks, at.pipeline == other ? 0 : at.pipeline);
}
std::unique_ptr<Communicator> mirrored_stages(const Layout& layout, Coordinates at,
                                              Communicator& ranks) {
  const int mirror = layout.pipeline_parallel_size - 1 - at.pipeline;
  const bool mirrored = traits(layout.schedule).mirrored();
  return stages_of(layout, at, ranks, mirrored ? std::min(mirror, at.pipeline) : at.pipeline);
}

}  // namespace

RankGroups::RankGroups(const Layout& layout, Communicator& ranks, Recorder& recorder,
                       const MessageEdge& edge)
    : at(coordinates(layout, ranks.rank())),
      tensor(split_group(Group::tensor, layout, ranks), Group::tensor, recorder, edge),
      context(split_group(Group::context, layout, ranks), Group::context, recorder, edge),
      data(split_group(Group::data, layout, ranks), Group::data, recorder, edge),
      pipeline(all_stages(layout, at, ranks), Group::pipeline, recorder, edge),
      embedding(embedding_stages(layout, at, ranks), Group::embedding, recorder, edge),
      mirrored(mirrored_stages(layout, at, ranks), Group::pipeline, recorder, edge),
      expert(split_group(Group::expert, layout, ranks), Group::expert, recorder, edge),
      expert_tensor(split_group(Group::expert_tensor, layout, ranks), Group::expert_tensor,
                    recorder, edge),
      expert_data(split_group(Group::expert_data, layout, ranks), Group::expert_data, recorder,
                  edge),
      data_shard(shards_of(Group::data, zero_shard_group_size(layout), layout, ranks), Group::data,
                 recorder, edge),
      data_copies(copies_of(Group::data, zero_shard_group_size(layout), layout, ranks), Group::data,
                  recorder, edge),
      expert_data_shard(
          shards_of(Group::expert_data, expert_shard_group_size(layout), layout, ranks),
          Group::expert_data, recorder, edge),
      expert_data_copies(
          copies_of(Group::expert_data, expert_shard_group_size(layout), layout, ranks),
          Group::expert_data, recorder, edge) {
  if (!ranks.sends_alone()) return;
  gradients_.emplace(all_stages(layout, at, ranks), Group::pipeline, recorder, edge);
}

}  // namespace meshwright::calibrate
