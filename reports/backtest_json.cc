// SPDX-License-Identifier: Apache-2.0
#include "reports/backtest_json.h"

#include <algorithm>
#include <cmath>

#include "sim/base/text.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

using planner::Backtest;
using planner::MeasuredRun;
using planner::MeasuredSet;
using planner::PredictedRun;
using planner::RunStatus;
using planner::Score;

constexpr std::size_t kWorstRuns = 10;

Json optional_json(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string_view name_of_status(RunStatus status) {
  return status == RunStatus::ok ? "ok" : status == RunStatus::oom ? "oom" : "failed";
}

Json run_json(const MeasuredRun& run, const PredictedRun& predicted) {
  Json json;
  json["id"] = run.id;
  json["group"] = run.group;
  json["layout"] = meshwright::to_json(run.layout);
  Json measured{{"status", name_of_status(run.status)}};
  if (run.step_time) measured["step_seconds"] = run.step_time->value();
  if (run.peak_memory) measured["peak_memory_bytes"] = run.peak_memory->value();
  json["measured"] = std::move(measured);
  Json found;
  found["fits"] = !predicted.violation;
  if (predicted.violation) found["violation"] = rule_text(predicted.violation->rule).name;
  if (predicted.estimate) {
    const Estimate& estimate = *predicted.estimate;
    found["step_seconds"] = estimate.step_time.value();
    found["step_seconds_low"] = estimate.step_time_low.value();
    found["step_seconds_high"] = estimate.step_time_high.value();
    found["interval_regime"] = name_of(estimate.interval_regime);
    found["peak_memory_bytes"] = estimate.peak_memory().value();
    found["peak_allocated_bytes"] = estimate.peak_allocated().value();
    Json terms;
    for (const Term& term : estimate.terms)
      terms[std::string(name_of(term.kind))] = term.cost.time.value();
    found["terms_seconds"] = std::move(terms);
  }
  json["predicted"] = std::move(found);
  json["step_time_error_percent"] =
      predicted.step_time_error ? Json(100.0 * *predicted.step_time_error) : Json(nullptr);
  json["memory_error_percent"] =
      predicted.memory_error ? Json(100.0 * *predicted.memory_error) : Json(nullptr);
  return json;
}

std::vector<Cell> score_row(const std::string& name, const Score& score) {
  if (score.runs == 0) {
    return {name,
            0.0,
            {},
            {},
            {},
            {},
            {},
            {},
            {},
            optional_cell(score.memory_median_ape_percent),
            optional_cell(score.oom_accuracy_percent),
            {},
            {},
            {}};
  }
  return {name,
          static_cast<double>(score.runs),
          score.mean_ape_percent,
          score.median_ape_percent,
          score.max_ape_percent,
          score.bias_percent,
          optional_cell(score.kendall_tau),
          optional_cell(score.top1_regret_percent_mean),
          optional_cell(score.top3_regret_percent_mean),
          optional_cell(score.memory_median_ape_percent),
          optional_cell(score.oom_accuracy_percent),
          optional_cell(score.interval_coverage_percent),
          optional_cell(score.interval_width_percent),
          std::string(name_of(*score.interval_regime))};
}

// The three largest terms, "forward_compute 41 %, ...".
std::string largest_terms(const Estimate& estimate) {
  std::vector<Term> terms(estimate.terms.begin(), estimate.terms.end());
  std::sort(terms.begin(), terms.end(),
            [](const Term& a, const Term& b) { return a.cost.time > b.cost.time; });
  std::string text;
  for (std::size_t i = 0; i < 3 && terms[i].cost.time > seconds(0); ++i) {
    const double share = 100.0 * (terms[i].cost.time / estimate.step_time);
    append_to_list(text, ", ", fmt::format("{} {} %", name_of(terms[i].kind), std::lround(share)));
  }
  return text;
}

}  // namespace

Json score_to_json(const Score& score) {
  Json json;
  json["runs"] = score.runs;
  json["mean_ape_percent"] = score.mean_ape_percent;
  json["median_ape_percent"] = score.median_ape_percent;
  json["max_ape_percent"] = score.max_ape_percent;
  json["bias_percent"] = score.bias_percent;
  json["kendall_tau"] = optional_json(score.kendall_tau);
  json["top1_regret_percent_median"] = optional_json(score.top1_regret_percent_median);
  json["top1_regret_percent_mean"] = optional_json(score.top1_regret_percent_mean);
  json["top1_regret_percent_max"] = optional_json(score.top1_regret_percent_max);
  json["top3_regret_percent_mean"] = optional_json(score.top3_regret_percent_mean);
  json["memory_median_ape_percent"] = optional_json(score.memory_median_ape_percent);
  json["oom_accuracy_percent"] = optional_json(score.oom_accuracy_percent);
  const planner::OomConfusion& c = score.oom_confusion;
  json["oom_confusion"] =
      Json{{"ok_predicted_fit", c.ok_fits},         {"ok_predicted_oom", c.ok_oom},
           {"oom_predicted_fit", c.oom_fits},       {"oom_predicted_oom", c.oom_oom},
           {"failed_predicted_fit", c.failed_fits}, {"failed_predicted_oom", c.failed_oom}};
  json["interval_coverage_percent"] = optional_json(score.interval_coverage_percent);
  json["interval_width_percent"] = optional_json(score.interval_width_percent);
  json["interval_regime"] =
      score.interval_regime ? Json(name_of(*score.interval_regime)) : Json(nullptr);
  return json;
}

