// SPDX-License-Identifier: Apache-2.0
// What a capacity review decides on: the verdict over the rows of the capacity answer, and how the
// recommended layout runs.
#include <fmt/format.h>

#include "reports/json_at.h"
#include "reports/sections/sections_json.h"
#include "reports/text.h"
#include "sim/hardware/device_noun.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

Json optional_number(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

// Of the first row that has a cost.
std::string currency_of(const Json& capacity) {
  for (const Json& row : part_at(capacity, "rows")) {
    const std::string currency = text_at(part_at(row, "cost"), "currency");
    if (!currency.empty()) return currency;
  }
  return "";
}

// What a search found, never what a rule alone would admit.
std::string found_elsewhere(const Json& capacity, const Cluster& cluster) {
  const Json* most = nullptr;
  for (const Json& row : part_at(capacity, "rows")) {
    const std::string gpus = count_text(whole_at(row, "gpus"));
    if (flag_at(row, "fits")) {
      return fmt::format(" {} {} are enough: {} takes {} per step.", gpus, device_noun(cluster, 2),
                         text_at(row, "layout"),
                         seconds_text(seconds(number_at(part_at(row, "step_s"), "mid"))));
    }
    most = &row;
  }
  if (most == nullptr) return "";
  return fmt::format(" Nor does any fit up to {} {}.", count_text(whole_at(*most, "gpus")),
                     device_noun(cluster, whole_at(*most, "gpus")));
}

std::string no_layout_verdict(const planner::Plan& plan, const Json& capacity) {
  std::string text = fmt::format("No layout of {} fits {} {} of {}: all {} layouts were rejected.",
                                 plan.model.name, count_text(plan.cluster.num_gpus()),
                                 device_noun(plan.cluster, plan.cluster.num_gpus()),
                                 plan.cluster.name, count_text(plan.statistics.enumerated));
  const bool near = !plan.closest.empty();
  if (near || !plan.rejections.empty()) {
    const planner::Rejection& miss = near ? plan.closest.front() : plan.rejections.front();
    text += fmt::format(" {}: {}.", near ? "The nearest miss" : "The most frequent reason",
                        miss.sentence);
  }
  return text + found_elsewhere(capacity, plan.cluster);
}

// How the recommended row runs.
std::string recommendation(const planner::Plan& plan) {
  const Estimate& best = plan.ranked.front();
  const double tokens = static_cast<double>(plan.job.global_batch_size) * plan.job.seq_length;
  return fmt::format(
      "Run {} as {} on {} x {}: a step of {} tokens takes {} ({} to {}) at {} MFU, and the fullest "
      "{} holds {} of {}.",
      plan.model.name, brief_name(best.layout), count_text(world_size(best.layout)),
      only_device(plan.cluster).name, si_text(tokens), seconds_text(best.step_time),
      seconds_text(best.step_time_low), seconds_text(best.step_time_high),
      percent_text(best.model_flops_utilization), device_noun(plan.cluster),
      memory_text(best.peak_memory()), memory_text(only_device(plan.cluster).memory));
}

std::string subject(const ReportContents& contents) {
  const planner::Plan& plan = contents.plan;
  std::string text = plan.model.name;
  if (plan.job.train_tokens) text += fmt::format(" · {} tokens", si_text(*plan.job.train_tokens));
  text += " · " + plan.cluster.name;
  const std::string start = text_at(contents.capacity, "start");
  if (!start.empty()) text += " · from " + start;
  if (plan.cluster.price_per_gpu_hour) {
    text += fmt::format(" · {} per {}-hour", significant(*plan.cluster.price_per_gpu_hour, 3),
                        device_noun(plan.cluster));
  }
  return text;
}

}  // namespace

Json decision_section(const ReportContents& contents) {
  const planner::Plan& plan = contents.plan;
  const bool fits = !plan.ranked.empty();
  const Json& capacity = contents.capacity;
  Json json{{"subject", subject(contents)},
            {"train_tokens", part_at(capacity, "train_tokens")},
            {"tokens_are_the_jobs", plan.job.train_tokens.has_value()},
            {"price_per_gpu_hour", optional_number(plan.cluster.price_per_gpu_hour)},
            {"currency", currency_of(capacity)},
            {"range", "10 to 90 % of cases"}};
  json["verdict"] = fits ? text_at(capacity, "verdict") : no_layout_verdict(plan, capacity);
  json["recommendation"] = fits ? recommendation(plan) : "";
  return json;
}

}  // namespace meshwright::reports
