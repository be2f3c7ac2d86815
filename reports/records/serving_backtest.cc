// SPDX-License-Identifier: Apache-2.0
#include "reports/records/serving_backtest.h"

namespace meshwright::reports {
namespace {

Kind<planner::ServingValues> values_by_name() {
  return {.read = [](ObjectReader&, const std::string&, planner::ServingValues&) {},
          .write =
              [](Json& json, const std::string& key, const planner::ServingValues& values) {
                Json& object = json[key] = Json::object();
                for (const auto& [which, name] : planner::kServingQuantityNames) {
                  if (const auto& value = values[planner::place_of(which)]) {
                    object[std::string(name)] = *value;
                  }
                }
              },
          .schema =
              [] {
                return Json{{"type", "object"}, {"additionalProperties", {{"type", "number"}}}};
              }};
}

const Record<planner::ServingScore>& serving_score_record() {
  static const Record<planner::ServingScore> record = [] {
    using S = planner::ServingScore;
    Record<S> r("Errors of one quantity: predicted / measured - 1.");
    r.row(&S::group, "group", kind::text(), "Points of one group, or all.");
    r.row(&S::quantity, "quantity", kind::choice(planner::kServingQuantityNames), "Which.");
    r.row(&S::points, "points", kind::integer(), "How many.");
    r.row(&S::median, "median_error", kind::number(), "Of its size.");
    r.row(&S::mean, "mean_error", kind::number(), "Of its size.");
    r.row(&S::p90, "p90_error", kind::number(), "Of its size.");
    r.row(&S::bias, "bias", kind::number(kAnyNumber), "Median with its sign.");
    r.row(&S::covered, "covered", kind::number(), "Share inside the 90 % interval.");
    return r;
  }();
  return record;
}

const Record<planner::LayoutChoice>& layout_choice_record() {
  static const Record<planner::LayoutChoice> record = [] {
    using C = planner::LayoutChoice;
    Record<C> r("Layouts of one group at the same number of users.");
    r.row(&C::group, "group", kind::text(), "Which.");
    r.row(&C::layouts, "layouts", kind::integer(), "How many.");
    r.row(&C::best, "best", kind::text(), "Measured.");
    r.row(&C::chosen, "chosen", kind::text(), "Predicted.");
    r.row(&C::regret, "regret", kind::number(), "Throughput that the chosen one loses.");
    return r;
  }();
  return record;
}

const Record<ServingBacktestPoint>& serving_backtest_point_record() {
  static const Record<ServingBacktestPoint> record = [] {
    using P = ServingBacktestPoint;
    Record<P> r("One point. Times in seconds, throughput in tokens per second.");
    r.row(&P::id, "id", kind::text(), "Its name.");
    r.row(&P::group, "group", kind::text(), "Its group.");
    r.row(&P::engine, "engine", kind::text(), "The engine's file.");
    r.row(&P::deployment, "deployment", kind::text(), "What ran.");
    r.row(&P::concurrency, "concurrency", kind::number(), "Users; 0: no closed loop.");
    r.row(&P::largest_batch, "largest_batch", kind::number(), "Requests that a group admits.");
    r.row(&P::assumed, "assumed", kind::texts(), "What the point does not say.");
    r.row(&P::speculation_unknown, "speculation_unknown", kind::flag(),
          "The point may have used drafts.");
    r.row(&P::refused, "refused", kind::text(), "The rule that refuses it; empty: none.");
    r.row(&P::measured, "measured", values_by_name(), "Published.");
    r.row(&P::predicted, "predicted", values_by_name(), "Said here.");
    r.derived("spread", Json{{"type", "object"}, {"additionalProperties", {{"type", "number"}}}},
              "Relative standard deviations.", [](const P& p) {
                Json json = Json::object();
                for (const auto& [which, name] : planner::kServingQuantityNames) {
                  json[std::string(name)] = p.spread[planner::place_of(which)];
                }
                return json;
              });
    return r;
  }();
  return record;
}

const Record<planner::UnreadService>& unread_service_record() {
  static const Record<planner::UnreadService> record = [] {
    using U = planner::UnreadService;
    Record<U> r("A row that was left out.");
    r.row(&U::id, "id", kind::text(), "Its name.");
    r.row(&U::line, "line", kind::integer(), "Its line.");
    r.row(&U::reason, "reason", kind::text(), "Why.");
    return r;
  }();
  return record;
}

}  // namespace

ServingBacktestFile serving_backtest_file(const planner::MeasuredServices& set,
                                          const std::vector<planner::PredictedService>& predictions,
                                          bool simulated) {
  ServingBacktestFile file;
  file.set = set.name;
  file.simulated = simulated;
  file.scores = planner::serving_scores(set, predictions, true);
  file.choices = planner::layout_choices(set, predictions);
  file.unread = set.unread;
  for (std::size_t i = 0; i < set.points.size(); ++i) {
    const planner::MeasuredService& point = set.points[i];
    const planner::PredictedService& said = predictions[i];
    ServingBacktestPoint row;
    row.id = point.id;
    row.group = point.group;
    row.engine = point.scenario->engine.name;
    row.deployment = planner::short_name(point.deployment);
    row.assumed = point.assumed;
    row.speculation_unknown = point.speculation_unknown;
    row.concurrency = point.load.kind == LoadKind::closed_loop ? point.load.concurrency : 0.0;
    row.largest_batch = said.largest_batch;
    row.measured = point.measured;
    row.predicted = said.values;
    row.spread = said.spread;
    if (said.refused) row.refused = std::string(said.refused->rule->name);
    file.points.push_back(std::move(row));
  }
  return file;
}

const Record<ServingBacktestFile>& serving_backtest_record() {
  static const Record<ServingBacktestFile> record = [] {
    using F = ServingBacktestFile;
    Record<F> r("Published points of services, predicted and compared.");
    r.file_of({"meshwright.serve_backtest/1"}, true);
    r.row(&F::command, "command", kind::text(), "Makes the answer again.");
    r.row(&F::set, "set", kind::text(), "The table.");
    r.row(&F::simulated, "simulated", kind::flag(), "Step by step; else in closed form.");
    r.row(&F::scores, "scores", kind::list(serving_score_record), "All, then by group.");
    r.row(&F::choices, "layout_choices", kind::list(layout_choice_record),
          "Whether the best layout was found.");
    r.row(&F::points, "points", kind::list(serving_backtest_point_record), "Each point.");
    r.row(&F::unread, "unread", kind::list(unread_service_record), "Rows that were left out.");
    return r;
  }();
  return record;
}

}  // namespace meshwright::reports
