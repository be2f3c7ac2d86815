// SPDX-License-Identifier: Apache-2.0
#include "planner/search/pareto.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace meshwright::planner {
namespace {

constexpr double kTwinTime = 0.001;
constexpr double kTwinMemory = 0.01;

}  // namespace

bool better(const Candidate& a, const Candidate& b) {
  if (a.step_time != b.step_time) return a.step_time < b.step_time;
  return a.peak_memory < b.peak_memory;
}

bool dominates(const Candidate& a, const Candidate& b) {
  return a.step_time <= b.step_time && a.peak_memory <= b.peak_memory && better(a, b);
}

bool near_duplicates(const Candidate& a, const Candidate& b) {
  const auto apart = [](double x, double y) { return std::abs(x - y) / std::max(x, y); };
  return apart(a.step_time.value(), b.step_time.value()) < kTwinTime &&
         apart(a.peak_memory.value(), b.peak_memory.value()) < kTwinMemory;
}

void TopList::add(const Candidate& candidate) {
  if (!admits(candidate)) return;
  items_.insert(candidate);
  if (items_.size() > limit_) items_.erase(std::prev(items_.end()));
}

void ParetoFront::add(const Candidate& candidate) {
  const auto place = std::upper_bound(items_.begin(), items_.end(), candidate, better);
  if (place != items_.begin() && std::prev(place)->peak_memory <= candidate.peak_memory) return;
  auto end = place;
  while (end != items_.end() && end->peak_memory >= candidate.peak_memory) ++end;
  items_.insert(items_.erase(place, end), candidate);
}

bool same_family(const Layout& a, const Layout& b) {
  const auto sizes = [](const Layout& l) {
    return std::array{l.tensor_parallel_size,
                      l.pipeline_parallel_size,
                      l.virtual_pipeline_parallel_size,
                      l.data_parallel_size,
                      l.context_parallel_size,
                      l.expert_parallel_size,
                      l.micro_batch_size,
                      static_cast<int>(l.schedule),
                      l.num_layers_in_first_pipeline_stage,
                      l.num_layers_in_last_pipeline_stage,
                      l.account_for_embedding_in_pipeline_split ? 1 : 0,
                      l.account_for_loss_in_pipeline_split ? 1 : 0};
  };
  return sizes(a) == sizes(b) && a.rank_order == b.rank_order &&
         a.pipeline_layout == b.pipeline_layout;
}

std::vector<Candidate> front_without_near_duplicates(const std::vector<Candidate>& front) {
  std::vector<Candidate> kept;
  for (const Candidate& candidate : front) {
    const bool duplicate = std::any_of(kept.begin(), kept.end(), [&](const Candidate& other) {
      return near_duplicates(other, candidate) && same_family(other.layout, candidate.layout);
    });
    if (!duplicate) kept.push_back(candidate);
  }
  return kept;
}

std::vector<Candidate> without_near_duplicates(std::vector<Candidate>& layouts, std::size_t limit) {
  std::stable_sort(layouts.begin(), layouts.end(), better);
  std::vector<Candidate> kept;
  for (const Candidate& candidate : layouts) {
    if (kept.size() == limit) break;
    const bool duplicate = std::any_of(kept.begin(), kept.end(), [&](const Candidate& other) {
      return near_duplicates(other, candidate);
    });
    if (!duplicate) kept.push_back(candidate);
  }
  return kept;
}

}  // namespace meshwright::planner
