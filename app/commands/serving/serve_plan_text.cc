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
  return fmt::format("{0}TTFT {1}, {0}TPOT {2}", at, ms_text(times.ttft), ms_text(times.tpot));
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
  text += fmt::format("{} on {} {}: {} (+-{:.0f} %), {} output tokens/s a {}.\n",
                      planner::short_name(best.deployment), best.gpus,
                      device_noun(q.scenario.cluster, best.gpus), times_text(q, best),
                      best.token_spread * 164.5, number_text(best.tokens_per_second_per_gpu, 4),
                      device_noun(q.scenario.cluster, 1));
  return text;
}

}  // namespace meshwright::app
