// SPDX-License-Identifier: Apache-2.0
#include "planner/accuracy/reliability.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "planner/questions/confidence.h"
#include "sim/step/estimate.h"

namespace meshwright::planner {
namespace {

struct Timed01 {
  Estimate estimate;
  Seconds measured;
};

bool same_question(const MeasuredRun& a, const MeasuredRun& b) {
  return a.job == b.job && a.cluster.num_gpus() == b.cluster.num_gpus() &&
         a.cluster.name == b.cluster.name && a.cluster.framework == b.cluster.framework;
}

// Fastest first; empty unless all runs ask the same question.
std::vector<Timed01> ranked(const std::vector<const MeasuredRun*>& runs) {
  std::vector<Timed01> result;
  for (const MeasuredRun* run : runs) {
    if (!same_question(*run, *runs.front())) return {};
    CostTable table(*run);
    const Evaluation found = evaluate(table, run->layout, MemoryLimit::reported);
    if (found.violation && found.violation->rule != Rule::memory_capacity) continue;
    result.push_back({described(found, table, run->layout), *run->step_time});
  }
  std::stable_sort(result.begin(), result.end(), [](const Timed01& a, const Timed01& b) {
    return a.estimate.step_time < b.estimate.step_time;
  });
  return result;
}

void judge(const MeasuredRun& question, const std::vector<Timed01>& runs, JudgedChoices& judged) {
  Plan plan;
  plan.model = question.model;
  plan.cluster = question.cluster;
  plan.job = question.job;
  for (const Timed01& run : runs) plan.ranked.push_back(run.estimate);
  const Confidence found = confidence(plan);
  Seconds best = runs.front().measured;
  for (const AgainstRunnerUp& other : found.against) {
    const Seconds measured = runs[other.rank].measured;
    judged.pairs.push_back({other.probability_winner_is_faster, runs.front().measured <= measured});
    best = std::min(best, measured);
  }
  judged.choices.push_back({found.probability_best, runs.front().measured <= best,
                            found.expected_regret, runs.front().measured / best - 1.0});
}

}  // namespace

JudgedChoices judged_choices(const MeasuredSet& set) {
  std::map<std::string, std::vector<const MeasuredRun*>> groups;
  for (const MeasuredRun& run : set.runs) {
    if (run.step_time && run.status == RunStatus::ok) groups[run.group].push_back(&run);
  }
  JudgedChoices judged;
  for (const auto& [name, runs] : groups) {
    const std::vector<Timed01> in_order = ranked(runs);
    if (in_order.size() >= 2) judge(*runs.front(), in_order, judged);
  }
  return judged;
}

Reliability reliability(const std::vector<Outcome01>& outcomes, int bins) {
  Reliability result;
  for (int i = 0; i < bins; ++i) {
    result.bins.push_back({static_cast<double>(i) / bins, (i + 1.0) / bins, 0, 0.0, 0.0});
  }
  for (const Outcome01& o : outcomes) {
    const int place = std::min(bins - 1, static_cast<int>(o.probability * bins));
    ReliabilityBin& bin = result.bins[static_cast<std::size_t>(place)];
    ++bin.count;
    bin.mean_probability += o.probability;
    bin.frequency += o.happened ? 1.0 : 0.0;
    result.brier += std::pow(o.probability - (o.happened ? 1.0 : 0.0), 2.0);
  }
  for (ReliabilityBin& bin : result.bins) {
    bin.mean_probability /= std::max(1, bin.count);
    bin.frequency /= std::max(1, bin.count);
  }
  result.count = static_cast<int>(outcomes.size());
  result.brier /= std::max(1, result.count);
  return result;
}

}  // namespace meshwright::planner