Json backtest_to_json(const MeasuredSet& set, const Backtest& backtest) {
  Json json;
  json["schema"] = "meshwright.backtest/1";
  json["name"] = set.name;
  json["source"] = set.source;
  json["assumed"] = set.assumed;
  json["overall"] = score_to_json(backtest.overall);
  Json groups = Json::array();
  for (const planner::GroupScore& group : backtest.groups) {
    Json entry{{"group", group.group}};
    entry.update(score_to_json(group.score));
    groups.push_back(std::move(entry));
  }
  json["groups"] = std::move(groups);
  Json runs = Json::array();
  for (const PredictedRun& run : backtest.runs) runs.push_back(run_json(set.runs[run.run], run));
  json["runs"] = std::move(runs);
  return json;
}

Table scores_table(const Backtest& backtest) {
  Table table;
  table.title = "Predicted against measured";
  table.columns = {{"group", "group", "", 4},
                   {"runs", "runs", "", 5},
                   {"mean_ape_percent", "mean error", "%", 3},
                   {"median_ape_percent", "median", "%", 3},
                   {"max_ape_percent", "worst", "%", 3},
                   {"bias_percent", "bias", "%", 3},
                   {"kendall_tau", "tau", "", 3},
                   {"top1_regret_percent_mean", "top-1 regret", "%", 3},
                   {"top3_regret_percent_mean", "top-3 regret", "%", 3},
                   {"memory_median_ape_percent", "memory error", "%", 3},
                   {"oom_accuracy_percent", "fit called right", "%", 4},
                   {"interval_coverage_percent", "inside interval", "%", 3},
                   {"interval_width_percent", "width", "%", 3},
                   {"interval_regime", "regime", "", 4}};
  for (const planner::GroupScore& group : backtest.groups) {
    table.rows.push_back(score_row(group.group, group.score));
  }
  if (backtest.groups.size() != 1) table.rows.push_back(score_row("all", backtest.overall));
  return table;
}

Json picks_to_json(const MeasuredSet& set, const std::vector<planner::Pick>& picks) {
  const auto priced = [](const std::optional<Estimate>& e) {
    if (!e) return Json();
    return Json{{"short_name", short_name(e->layout)},
                {"layout", to_json(e->layout)},
                {"step_time_seconds", e->step_time.value()},
                {"peak_memory_bytes", e->peak_memory().value()}};
  };
  Json json{{"schema", "meshwright.picks/1"}, {"set", set.name}, {"runs", Json::array()}};
  for (const planner::Pick& pick : picks) {
    const MeasuredRun& run = set.runs[pick.run];
    Json entry{{"id", run.id}, {"source", run.source}};
    entry["reported_seconds"] = run.step_time ? Json(run.step_time->value()) : Json();
    entry["theirs"] = priced(pick.theirs);
    entry["refused_by"] = pick.refused ? Json(rule_text(pick.refused->rule).name) : Json();
    entry["ours"] = priced(pick.ours);
    entry["claim"] = pick.theirs && pick.ours ? Json(pick.claim) : Json();
    entry["tensor_ranks_leave_node"] = pick.leaves_domain;
    entry["cause"] = pick.cause;
    entry["term"] = pick.term;
    json["runs"].push_back(std::move(entry));
  }
  return json;
}

Table worst_runs_table(const MeasuredSet& set, const Backtest& backtest) {
  std::vector<const PredictedRun*> runs;
  for (const PredictedRun& run : backtest.runs) {
    if (run.step_time_error) runs.push_back(&run);
  }
  std::stable_sort(runs.begin(), runs.end(), [](const PredictedRun* a, const PredictedRun* b) {
    return std::abs(*a->step_time_error) > std::abs(*b->step_time_error);
  });
  runs.resize(std::min(runs.size(), kWorstRuns));
  Table table;
  table.title = "Largest errors";
  table.columns = {{"id", "run", "", 4},
                   {"group", "group", "", 4},
                   {"layout", "layout", "", 4},
                   {"measured_seconds", "measured", "s", 4},
                   {"predicted_seconds", "predicted", "s", 4},
                   {"error_percent", "error", "%", 3},
                   {"largest_terms", "largest predicted terms", "", 4}};
  for (const PredictedRun* run : runs) {
    const MeasuredRun& measured = set.runs[run->run];
    table.rows.push_back({measured.id, measured.group, short_name(measured.layout),
                          measured.step_time->value(), run->estimate->step_time.value(),
                          100.0 * *run->step_time_error, largest_terms(*run->estimate)});
  }
  return table;
}

}  // namespace meshwright::reports
