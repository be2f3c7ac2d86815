// SPDX-License-Identifier: Apache-2.0
// What a capacity review decides on: GPU counts against time, cost and energy.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "planner/search/capacity.h"
#include "reports/sections/sections_json.h"
#include "reports/text.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

constexpr double kSampleTokens = 1e12;  // where the job says no number

Json optional_number(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

// A count of GPUs with its best layout: what the training takes at the step's time and at both ends
// of its interval.
struct Row {
  int gpus = 0;
  Layout layout{};
  Seconds step, low, high;
  Bytes peak_memory;
  double model_flops_utilization = 0;
};

Json json_of(const Row& row, const Job& job, const Cluster& base) {
  const Cluster cluster = scaled_to(base, row.gpus);
  const auto at = [&](Seconds step) { return *planner::capacity(job, cluster, step); };
  const planner::Capacity mid = at(row.step);
  const planner::Capacity low = at(row.low);
  const planner::Capacity high = at(row.high);
  return {{"gpus", row.gpus},
          {"short_name", short_name(row.layout)},
          {"brief_name", brief_name(row.layout)},
          {"step_time_seconds", row.step.value()},
          {"train_seconds", mid.train_time.value()},
          {"train_low_seconds", low.train_time.value()},
          {"train_high_seconds", high.train_time.value()},
          {"gpu_hours", mid.gpu_hours},
          {"cost", optional_number(mid.cost)},
          {"cost_low", optional_number(low.cost)},
          {"cost_high", optional_number(high.cost)},
          {"device_energy_kwh", optional_number(mid.device_energy_kwh)},
          {"peak_memory_bytes", row.peak_memory.value()},
          {"memory_share", row.peak_memory / base.device.memory},
          {"model_flops_utilization", row.model_flops_utilization},
          {"goodput", Json()},
          {"recommended", row.gpus == base.num_gpus()},
          {"planned", row.gpus == base.num_gpus()},
          {"failed", ""}};
}

Row row_of(const Estimate& best, int gpus) {
  return {.gpus = gpus,
          .layout = best.layout,
          .step = best.step_time,
          .low = best.step_time_low,
          .high = best.step_time_high,
          .peak_memory = best.peak_memory(),
          .model_flops_utilization = best.model_flops_utilization};
}

Row row_of(const planner::ScalePoint& point) {
  return {.gpus = point.gpus,
          .layout = *point.layout,
          .step = point.step_time,
          .low = point.step_time_low,
          .high = point.step_time_high,
          .peak_memory = point.peak_memory,
          .model_flops_utilization = point.model_flops_utilization};
}

Json failed_row(const planner::ScalePoint& point) {
  return {
      {"gpus", point.gpus}, {"recommended", false}, {"planned", false}, {"failed", point.reason}};
}

Json rows_of(const planner::Plan& plan, const planner::Scaling& scaling, const Job& job) {
  Json rows = Json::array();
  bool has_own = plan.ranked.empty();
  for (const planner::ScalePoint& point : scaling.points) {
    const bool own = point.gpus == plan.cluster.num_gpus();
    if (own && !plan.ranked.empty()) {
      rows.push_back(json_of(row_of(plan.ranked.front(), point.gpus), job, plan.cluster));
      has_own = true;
    } else {
      rows.push_back(point.layout ? json_of(row_of(point), job, plan.cluster) : failed_row(point));
    }
  }
  if (!has_own) {
    const Row own = row_of(plan.ranked.front(), plan.cluster.num_gpus());
    rows.push_back(json_of(own, job, plan.cluster));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Json& a, const Json& b) {
    return a["gpus"].get<int>() < b["gpus"].get<int>();
  });
  return rows;
}

// Members of a capacity answer, which was read from a file: null where they are not.
const Json& part(const Json& json, const char* key) {
  static const Json nothing;
  const auto found = json.find(key);
  return found == json.end() ? nothing : *found;
}

double number(const Json& json, const char* key) {
  const Json& found = part(json, key);
  return found.is_number() ? found.get<double>() : 0.0;
}

std::int64_t whole(const Json& json, const char* key) {
  return static_cast<std::int64_t>(number(json, key));
}

std::string text(const Json& json, const char* key) {
  const Json& found = part(json, key);
  return found.is_string() ? found.get<std::string>() : "";
}

