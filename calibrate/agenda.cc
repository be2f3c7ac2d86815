// SPDX-License-Identifier: Apache-2.0
#include "calibrate/agenda.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace meshwright::calibrate {
namespace {

constexpr double kShortestPoint = 0.02, kLongestPoint = 1.0;  // seconds
// A point may take this much more than an even share: most stop early, when they are steady.
constexpr double kGenerous = 2.0;
// Share of the budget. A collective that is expected to take longer is skipped.
constexpr double kLargestShare = 1.0 / 60.0;

// A point is known well enough when its error moves a step by less than this. The model's own
// points are never known worse than the last.
constexpr double kEffectOnStep = 0.005, kLargestError = 0.1;

}  // namespace

double Agenda::target_error(std::size_t point) const {
  const double usual = options_.measure.stop.target_error, share = shares_[point];
  return share > 0.0 ? std::clamp(kEffectOnStep / share, usual, std::max(usual, kLargestError))
                     : usual;
}

std::size_t Agenda::pass_over_known() {
  std::size_t count = 0;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const auto known =
        std::find_if(options_.known.begin(), options_.known.end(),
                     [&](const MeasuredPoint& p) { return same_subject(p, tasks_[i]); });
    if (known == options_.known.end()) continue;
    const Measurement& m = known->measurement;
    budget_.done(i, m.summary.median.value() * m.summary.count * m.repetitions, true);
    ++count;
  }
  return count;
}

Decision Agenda::next(const std::vector<MeasuredPoint>& points, double used) {
  for (;;) {
    const double remaining = options_.budget_seconds - used;
    const bool check_is_over = options_.only && remaining <= 0.0;
    const auto next = check_is_over ? std::nullopt : budget_.next(remaining > 0.0);
    if (!next) return {.stop = true};
    if (budget_.is_needed(*next) ||
        expected_seconds(tasks_[*next], points) <= kLargestShare * options_.budget_seconds) {
      const double even = kGenerous * budget_.even_share(*next, std::max(0.0, remaining));
      return {.point = *next,
              .limit = std::clamp(even, kShortestPoint, kLongestPoint),
              .target_error = target_error(*next)};
    }
    ++too_long_;
    budget_.done(*next, 0.0, false);
  }
}

// Expected seconds of all samples: those of the nearest smaller payload, scaled by the bytes to
// move.
double Agenda::expected_seconds(const MeasuredPoint& task,
                                const std::vector<MeasuredPoint>& points) const {
  if (!task.is<timed::CollectiveCall>()) return 0.0;
  const MeasuredPoint* nearest = nullptr;
  for (const MeasuredPoint& p : points) {
    MeasuredPoint same_size = p;
    same_size.amount = task.amount;
    if (!same_subject(same_size, task) || p.amount > task.amount) continue;
    if (nearest == nullptr || p.amount > nearest->amount) nearest = &p;
  }
  if (nearest == nullptr) return 0.0;
  const int samples = options_.measure.warmup + options_.measure.stop.min_samples;
  return samples * (nearest->time() * (task.amount / nearest->amount)).value();
}

std::string Agenda::left_out() const {
  const auto first = budget_.next(true);
  if (!first) return "";
  return fmt::format(
      "the budget of {:.0f} s was used up with {} points left out, from {} on; they will be "
      "interpolated; --budget gives more time",
      options_.budget_seconds, budget_.num_left(), tasks_[*first].label());
}

std::string Agenda::too_long() const {
  if (too_long_ == 0) return "";
  return fmt::format(
      "{} large collectives would each have taken more than {:.0f} % of the budget and were left "
      "out; they will be extrapolated; --budget gives more time",
      too_long_, 100.0 * kLargestShare);
}

}  // namespace meshwright::calibrate
