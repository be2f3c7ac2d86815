// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/rank_groups.h"

#include <algorithm>
#include <utility>

namespace meshwright::calibrate {
namespace {

TermKind term_of(Group group) {
  switch (group) {
    case Group::tensor:
      return TermKind::tensor_parallel_communication;
    case Group::pipeline:
      return TermKind::pipeline_communication;
    default:
      return TermKind::data_parallel_communication;
  }
}

// A color that ranks share exactly when they share these two coordinates.
int color(int a, int size_a, int b) { return b * size_a + a; }

std::unique_ptr<Communicator> embedding_ranks(const Layout& layout, Coordinates at,
                                              Communicator& ranks) {
  const int stages = layout.pipeline_parallel_size;
  const bool at_an_end = at.pipeline == 0 || at.pipeline == stages - 1;
  const int pipelines = layout.tensor_parallel_size * layout.data_parallel_size;
  const int own = color(at.tensor, layout.tensor_parallel_size, at.data);
  return ranks.split(own + (at_an_end ? 0 : at.pipeline * pipelines), at.pipeline);
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
  const double charged = recorder_.seconds_of(term_);
  move();
  recorder_.switch_to(before);
  recorder_.count(call, recorder_.seconds_of(term_) - charged);
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

void CountedGroup::send(std::string_view name, Phase phase, const float* data, std::int64_t count,
                        int to) {
  const TermScope scope(recorder_, term_, name);
  ranks_->send(data, count, to);
  recorder_.count(call(name, phase, Collective::send_recv, count), 0.0);  // the receiver times it
}

void CountedGroup::receive(std::string_view name, float* data, std::int64_t count, int from,
                           double transfer_seconds) {
  constexpr auto kWaiting = TermKind::pipeline_bubble;
  const TermKind before = recorder_.switch_to(kWaiting);
  const double charged = recorder_.seconds_of(kWaiting);
  ranks_->receive(data, count, from);
  recorder_.switch_to(before);
  const double elapsed = recorder_.seconds_of(kWaiting) - charged;
  recorder_.move(kWaiting, term_, std::min(elapsed, transfer_seconds), name);
}

void CountedGroup::wait_sends() {
  const TermScope scope(recorder_, term_, "sends waited for");
  ranks_->wait_sends();
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
    const auto end = std::chrono::steady_clock::now();
    best = std::min(best, std::chrono::duration<double>(end - begin).count() / 2.0);
  }
  return best;
}

RankGroups::RankGroups(const Layout& layout, Communicator& ranks, Recorder& recorder)
    : at(coordinates(layout, ranks.rank())),
      tensor(ranks.split(color(at.data, layout.data_parallel_size, at.pipeline), at.tensor),
             Group::tensor, recorder),
      data(ranks.split(color(at.tensor, layout.tensor_parallel_size, at.pipeline), at.data),
           Group::data, recorder),
      pipeline(ranks.split(color(at.tensor, layout.tensor_parallel_size, at.data), at.pipeline),
               Group::pipeline, recorder),
      embedding(embedding_ranks(layout, at, ranks), Group::embedding, recorder) {
  if (!ranks.sends_alone()) return;
  const int column = color(at.tensor, layout.tensor_parallel_size, at.data);
  gradients_.emplace(ranks.split(column, at.pipeline), Group::pipeline, recorder);
}

}  // namespace meshwright::calibrate