std::string limits_of(const Json& row) {
  std::string all;
  for (const Json& limit : part(row, "limits")) {
    if (limit.is_string()) all += (all.empty() ? "" : "; ") + limit.get<std::string>();
  }
  return all;
}

// A row of a capacity answer: days and cost at the tenth, fiftieth and ninetieth percentile.
Json row_of_capacity(const Json& capacity, const Json& row) {
  constexpr double kDay = 86400.0;
  const Json& days = part(row, "days");
  const Json& cost = part(row, "cost");
  const auto money = [&](const char* key) {
    return cost.is_object() ? Json(number(cost, key)) : Json();
  };
  const Json& energy = part(row, "energy_mwh");
  const bool fits = part(row, "fits") == true;
  Json json{{"gpus", whole(row, "gpus")},
            {"cluster", text(row, "cluster_name")},
            {"global_batch_size", whole(row, "global_batch")},
            {"recommended", part(row, "recommended") == true},
            {"planned", part(row, "id") == part(capacity, "planned")},
            {"failed", limits_of(row)}};
  if (!fits) return json;
  json["short_name"] = text(row, "layout_name");
  json["brief_name"] = text(row, "layout");
  json["step_time_seconds"] = number(part(row, "step_s"), "mid");
  json["train_seconds"] = number(days, "p50") * kDay;
  json["train_low_seconds"] = number(days, "p10") * kDay;
  json["train_high_seconds"] = number(days, "p90") * kDay;
  json["gpu_hours"] = number(part(row, "gpu_hours"), "p50");
  json["cost"] = money("p50");
  json["cost_low"] = money("p10");
  json["cost_high"] = money("p90");
  json["device_energy_kwh"] = energy.is_number() ? Json(energy.get<double>() * 1e3) : Json();
  json["memory_share"] = number(row, "memory_share");
  json["model_flops_utilization"] = number(row, "mfu");
  json["goodput"] = number(row, "goodput");
  return json;
}

// Of the first row that has a cost.
std::string currency_of(const Json& capacity) {
  for (const Json& row : part(capacity, "rows")) {
    if (part(row, "cost").is_object()) return text(part(row, "cost"), "currency");
  }
  return "";
}

Json rows_of_capacity(const Json& capacity) {
  Json rows = Json::array();
  for (const Json& row : part(capacity, "rows")) rows.push_back(row_of_capacity(capacity, row));
  const bool any = std::any_of(rows.begin(), rows.end(),
                               [](const Json& row) { return row["recommended"] == true; });
  // Where no row keeps all limits, the plan's own is marked.
  for (Json& row : rows) row["recommended"] = any ? row["recommended"] : row["planned"];
  return rows;
}

std::string with_currency(const std::string& amount, const std::string& currency) {
  return currency.empty() ? amount : amount + " " + currency;
}

std::string time_range(const Json& row) {
  return fmt::format("{} ({} to {})", duration_text(seconds(number(row, "train_seconds"))),
                     duration_text(seconds(number(row, "train_low_seconds"))),
                     duration_text(seconds(number(row, "train_high_seconds"))));
}

std::string cost_range(const Json& row, const std::string& currency) {
  if (row["cost"].is_null()) {
    return fmt::format("{} GPU-hours", si_text(number(row, "gpu_hours")));
  }
  return fmt::format("{} ({} to {})", with_currency(si_text(number(row, "cost")), currency),
                     si_text(number(row, "cost_low")), si_text(number(row, "cost_high")));
}

// The next smaller count that runs, beside the recommended one.
std::string beside(const Json& rows, const Json& chosen, const std::string& currency) {
  const Json* other = nullptr;
  for (const Json& row : rows) {
    if (number(row, "gpus") < number(chosen, "gpus") && row["failed"] == "") other = &row;
  }
  if (other == nullptr) return "";
  const std::string gpus = count_text((*other)["gpus"].get<std::int64_t>());
  const std::string time = duration_text(seconds(number(*other, "train_seconds")));
  const char* key = chosen["cost"].is_null() ? "gpu_hours" : "cost";
  const double saved = number(chosen, key) - number(*other, key);
  std::string amount = si_text(std::abs(saved));
  amount = chosen["cost"].is_null() ? amount + " GPU-hours" : with_currency(amount, currency);
  return fmt::format(" {} GPUs take {} and {} {}.", gpus, time, saved >= 0.0 ? "save" : "cost",
                     saved >= 0.0 ? amount : amount + " more");
}

