// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/rank_groups.h"

#include <algorithm>
#include <utility>

#include "sim/schedule/traits.h"

namespace meshwright::calibrate {
namespace {

TermKind term_of(Group group) {
  switch (group) {
    case Group::tensor:
      return TermKind::tensor_parallel_communication;
    case Group::pipeline:
      return TermKind::pipeline_communication;
    case Group::context:
      return TermKind::context_parallel_communication;
    case Group::expert:
    case Group::expert_tensor:
      return TermKind::expert_parallel_communication;
    default:
      return TermKind::data_parallel_communication;
  }
}

// A color that ranks share exactly when they share these two coordinates.
int color(int a, int size_a, int b) { return b * size_a + a; }

// Which of the groups of this kind the rank is in, and where in it.
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

std::unique_ptr<Communicator> group_of(Group group, const Layout& layout, Communicator& ranks) {
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

// Of the ranks with the same place in their stages, those whose stages have the same number here.
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
std::unique_ptr<Communicator> end_stages(const Layout& layout, Coordinates at,
                                         Communicator& ranks) {
  const bool last = at.pipeline == layout.pipeline_parallel_size - 1;
  return stages_of(layout, at, ranks, last ? 0 : at.pipeline);
}
std::unique_ptr<Communicator> mirrored_stages(const Layout& layout, Coordinates at,
                                              Communicator& ranks) {
  const int mirror = layout.pipeline_parallel_size - 1 - at.pipeline;
  const bool mirrored = traits(layout.schedule).mirrored();
  return stages_of(layout, at, ranks, mirrored ? std::min(mirror, at.pipeline) : at.pipeline);
}

}  // namespace

CountedGroup::CountedGroup(std::unique_ptr<Communicator> ranks, Group group, Recorder& recorder)
    : ranks_(std::move(ranks)), group_(group), term_(term_of(group)), recorder_(recorder) {}

Transfer CountedGroup::call(std::string_view name, Phase phase, Collective collective,
                            std::int64_t count) const {
  Transfer t;
  t.name = name;
  t.group = group_;
  t.collective = collective;
  t.phase = phase;
  t.group_size = group_ == Group::pipeline ? 2 : size();
  t.payload = bytes(4.0 * static_cast<double>(count));
  return t;
}

template <typename Move>
void CountedGroup::run(const Transfer& call, const Move& move) {
  const TermKind before = recorder_.switch_to(term_, call.name);
  move();
  recorder_.switch_to(before);
  recorder_.count_last(call);
}

void CountedGroup::all_reduce(std::string_view name, Phase phase, float* data, std::int64_t count,
                              Reduction op) {
  if (size() == 1) return;
  run(call(name, phase, Collective::all_reduce, count),
      [&] { ranks_->all_reduce(data, count, op); });
}

void CountedGroup::all_gather(std::string_view name, Phase phase, const float* in, float* out,
                              std::int64_t count_per_rank) {
  run(call(name, phase, Collective::all_gather, count_per_rank * size()),
      [&] { ranks_->all_gather(in, out, count_per_rank); });
}

void CountedGroup::reduce_scatter(std::string_view name, Phase phase, const float* in, float* out,
                                  std::int64_t count_per_rank) {
  run(call(name, phase, Collective::reduce_scatter, count_per_rank * size()),
      [&] { ranks_->reduce_scatter(in, out, count_per_rank); });
}

void CountedGroup::all_to_all(std::string_view name, Phase phase, const float* in, float* out,
                              std::int64_t count_per_rank) {
  run(call(name, phase, Collective::all_to_all, count_per_rank * size()),
      [&] { ranks_->all_to_all(in, out, count_per_rank); });
}

void CountedGroup::all_to_all_v(const CountedCall& as, const float* in,
                                const std::vector<std::int64_t>& sent, float* out,
                                const std::vector<std::int64_t>& received) {
  run(call(as.name, as.phase, as.collective, as.count),
      [&] { ranks_->all_to_all_v(in, sent, out, received); });
}

void CountedGroup::host_gather(const void* in, void* out, std::size_t bytes_per_rank) {
  const TermScope scope(recorder_, term_, "counts of tokens");
  ranks_->host_gather(in, out, bytes_per_rank);
}

void CountedGroup::send(std::string_view name, Phase phase, const float* data, std::int64_t count,
                        int to) {
  const TermScope scope(recorder_, term_, name);
  ranks_->send(data, count, to);
  recorder_.count(call(name, phase, Collective::send_recv, count));  // the receiver times it
}

void CountedGroup::receive(std::string_view name, float* data, std::int64_t count, int from,
                           double transfer_seconds) {
  constexpr auto kWaiting = TermKind::pipeline_bubble;
  const TermKind before = recorder_.switch_to(kWaiting);
  ranks_->receive(data, count, from);
  recorder_.switch_to(before);
  recorder_.move_last(term_, transfer_seconds, name);
}

void CountedGroup::exchange(const std::vector<CountedMessage>& messages, double transfer_seconds) {
  std::vector<Message> all;
  for (const CountedMessage& m : messages) {
    all.push_back(m.message);
    if (m.message.to_here != nullptr) continue;
    recorder_.count(call(m.name, m.phase, Collective::send_recv, m.message.count));
  }
  constexpr auto kWaiting = TermKind::pipeline_bubble;
  const TermKind before = recorder_.switch_to(kWaiting);
  ranks_->exchange(all);
  recorder_.switch_to(before);
  recorder_.move_last(term_, transfer_seconds, "messages between stages");
}

void CountedGroup::wait_sends() {
  const TermScope scope(recorder_, term_, "sends waited for");
  ranks_->wait_sends();
}

void CountedGroup::send_and_receive(std::string_view name, Phase phase, const float* send, int to,
                                    float* receive, int from, std::int64_t count) {
  run(call(name, phase, Collective::send_recv, count), [&] {
    ranks_->send(send, count, to);
    ranks_->receive(receive, count, from);
    ranks_->wait_sends();
  });
}

double CountedGroup::measure_transfer(float* buffer, std::int64_t count, int with) {
  constexpr int kTries = 5;  // the first ones open the connection
  double best = 1e9;
  for (int i = 0; i < kTries; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    for (const bool my_turn : {rank() < with, rank() > with}) {
      if (my_turn) {
        ranks_->send(buffer, count, with);
        ranks_->wait_sends();
      } else {
        ranks_->receive(buffer, count, with);
      }
    }
    recorder_.wait_for_device();
    const auto end = std::chrono::steady_clock::now();
    best = std::min(best, std::chrono::duration<double>(end - begin).count() / 2.0);
  }
  return best;
}

RankGroups::RankGroups(const Layout& layout, Communicator& ranks, Recorder& recorder)
    : at(coordinates(layout, ranks.rank())),
      tensor(group_of(Group::tensor, layout, ranks), Group::tensor, recorder),
      context(group_of(Group::context, layout, ranks), Group::context, recorder),
      data(group_of(Group::data, layout, ranks), Group::data, recorder),
      pipeline(all_stages(layout, at, ranks), Group::pipeline, recorder),
      embedding(end_stages(layout, at, ranks), Group::embedding, recorder),
      mirrored(mirrored_stages(layout, at, ranks), Group::pipeline, recorder),
      expert(group_of(Group::expert, layout, ranks), Group::expert, recorder),
      expert_tensor(group_of(Group::expert_tensor, layout, ranks), Group::expert_tensor, recorder),
      expert_data(group_of(Group::expert_data, layout, ranks), Group::expert_data, recorder),
      data_shard(shards_of(Group::data, zero_shard_group_size(layout), layout, ranks), Group::data,
                 recorder),
      data_copies(copies_of(Group::data, zero_shard_group_size(layout), layout, ranks), Group::data,
                  recorder),
      expert_data_shard(
          shards_of(Group::expert_data, expert_shard_group_size(layout), layout, ranks),
          Group::expert_data, recorder),
      expert_data_copies(
          copies_of(Group::expert_data, expert_shard_group_size(layout), layout, ranks),
          Group::expert_data, recorder) {
  if (!ranks.sends_alone()) return;
  gradients_.emplace(all_stages(layout, at, ranks), Group::pipeline, recorder);
}

}  // namespace meshwright::calibrate
