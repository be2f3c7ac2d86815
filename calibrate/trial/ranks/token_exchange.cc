// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/ranks/token_exchange.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace meshwright::calibrate {
namespace {

using Counts = std::vector<std::int64_t>;

bool all_alike(const Counts& counts) {
  return std::adjacent_find(counts.begin(), counts.end(), std::not_equal_to<>()) == counts.end();
}

Counts times(Counts counts, std::int64_t factor) {
  for (std::int64_t& count : counts) count *= factor;
  return counts;
}

// A list of every rank of the group; this rank's own again where all are the same.
std::vector<Counts> lists_of(CountedGroup& group, const Counts& own, bool fixed) {
  const auto ranks = static_cast<std::size_t>(group.size());
  if (fixed || ranks == 1) return std::vector<Counts>(ranks, own);
  Counts all(own.size() * ranks);
  group.host_gather(own.data(), all.data(), own.size() * sizeof(std::int64_t));
  std::vector<Counts> lists;
  for (auto at = all.begin(); at != all.end(); at += static_cast<std::ptrdiff_t>(own.size())) {
    lists.emplace_back(at, at + static_cast<std::ptrdiff_t>(own.size()));
  }
  return lists;
}

// Entries of one expert rank in a list of all experts.
Counts part_of(const Counts& list, std::size_t rank, std::size_t ranks) {
  const auto size = static_cast<std::ptrdiff_t>(list.size() / ranks);
  const auto begin = list.begin() + static_cast<std::ptrdiff_t>(rank) * size;
  return {begin, begin + size};
}

// Blocks of rows from the order by source to that by expert, or back.
Tensor reordered(const TrialContext& context, const ExchangePlan& plan, Tensor rows,
                 std::int64_t cols, bool by_expert) {
  if (plan.of_sources.size() == 1 || plan.of_expert.size() == 1) return rows;
  Tensor to = context.tensor(rows.count());
  Counts next_of_expert(plan.of_expert.size());
  std::exclusive_scan(plan.of_expert.begin(), plan.of_expert.end(), next_of_expert.begin(),
                      std::int64_t{0});
  std::int64_t of_source = 0;
  for (const Counts& source : plan.of_sources) {
    for (std::size_t e = 0; e < source.size(); ++e) {
      const float* from = rows.data() + (by_expert ? of_source : next_of_expert[e]) * cols;
      float* into = to.data() + (by_expert ? next_of_expert[e] : of_source) * cols;
      context.compute.copy(into, from, static_cast<std::size_t>(source[e] * cols) * sizeof(float));
      of_source += source[e];
      next_of_expert[e] += source[e];
    }
  }
  return to;
}

// Pieces of unlike sizes go to each rank by itself, and are counted as the gather of alike ones.
Tensor shared(const TrialContext& context, const ExchangePlan& plan, Tensor own, std::int64_t cols,
              std::string_view name, Phase phase) {
  CountedGroup& group = context.groups.expert_tensor;
  if (group.size() == 1) return own;
  Tensor all = context.tensor(sum(plan.gathered) * cols);
  if (plan.gathers_alike) {
    group.all_gather(name, phase, own.data(), all.data(), own.count());
    return all;
  }
  const Counts to_each(static_cast<std::size_t>(group.size()), own.count());
  const Tensor repeated = context.tensor(own.count() * group.size());
  for (int r = 0; r < group.size(); ++r) {
    context.compute.copy(repeated.data() + r * own.count(), own.data(), own.size());
  }
  group.all_to_all_v({name, phase, Collective::all_gather, plan.copies * group.size() * cols},
                     repeated.data(), to_each, all.data(), times(plan.gathered, cols));
  return all;
}

Tensor summed(const TrialContext& context, const ExchangePlan& plan, Tensor all, std::int64_t cols,
              std::string_view name, Phase phase) {
  CountedGroup& group = context.groups.expert_tensor;
  if (group.size() == 1) return all;
  const std::int64_t count = plan.gathered[static_cast<std::size_t>(group.rank())] * cols;
  Tensor own = context.tensor(count);
  if (plan.gathers_alike) {
    group.reduce_scatter(name, phase, all.data(), own.data(), count);
    return own;
  }
  const Counts from_each(static_cast<std::size_t>(group.size()), count);
  const Tensor pieces = context.tensor(count * group.size());
  group.all_to_all_v({name, phase, Collective::reduce_scatter, plan.copies * group.size() * cols},
                     all.data(), times(plan.gathered, cols), pieces.data(), from_each);
  context.compute.copy(own.data(), pieces.data(), own.size());
  for (int r = 1; r < group.size(); ++r) {
    context.compute.add(own.data(), pieces.data() + r * count, own.data(), count);
  }
  return own;
}

// Between the expert ranks; counted as what the rank's own tokens are, whichever way they go.
Tensor exchanged(const TrialContext& context, const ExchangePlan& plan, Tensor rows,
                 std::int64_t cols, std::string_view name, Phase phase, bool there) {
  CountedGroup& group = context.groups.expert;
  if (group.size() == 1) return rows;
  const Counts& sent = there ? plan.sent : plan.received;
  const Counts& received = there ? plan.received : plan.sent;
  Tensor arrived = context.tensor(sum(received) * cols);
  if (plan.sends_alike) {
    group.all_to_all(name, phase, rows.data(), arrived.data(), sent.front() * cols);
  } else {
    group.all_to_all_v({name, phase, Collective::all_to_all, plan.copies * cols}, rows.data(),
                       times(sent, cols), arrived.data(), times(received, cols));
  }
  return arrived;
}

}  // namespace