std::string fitting_verdict(const planner::Plan& plan, const Json& rows, double tokens) {
  const auto chosen = std::find_if(rows.begin(), rows.end(),
                                   [](const Json& row) { return row["recommended"] == true; });
  const std::string currency;  // a price alone names none
  return fmt::format("{} GPUs finish {} tokens in {} for {}.{}",
                     count_text(plan.cluster.num_gpus()), si_text(tokens), time_range(*chosen),
                     cost_range(*chosen, currency), beside(rows, *chosen, currency));
}

// What a search found, never what a rule alone would admit.
std::string found_elsewhere(const planner::Scaling& scaling) {
  if (scaling.points.empty()) return "";
  const planner::ScalePoint& last = scaling.points.back();
  const std::string gpus = count_text(last.gpus);
  if (!last.layout) return fmt::format(" Nor does any fit up to {} GPUs.", gpus);
  return fmt::format(" {} GPUs are enough: {} takes {} a step.", gpus, brief_name(*last.layout),
                     seconds_text(last.step_time));
}

std::string no_layout_verdict(const planner::Plan& plan, const planner::Scaling& scaling) {
  std::string text =
      fmt::format("No layout of {} fits {} GPUs of {}: all {} layouts were rejected.",
                  plan.model.name, count_text(plan.cluster.num_gpus()), plan.cluster.name,
                  count_text(plan.statistics.enumerated));
  const bool near = !plan.closest.empty();
  if (near || !plan.rejections.empty()) {
    const planner::Rejection& miss = near ? plan.closest.front() : plan.rejections.front();
    text += fmt::format(" {}: {}.", near ? "The nearest miss" : "The most frequent reason",
                        miss.sentence);
  }
  return text + found_elsewhere(scaling);
}

// How the recommended row runs.
std::string recommendation(const planner::Plan& plan) {
  const Estimate& best = plan.ranked.front();
  const double tokens = static_cast<double>(plan.job.global_batch_size) * plan.job.seq_length;
  return fmt::format(
      "Run {} as {} on {} x {}: a step of {} tokens takes {} ({} to {}) at {} MFU, and the fullest "
      "GPU holds {} of {}.",
      plan.model.name, brief_name(best.layout), count_text(world_size(best.layout)),
      plan.cluster.device.name, si_text(tokens), seconds_text(best.step_time),
      seconds_text(best.step_time_low), seconds_text(best.step_time_high),
      percent_text(best.model_flops_utilization), memory_text(best.peak_memory()),
      memory_text(plan.cluster.device.memory));
}

std::string subject(const planner::Plan& plan, double tokens) {
  std::string text =
      fmt::format("{} · {} tokens · {}", plan.model.name, si_text(tokens), plan.cluster.name);
  if (plan.cluster.price_per_gpu_hour) {
    text += fmt::format(" · {} a GPU-hour", significant(*plan.cluster.price_per_gpu_hour, 3));
  }
  return text;
}

}  // namespace

Job job_with_tokens(const Job& job) {
  Job with = job;
  if (!with.train_tokens) with.train_tokens = kSampleTokens;
  return with;
}

Json decision_section(const ReportContents& contents) {
  const planner::Plan& plan = contents.plan;
  const bool fits = !plan.ranked.empty();
  const Json& capacity = contents.capacity;
  const bool with_capacity = fits && !part(capacity, "rows").empty();
  const Job job = job_with_tokens(plan.job);
  Json json{{"subject", subject(plan, *job.train_tokens)},
            {"train_tokens", *job.train_tokens},
            {"tokens_are_the_jobs", plan.job.train_tokens.has_value()},
            {"price_per_gpu_hour", optional_number(plan.cluster.price_per_gpu_hour)},
            {"currency", currency_of(capacity)},
            {"range", with_capacity ? "10 to 90 % of cases" : "90 % range of the step"}};
  json["rows"] = with_capacity ? rows_of_capacity(capacity) : rows_of(plan, contents.scaling, job);
  json["verdict"] = !fits           ? no_layout_verdict(plan, contents.scaling)
                    : with_capacity ? text(capacity, "verdict")
                                    : fitting_verdict(plan, json["rows"], *job.train_tokens);
  json["recommendation"] = fits ? recommendation(plan) : "";
  return json;
}

}  // namespace meshwright::reports
