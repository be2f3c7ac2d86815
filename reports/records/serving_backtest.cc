// SPDX-License-Identifier: Apache-2.0
#include "reports/records/serving_backtest.h"

namespace meshwright::reports {
namespace {

Kind<planner::ServingValues> values_by_name() {
  return {{.read = [](ObjectReader&, const std::string&, planner::ServingValues&) {},
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
               }}};
}

const Record<planner::ServingScore>& serving_score_record() {
  return described([](Record<planner::ServingScore>& r) {
    using S = planner::ServingScore;
    r.about("Errors of one quantity: predicted / measured - 1.");
    r.row<&S::group>("Points of one group, or all.");
    r.row<&S::quantity>(planner::kServingQuantityNames, "Which.");
    r.row<&S::points>("How many.");
    r.row<&S::median>("median_error", "Of its size.");
    r.row<&S::mean>("mean_error", "Of its size.");
    r.row<&S::p90>("p90_error", "Of its size.");
    r.row<&S::bias>(kAnyNumber, "Median with its sign.");
    r.row<&S::covered>("Share inside the 90 % interval.");
  });
}

const Record<planner::LayoutChoice>& layout_choice_record() {
  return described([](Record<planner::LayoutChoice>& r) {
    using C = planner::LayoutChoice;
    r.about("Layouts of one group at the same number of users.");
    r.row<&C::group>("Which.");
    r.row<&C::layouts>("How many.");
    r.row<&C::best>("Measured.");
    r.row<&C::chosen>("Predicted.");
    r.row<&C::regret>("Throughput that the chosen one loses.");
  });
}

const Record<ServingBacktestPoint>& serving_backtest_point_record() {
  return described([](Record<ServingBacktestPoint>& r) {
    using P = ServingBacktestPoint;
    r.about("One point. Times in seconds, throughput in tokens per second.");
    r.row<&P::id>("Its name.");
    r.row<&P::group>("Its group.");
    r.row<&P::engine>("The engine's file.");
    r.row<&P::deployment>("What ran.");
    r.row<&P::concurrency>("Users; 0: no closed loop.");
    r.row<&P::largest_batch>("Requests that a group admits.");
    r.row<&P::assumed>("What the point does not say.");
    r.row<&P::speculation_unknown>("The point may have used drafts.");
    r.row<&P::refused>("The rule that refuses it; empty: none.");
    r.row<&P::measured>(values_by_name(), "Published.");
    r.row<&P::predicted>(values_by_name(), "Said here.");
    r.derived("spread", Json{{"type", "object"}, {"additionalProperties", {{"type", "number"}}}},
              "Relative standard deviations.", [](const P& p) {
                Json json = Json::object();
                for (const auto& [which, name] : planner::kServingQuantityNames) {
                  json[std::string(name)] = p.spread[planner::place_of(which)];
                }
                return json;
              });
  });
}

const Record<planner::UnreadService>& unread_service_record() {
  return described([](Record<planner::UnreadService>& r) {
    using U = planner::UnreadService;
    r.about("A row that was left out.");
    r.row<&U::id>("Its name.");
    r.row<&U::line>("Its line.");
    r.row<&U::reason>("Why.");
  });
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
  return described([](Record<ServingBacktestFile>& r) {
    using F = ServingBacktestFile;
    r.about("Published points of services, predicted and compared.");
    r.file_of({"meshwright.serve_backtest/1"}, true);
    add_origin(r);
    r.row<&F::set>("The table.");
    r.row<&F::simulated>("Step by step; else in closed form.");
    r.row<&F::scores>(serving_score_record, "All, then by group.");
    r.row<&F::choices>("layout_choices", layout_choice_record,
                       "Whether the best layout was found.");
    r.row<&F::points>(serving_backtest_point_record, "Each point.");
    r.row<&F::unread>(unread_service_record, "Rows that were left out.");
  });
}

}  // namespace meshwright::reports