std::int64_t ExchangePlan::rows() const { return sum(of_expert); }

ExchangePlan exchange_plan(const TrialContext& context, const Counts& copies_of_expert,
                           bool fixed) {
  CountedGroup& experts = context.groups.expert;
  CountedGroup& pieces = context.groups.expert_tensor;
  const auto ranks = static_cast<std::size_t>(experts.size());
  const auto here = static_cast<std::size_t>(experts.rank());
  ExchangePlan plan;
  plan.copies = sum(copies_of_expert);
  Counts blocks, all_sent;  // by expert rank and local expert; between any two expert ranks
  for (const Counts& list : lists_of(experts, copies_of_expert, fixed)) {
    for (std::size_t r = 0; r < ranks; ++r) all_sent.push_back(sum(part_of(list, r, ranks)));
    const Counts to_here = part_of(list, here, ranks);
    plan.received.push_back(sum(to_here));
    blocks.insert(blocks.end(), to_here.begin(), to_here.end());
  }
  plan.sends_alike = all_alike(all_sent);
  for (std::size_t r = 0; r < ranks; ++r) {
    plan.sent.push_back(sum(part_of(copies_of_expert, r, ranks)));
  }
  plan.of_expert.resize(copies_of_expert.size() / ranks);
  for (const Counts& list : lists_of(pieces, blocks, fixed)) {
    plan.gathered.push_back(sum(list));
    for (std::size_t s = 0; s < ranks; ++s) plan.of_sources.push_back(part_of(list, s, ranks));
  }
  plan.gathers_alike = all_alike(plan.gathered) && plan.gathered.front() == plan.copies;
  for (const Counts& source : plan.of_sources) {
    for (std::size_t e = 0; e < source.size(); ++e) plan.of_expert[e] += source[e];
  }
  return plan;
}

Tensor to_experts(const TrialContext& context, const ExchangePlan& plan, Tensor rows,
                  std::int64_t cols, ExchangeNames names, Phase phase) {
  Tensor arrived = exchanged(context, plan, std::move(rows), cols, names.exchange, phase, true);
  arrived = shared(context, plan, std::move(arrived), cols, names.share, phase);
  return reordered(context, plan, std::move(arrived), cols, true);
}

Tensor from_experts(const TrialContext& context, const ExchangePlan& plan, Tensor rows,
                    std::int64_t cols, ExchangeNames names, Phase phase) {
  Tensor back = reordered(context, plan, std::move(rows), cols, false);
  back = summed(context, plan, std::move(back), cols, names.share, phase);
  return exchanged(context, plan, std::move(back), cols, names.exchange, phase, false);
}

}  // namespace meshwright::calibrate
