// SPDX-License-Identifier: Apache-2.0
#include "app/commands/plan_size.h"

#include <fmt/format.h>

#include "app/console/progress.h"
#include "planner/questions/longest_sequence.h"
#include "reports/text/text.h"
#include "sim/hardware/device_noun.h"

namespace meshwright::app {
namespace {

// With several GPU counts: all are compared, and the plan is of the one that is best.
planner::Scaling compare_counts(const std::vector<int>& counts, Inputs& inputs,
                                const planner::SearchOptions& search,
                                const planner::AnswerOptions& asked) {
  planner::Scaling scaling;
  if (counts.empty()) return scaling;
  int chosen = counts.front();
  if (counts.size() > 1) {
    const Progress progress("searching each GPU count");
    scaling = planner::scaling(inputs, search, {counts, asked.objective, asked.limits});
    if (scaling.best) chosen = scaling.points[*scaling.best].gpus;
  }
  inputs.cluster = scaled_to(inputs.cluster, chosen);
  return scaling;
}

// Plans for the fewest GPUs, and says what limits them.
PlanSize fewest_gpus(Inputs& inputs, const planner::SearchOptions& search,
                     const planner::AnswerOptions& asked) {
  PlanSize size;
  const Progress progress("finding the fewest GPUs");
  size.scaling = planner::least_gpus(inputs, search, {{}, asked.objective, asked.limits});
  const auto& points = size.scaling.points;
  const std::size_t best = size.scaling.best.value_or(points.size());
  std::string answer = "none";
  if (best < points.size()) {
    answer = reports::count_text(points[best].gpus);
    inputs.cluster = scaled_to(inputs.cluster, points[best].gpus);
    std::erase(inputs.defaults, "gpus");
  }
  size.found = fmt::format("Fewest {} on which a layout meets all limits: {}.",
                           device_noun(inputs.cluster, 2), answer);
  if (best == 0) return size;
  const planner::ScalePoint& failed = points[best - 1];
  size.found += fmt::format(" On {}: {}.", reports::count_text(failed.gpus), failed.reason);
  return size;
}

// Plans for the longest sequence, and says what limits it.
PlanSize longest_sequence(Inputs& inputs, const planner::SearchOptions& search,
                          const planner::AnswerOptions& asked) {
  PlanSize size;
  const Progress progress("finding the longest sequence");
  const planner::LongestSequence longest = planner::longest_sequence(inputs, search, asked.limits);
  std::string answer = "none";
  if (longest.tokens > 0) {
    answer = reports::count_text(longest.tokens) + " tokens";
    const int positions = inputs.model.max_position_embeddings;
    if (positions > 0 && longest.tokens > positions) {
      answer += fmt::format(", of a model with {} positions", reports::count_text(positions));
    }
    inputs.job.seq_length = longest.tokens;
    std::erase(inputs.defaults, "seq_length");
  }
  size.found = fmt::format("Longest sequence with which a layout meets all limits: {}.", answer);
  if (longest.failed == 0) return size;
  size.found += fmt::format(" With {}: {}.", reports::count_text(longest.failed), longest.reason);
  return size;
}

}  // namespace

PlanSize settle_size(SoughtSize sought, const std::vector<int>& gpu_counts, Inputs& inputs,
                     const planner::SearchOptions& search, const planner::AnswerOptions& asked) {
  if (sought.fewest_gpus) return fewest_gpus(inputs, search, asked);
  planner::Scaling scaling = compare_counts(gpu_counts, inputs, search, asked);
  if (!sought.longest_sequence) return {.scaling = std::move(scaling)};
  PlanSize size = longest_sequence(inputs, search, asked);
  size.scaling = std::move(scaling);
  return size;
}

}  // namespace meshwright::app
