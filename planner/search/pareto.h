// SPDX-License-Identifier: Apache-2.0
// The best layouts of a search in flat memory: the fastest few, and the Pareto front over step time
// and peak memory. Ties are broken by the order of enumeration, so the result depends on nothing
// else.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <vector>

#include "sim/base/units.h"
#include "sim/layout/layout.h"

namespace meshwright::planner {

struct Candidate {
  Layout layout;
  Seconds step_time;
  Bytes peak_memory;
};

// Faster, then smaller.
bool better(const Candidate& a, const Candidate& b);
// a makes b needless: no slower, no larger, and better in one.
bool dominates(const Candidate& a, const Candidate& b);
// Nearly the same answer: less than 0.1 % apart in time and less than 1 % in memory.
bool near_duplicates(const Candidate& a, const Candidate& b);

// Keeps the `limit` best. Equal entries stay in the order in which they were added. Adding takes
// the logarithm of their number.
class TopList {
 public:
  explicit TopList(std::size_t limit) : limit_(limit) {}
  void add(const Candidate& candidate);
  // Tells whether add() would keep it.
  [[nodiscard]] bool admits(const Candidate& candidate) const {
    return !full() || better(candidate, *items_.rbegin());
  }
  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] bool full() const { return items_.size() >= limit_; }
  // Where it is full: the time of the last.
  [[nodiscard]] Seconds slowest() const { return items_.rbegin()->step_time; }
  // Best first.
  [[nodiscard]] std::vector<Candidate> items() const { return {items_.begin(), items_.end()}; }
  [[nodiscard]] std::size_t limit() const { return limit_; }

 private:
  std::size_t limit_;
  std::multiset<Candidate, decltype(&better)> items_{&better};
};

// Candidates that no other dominates, fastest first. The first of equal ones stays.
class ParetoFront {
 public:
  void add(const Candidate& candidate);
  // An item is no slower and no larger: add() would not keep what has these numbers.
  [[nodiscard]] bool covers(Seconds step_time, Bytes peak_memory) const {
    const auto slower =
        std::upper_bound(items_.begin(), items_.end(), step_time,
                         [](Seconds time, const Candidate& item) { return time < item.step_time; });
    return slower != items_.begin() && std::prev(slower)->peak_memory <= peak_memory;
  }
  [[nodiscard]] const std::vector<Candidate>& items() const { return items_; }

 private:
  std::vector<Candidate> items_;  // time rises, memory falls
};

// Layouts of one pipeline setting differ in switches only: same sizes, schedule, split and
// micro-batch.
bool same_family(const Layout& a, const Layout& b);

// Keeps the `limit` best layouts of a pipeline setting that are no near-duplicates of a better one.
// The best one always stays. Sorts its argument.
std::vector<Candidate> without_near_duplicates(std::vector<Candidate>& layouts,
                                               std::size_t limit = SIZE_MAX);
// Keeps the fastest of near-duplicates in one pipeline setting.
std::vector<Candidate> front_without_near_duplicates(const std::vector<Candidate>& front);

}  // namespace meshwright::planner
