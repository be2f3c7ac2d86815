// SPDX-License-Identifier: Apache-2.0
#include "planner/pareto.h"

#include <algorithm>
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

bool near_twins(const Candidate& a, const Candidate& b) {
  const auto apart = [](double x, double y) { return std::abs(x - y) / std::max(x, y); };
  return apart(a.step_time.value(), b.step_time.value()) < kTwinTime &&
         apart(a.peak_memory.value(), b.peak_memory.value()) < kTwinMemory;
}

void TopList::add(const Candidate& candidate) {
  const auto place = std::upper_bound(items_.begin(), items_.end(), candidate, better);
  if (place == items_.end() && items_.size() >= limit_) return;
  items_.insert(place, candidate);
  if (items_.size() > limit_) items_.pop_back();
}

void ParetoFront::add(const Candidate& candidate) {
  const auto place = std::upper_bound(items_.begin(), items_.end(), candidate, better);
  if (place != items_.begin() && std::prev(place)->peak_memory <= candidate.peak_memory) return;
  auto end = place;
  while (end != items_.end() && end->peak_memory >= candidate.peak_memory) ++end;
  items_.insert(items_.erase(place, end), candidate);
}

std::vector<Candidate> without_near_twins(std::vector<Candidate>& family) {
  std::stable_sort(family.begin(), family.end(), better);
  std::vector<Candidate> kept;
  for (const Candidate& candidate : family) {
    const bool twin = std::any_of(kept.begin(), kept.end(), [&](const Candidate& other) {
      return near_twins(other, candidate);
    });
    if (!twin) kept.push_back(candidate);
  }
  return kept;
}

}  // namespace meshwright::planner
