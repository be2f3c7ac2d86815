// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/review.h"

#include <algorithm>
#include <array>
#include <utility>

#include "planner/questions/confidence.h"
#include "planner/search/choice.h"
#include "planner/search/rejection.h"
#include "planner/search/space.h"
#include "sim/memory/memory.h"
#include "sim/step/estimate.h"

namespace meshwright::planner {
namespace {

// Number of fastest layouts to evaluate, because near-duplicates are dropped.
constexpr int kLookedThrough = 300;
constexpr double kGainWorthSaying = 0.005;

struct KnownTimer {
  const char* name;
  const char* meaning;
  std::vector<TermKind> kinds;
};

// Megatron-LM's training.py and schedules.py: which timer spans which terms.
std::vector<KnownTimer> known_timers() {
  using enum TermKind;
  return {{"forward-backward",
           "compute, its communication, the pipeline and the host",
           {forward_compute, backward_compute, recompute, tensor_parallel_communication,
            context_parallel_communication, expert_parallel_communication, pipeline_communication,
            pipeline_bubble, host, offload}},
          {"all-grads-sync", "exposed data-parallel communication", {data_parallel_communication}},
          {"optimizer", "the optimizer", {optimizer}}};
}

void compare_timers(Review& review, const MeasuredStep& measured) {
  for (const KnownTimer& timer : known_timers()) {
    const auto found = measured.timers.find(timer.name);
    if (found == measured.timers.end()) continue;
    Seconds predicted;
    for (const TermKind kind : timer.kinds) {
      predicted += review.estimate->terms[static_cast<std::size_t>(kind)].cost.time;
    }
    review.parts.push_back({timer.name, timer.meaning, predicted, found->second});
  }
}

void judge_fit(Review& review, CostTable& table, const Layout& launched,
               const MeasuredStep& measured) {
  const Evaluation evaluation = evaluate(table, launched, MemoryLimit::reported);
  review.violation = evaluation.violation;
  if (review.violation) {
    review.sentence = describe(*review.violation, table.model(), table.job(), launched,
                               devices_of(table.cluster()));
    review.smallest_change = smallest_change(table, launched, only_device(table.cluster()).memory);
    if (review.violation->rule != Rule::memory_capacity) return;
  }
  review.estimate = described(evaluation, table, launched);
  const Estimate& found = *review.estimate;
  review.printed_peak = printed_peak(found.peak_allocated(), table.cluster().framework.memory,
                                     only_device(table.cluster()));
  if (measured.step_time) {
    review.step_error = found.step_time / *measured.step_time - 1.0;
    review.inside_interval =
        found.step_time_low <= *measured.step_time && *measured.step_time <= found.step_time_high;
  }
  if (measured.peak_memory) review.memory_error = review.printed_peak / *measured.peak_memory - 1.0;
  compare_timers(review, measured);
}

SearchOptions with_sizes_of(SearchOptions search, const Layout& l) {
  search.space[&Layout::tensor_parallel_size] = {l.tensor_parallel_size};
  search.space[&Layout::pipeline_parallel_size] = {l.pipeline_parallel_size};
  search.space[&Layout::context_parallel_size] = {l.context_parallel_size};
  search.space[&Layout::expert_parallel_size] = {l.expert_parallel_size};
  return search;
}

bool same_sizes(const Layout& a, const Layout& b) {
  return a.tensor_parallel_size == b.tensor_parallel_size &&
         a.pipeline_parallel_size == b.pipeline_parallel_size &&
         a.context_parallel_size == b.context_parallel_size &&
         a.expert_parallel_size == b.expert_parallel_size;
}

class Finder {
 public:
  Finder(const Scenario& scenario, const Layout& launched, const MeasuredStep& measured,
         const ReviewOptions& options, Review& review)
      : s_(scenario),
        launched_(launched),
        measured_(measured),
        options_(options),
        review_(review),
        table_(scenario) {}

