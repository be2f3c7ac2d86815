// SPDX-License-Identifier: Apache-2.0
#include "app/commands/serving/serve_plan_text.h"

#include <fmt/format.h>

#include <optional>

#include "reports/sections/service_text.h"
#include "sim/base/number_text.h"
#include "sim/hardware/device_noun.h"

namespace meshwright::app {
namespace {

std::string ms_text(Seconds time) { return number_text(time / milliseconds(1), 3) + " ms"; }

std::string limits_text(const planner::ServingQuestion& q) {
  std::string text;
  const auto add = [&](const char* name, const std::optional<Seconds>& limit) {
    if (limit) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, ms_text(*limit));
  };
  add("TTFT", q.limits.ttft);
  add("TPOT", q.limits.tpot);
  add("E2E", q.limits.e2e);
  if (text.empty()) return "no limits";
  return text + (q.percentile > 0 ? fmt::format(" at p{}", number_text(q.percentile)) : " (means)");
}

std::string times_text(const planner::ServingQuestion& q, const planner::ServingChoice& choice) {
  const planner::ServiceTimes times = planner::limited_times(choice);
  const std::string at = choice.simulated_ttft ? "p" + number_text(q.percentile) + " " : "mean ";
  const auto ranged = [](Seconds time, double spread) {
    return reports::latency_range_text(planner::latency_range(time, spread));
  };
  return fmt::format("{0}TTFT {1}, {0}TPOT {2}", at, ranged(times.ttft, choice.first_token_spread),
                     ranged(times.tpot, choice.token_spread));
}

std::string choice_text(const planner::ServingQuestion& q, const planner::ServingChoice& choice) {
  return fmt::format(
      "{} on {} {}: {}, {} output tokens/s a {}", planner::short_name(choice.deployment),
      choice.gpus, device_noun(q.scenario.cluster, choice.gpus), times_text(q, choice),
      number_text(choice.tokens_per_second_per_gpu, 4), device_noun(q.scenario.cluster, 1));
}

// The best of the other mode, if both were searched.
std::string other_mode_text(const planner::ServingQuestion& q, const planner::ServingPlan& plan) {
  if (!q.aggregated || !q.disaggregated) return "";
  const planner::ServingMode best = plan.choices.front().deployment.mode();
  const planner::ServingMode other = best == planner::ServingMode::aggregated
                                         ? planner::ServingMode::disaggregated
                                         : planner::ServingMode::aggregated;
  for (const planner::ServingChoice& one : plan.choices) {
    if (one.deployment.mode() != other) continue;
    return fmt::format("The best {} one is {}{}.\n", name_of(other), choice_text(q, one),
                       one.meets ? "" : ", which misses the limits");
  }
  return fmt::format("No {} one {}.\n", name_of(other),
                     q.kept > 1 ? "meets the limits" : "is among the rows");
}

}  // namespace

std::string serving_plan_summary(const planner::ServingQuestion& q,
                                 const planner::ServingPlan& plan) {
  std::string text =
      fmt::format("{} ({} weights, {} cache) by {} on {}: {}; {}.\n", q.scenario.model.name,
                  name_of(q.scenario.options.weights.format), name_of(q.scenario.options.kv_cache),
                  q.scenario.engine.name, only_device(q.scenario.cluster).name,
                  reports::service_load_text(q.load), limits_text(q));
  const bool met = !plan.choices.empty() && plan.choices.front().meets;
  if (!met) {
    text += "No deployment meets the limits.";
    if (plan.nearest && plan.nearest->ratio > 1.0) {
      text += fmt::format(
          " The nearest is {}: TTFT {} and TPOT {} for one request at a time, {} times a limit.",
          planner::short_name(plan.nearest->deployment), ms_text(plan.nearest->ttft),
          ms_text(plan.nearest->tpot), number_text(plan.nearest->ratio, 3));
    } else if (!plan.choices.empty()) {
      const planner::ServingChoice& best = plan.choices.front();
      text += fmt::format(" The nearest is {}: {} at this load",
                          planner::short_name(best.deployment), times_text(q, best));
      text += best.largest_rate > 0
                  ? fmt::format("; in closed form its means meet them up to {} requests/s.",
                                number_text(best.largest_rate, 3))
                  : ".";
      text += reports::saturation_sentence(best, q.limits);
    } else if (plan.nearest) {
      text += fmt::format(
          " {} meets them for one request at a time; this load needs more GPUs "
          "than are allowed.",
          planner::short_name(plan.nearest->deployment));
    }
    return text + "\n";
  }
  const planner::ServingChoice& best = plan.choices.front();
  return text + choice_text(q, best) + ".\n" + other_mode_text(q, plan);
}

}  // namespace meshwright::app
