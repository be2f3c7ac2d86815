// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/longest_sequence.h"

#include <algorithm>

#include "planner/search/limit_search.h"

namespace meshwright::planner {

LongestSequence longest_sequence(const Scenario& scenario, const SearchOptions& search,
                                 const Limits& limits) {
  constexpr int kLongest = 1 << 24;
  Scenario there = scenario;
  LongestSequence found;
  const auto fits = [&](int tokens) {
    there.job.seq_length = tokens;
    const ScalePoint point =
        scaling(there, search, {.gpus = {there.cluster.num_gpus()}, .limits = limits})
            .points.front();
    if (!point.layout) found.reason = point.reason;
    return point.layout.has_value();
  };
  LimitPair pair;
  int tokens = std::max(1, scenario.job.seq_length / kSequenceStep) * kSequenceStep;
  const bool grows = fits(tokens);
  (grows ? pair.works : pair.failed) = tokens;
  while (pair.works == 0 || pair.failed == 0) {
    tokens = grows ? 2 * tokens : tokens / 2 / kSequenceStep * kSequenceStep;
    if (tokens == 0 || tokens > kLongest) break;
    (fits(tokens) ? pair.works : pair.failed) = tokens;
  }
  if (pair.works > 0 && pair.failed > 0) {
    pair = narrowed(
        pair, [](LimitPair open) { return value_between(open, kSequenceStep); }, fits);
  }
  found.tokens = pair.works;
  found.failed = pair.failed;
  return found;
}

}  // namespace meshwright::planner