  // The fastest with the launched sizes first, as flags are changed more easily than checkpoints,
  // then the fastest of all.
  void find() {
    const SearchOptions open = options_.search;
    add_from(search(s_, wide(with_sizes_of(open, launched_))), 1);
    const Plan all = search(s_, wide(open));
    review_.statistics = all.statistics;
    add_from(all, options_.most);
    std::stable_sort(
        review_.better.begin(), review_.better.end(),
        [](const auto& a, const auto& b) { return a.estimate.step_time < b.estimate.step_time; });
    if (open.target.refusal) count_not_expressible(open);
  }

 private:
  static SearchOptions wide(SearchOptions search) {
    search.top = kLookedThrough;
    return search;
  }

  void count_not_expressible(SearchOptions open) {
    const auto refusal = std::exchange(open.target, {}).refusal;
    for (const Estimate& estimate : search(s_, wide(open)).ranked) {
      const bool behind = !review_.better.empty() &&
                          estimate.step_time >= review_.better.front().estimate.step_time;
      if (behind || !is_faster(estimate)) return;
      if (const std::string why = refusal(estimate.layout); !why.empty()) {
        ++review_.not_expressible[why];
      }
    }
  }

  [[nodiscard]] bool runs() const { return review_.estimate && !review_.violation; }

  void add_from(const Plan& plan, std::size_t most) {
    std::size_t added = 0;
    for (const Estimate& estimate : plan.ranked) {
      if (added >= most) return;
      if (!worth_saying(estimate)) continue;
      review_.better.push_back(compared(estimate));
      ++added;
    }
  }

  [[nodiscard]] bool is_faster(const Estimate& estimate) const {
    return !runs() || estimate.step_time < review_.estimate->step_time * (1.0 - kGainWorthSaying);
  }

  [[nodiscard]] bool worth_saying(const Estimate& estimate) const {
    const bool duplicate = std::any_of(
        review_.better.begin(), review_.better.end(),
        [&](const BetterLayout& other) { return near_duplicate(estimate, other.estimate); });
    return is_faster(estimate) && !duplicate;
  }

  [[nodiscard]] BetterLayout compared(const Estimate& estimate) {
    BetterLayout better;
    better.estimate = estimate;
    better.same_sizes = same_sizes(estimate.layout, launched_);
    if (!review_.estimate) return better;
    better.predicted_ratio = estimate.step_time / review_.estimate->step_time;
    if (measured_.step_time) better.expected_step = *measured_.step_time * better.predicted_ratio;
    better.effects = attribution(table_, estimate.layout, launched_);
    Plan pair;
    pair.model = s_.model;
    pair.cluster = s_.cluster;
    pair.job = s_.job;
    const bool faster = estimate.step_time < review_.estimate->step_time;
    pair.ranked = {faster ? estimate : *review_.estimate, faster ? *review_.estimate : estimate};
    const double winner = confidence(pair).against.front().probability_winner_is_faster;
    better.probability_faster = faster ? winner : 1.0 - winner;
    return better;
  }

  const Scenario& s_;
  const Layout& launched_;
  const MeasuredStep& measured_;
  const ReviewOptions& options_;
  Review& review_;
  CostTable table_;
};

}  // namespace

Review review(const Scenario& scenario, const Layout& launched, const MeasuredStep& measured,
              const ReviewOptions& options) {
  Review result;
  CostTable table(scenario);
  judge_fit(result, table, launched, measured);
  if (options.attention_is_assumed && result.estimate) {
    Scenario eager = scenario;
    eager.job.attention_kernel = AttentionKernel::unfused;
    eager.job.kernel_fusion = KernelFusion::transformers;
    CostTable with_scores(eager);
    const Evaluation found = evaluate(with_scores, launched, MemoryLimit::reported);
    result.eager_peak = described(found, with_scores, launched).peak_memory();
  }
  if (options.most > 0) Finder(scenario, launched, measured, options, result).find();
  return result;
}

}  // namespace meshwright::planner
