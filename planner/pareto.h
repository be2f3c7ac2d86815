// SPDX-License-Identifier: Apache-2.0
// The best layouts of a search in flat memory: the fastest few, and the Pareto front over step time
// and peak memory. Ties are broken by the order of enumeration, so the result depends on nothing
// else.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/layout/layout.h"
#include "sim/units.h"

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
bool near_twins(const Candidate& a, const Candidate& b);

// The `limit` best, best first. Of equals the one that was added first is kept before the others.
class TopList {
 public:
  explicit TopList(std::size_t limit) : limit_(limit) {}
  void add(const Candidate& candidate);
  [[nodiscard]] const std::vector<Candidate>& items() const { return items_; }

 private:
  std::size_t limit_;
  std::vector<Candidate> items_;
};

// Candidates that no other dominates, fastest first. Of equals the first that was added stays.
class ParetoFront {
 public:
  void add(const Candidate& candidate);
  [[nodiscard]] const std::vector<Candidate>& items() const { return items_; }

 private:
  std::vector<Candidate> items_;  // time rises, memory falls
};

// Of a family whose members differ in switches only: the members without those that are near twins
// of a better one. The family's best always stays. Sorts its argument.
std::vector<Candidate> without_near_twins(std::vector<Candidate>& family);

}  // namespace meshwright::planner
