// SPDX-License-Identifier: Apache-2.0
#include "reports/tables/regime_report.h"

#include <fmt/format.h>

#include <cmath>

#include "sim/base/statistics.h"
#include "sim/step/step_interval.h"

namespace meshwright::reports {
namespace {

using planner::LeftOut;
using planner::RegimeTables;
using planner::SetErrors;

std::string title_of(LeftOut what) {
  switch (what) {
    case LeftOut::framework:
      return "Held out: the framework (none is named)";
    case LeftOut::cluster:
      return "Held out: the cluster (neither its fit nor scalars fitted on it alone)";
    case LeftOut::device:
      return "Held out: the device (datasheet rates; software known, then unknown). For "
             "comparison, NeuSight on devices that it never measured: 8.1 % mean, 28 % worst";
    case LeftOut::groups:
      return "Held out: each group of runs of a machine, predicted from a fit on its other "
             "groups";
  }
  return "";
}

double percent_of(double logarithm) { return 100.0 * (std::exp(logarithm) - 1.0); }

// |predicted / measured - 1| of each run, in per cent.
std::vector<double> absolute_errors(const SetErrors& set) {
  std::vector<double> errors;
  for (const double e : set.errors) errors.push_back(100.0 * std::abs(std::exp(-e) - 1.0));
  return errors;
}

const planner::SetCoverage* coverage_of(const SetErrors& set, const RegimeTables& tables) {
  for (const planner::SetCoverage& c : tables.coverage) {
    const SetErrors& judged = tables.judged[c.set];
    if (judged.set == set.set && judged.framework == set.framework && judged.regime == set.regime &&
        judged.experts == set.experts && judged.errors == set.errors) {
      return &c;
    }
  }
  return nullptr;
}

std::string kind_text(bool experts) { return experts ? "experts" : "dense"; }

Json errors_to_json(const SetErrors& set) {
  const planner::SetSpread spread = planner::set_spread(set);
  Json json{{"set", set.set}, {"framework", set.framework}, {"kind", kind_text(set.experts)}};
  json["interval_regime"] = name_of(set.regime);
  json["runs"] = set.errors.size();
  json["bias"] = spread.bias;
  json["own"] = spread.own;
  json["between_layouts"] = spread.between_layouts ? Json(*spread.between_layouts) : Json();
  return json;
}

}  // namespace

Table left_out_table(LeftOut what, const RegimeTables& tables) {
  Table table{title_of(what),
              {{"set", "set", ""},
               {"framework", "framework", ""},
               {"kind", "kind", ""},
               {"regime", "regime", ""},
               {"runs", "runs", "", 5},
               {"mean_error_percent", "mean error", "%", 3},
               {"worst_error_percent", "worst", "%", 3},
               {"bias_percent", "bias (shared)", "%", 3},
               {"own_percent", "own spread", "%", 3},
               {"inside_percent", "inside, left out", "%", 3},
               {"width_percent", "width", "%", 3}},
              {}};
  for (const SetErrors& set : tables.tables[static_cast<std::size_t>(what)]) {
    const planner::SetSpread spread = planner::set_spread(set);
    const std::vector<double> errors = absolute_errors(set);
    const planner::SetCoverage* coverage = coverage_of(set, tables);
    table.rows.push_back({set.set, set.framework.empty() ? "none" : set.framework,
                          kind_text(set.experts), std::string(name_of(set.regime)),
                          static_cast<double>(set.errors.size()), mean(errors),
                          quantile(errors, 1.0), percent_of(spread.bias), percent_of(spread.own),
                          coverage != nullptr ? Cell(100.0 * coverage->inside) : Cell(),
                          coverage != nullptr ? Cell(percent_of(coverage->width)) : Cell()});
  }
  return table;
}

Table regimes_table(const RegimeTables& tables) {
  Table table{
      "Spreads by calibration level, and the share of runs inside the 90 % interval "
      "made without their data set; each data set has the same weight",
      {{"regime", "regime", ""},
       {"kind", "kind", ""},
       {"sets", "sets", "", 4},
       {"bias_percent", "bias", "%", 3},
       {"shared_percent", "shared", "%", 3},
       {"own_percent", "own", "%", 3},
       {"between_layouts_percent", "between layouts", "%", 3},
       {"low_percent", "interval from", "%", 3},
       {"high_percent", "to", "%", 3},
       {"inside_percent", "inside, dense and experts", "%", 3}},
      {}};
  for (const planner::RegimeRow& row : tables.rows) {
    const RegimeSpread& s = row.spread;
    const StepInterval interval = step_interval(seconds(1), s);
    const auto pooled = planner::pooled_coverage(tables, row.regime);
    table.rows.push_back(
        {std::string(name_of(row.regime)), kind_text(row.experts),
         static_cast<double>(row.own_data ? s.sets : 0), percent_of(s.bias), percent_of(s.shared),
         percent_of(s.own), percent_of(s.between_layouts), 100.0 * (interval.low.value() - 1.0),
         100.0 * (interval.high.value() - 1.0), pooled ? Cell(100.0 * *pooled) : Cell()});
  }
  return table;
}

Table reliability_table(const std::string& title, const planner::JudgedChoices& choices) {
  std::vector<planner::Outcome01> fastest, faster;
  double expected = 0.0, real = 0.0;
  for (const planner::JudgedChoice& c : choices.choices) {
    fastest.push_back({c.probability, c.was_fastest});
    expected += 100.0 * c.expected_loss / static_cast<double>(choices.choices.size());
    real += 100.0 * c.real_loss / static_cast<double>(choices.choices.size());
  }
  for (const planner::JudgedPair& p : choices.pairs)
    faster.push_back({p.probability, p.was_faster});
  Table table{
      fmt::format("{}: expected loss {:.2f} %, real {:.2f} % of a step", title, expected, real),
      {{"question", "question", ""},
       {"from_percent", "said from", "%", 3},
       {"to_percent", "to", "%", 3},
       {"count", "times", "", 6},
       {"said_percent", "said, mean", "%", 3},
       {"true_percent", "true", "%", 3},
       {"brier", "Brier score", "", 3}},
      {}};
  const auto add = [&](const std::string& question, const planner::Reliability& found) {
    for (const planner::ReliabilityBin& bin : found.bins) {
      if (bin.count == 0) continue;
      table.rows.push_back({question, 100.0 * bin.from, 100.0 * bin.to,
                            static_cast<double>(bin.count), 100.0 * bin.mean_probability,
                            100.0 * bin.frequency, Cell()});
    }
    if (found.count == 0) return;
    table.rows.push_back({question + ", all", 0.0, 100.0, static_cast<double>(found.count), Cell(),
                          Cell(), found.brier});
  };
  add("fastest of all", planner::reliability(fastest));
  add("faster than another", planner::reliability(faster));
  return table;
}

Table learning_table(const std::vector<planner::LearningCurve>& curves) {
  Table table{
      "Errors of the other runs after K calibration runs: the most informative, and "
      "any",
      {{"set", "set", ""},
       {"runs", "runs", "", 5},
       {"known", "K", "", 3},
       {"median_error_percent", "median error", "%", 3},
       {"random_median_error_percent", "any", "%", 3},
       {"regret_percent", "regret", "%", 3},
       {"random_regret_percent", "any", "%", 3},
       {"inside_percent", "inside", "%", 3},
       {"random_inside_percent", "any", "%", 3},
       {"width_percent", "width", "%", 3},
       {"random_width_percent", "any", "%", 3}},
      {}};
  const auto cell = [](const std::optional<double>& value) {
    return value ? Cell(*value) : Cell();
  };
  for (const planner::LearningCurve& curve : curves) {
    for (std::size_t i = 0; i < curve.telling.size(); ++i) {
      const planner::CurvePoint& p = curve.telling[i];
      const planner::CurvePoint& r = curve.random[i];
      table.rows.push_back({curve.set, static_cast<double>(curve.runs), static_cast<double>(p.runs),
                            p.median_error_percent, r.median_error_percent, cell(p.regret_percent),
                            cell(r.regret_percent), p.coverage_percent, r.coverage_percent,
                            p.width_percent, r.width_percent});
    }
  }
  return table;
}

Json learning_to_json(const std::vector<planner::LearningCurve>& curves) {
  Json json{{"schema", "meshwright.learning/1"}, {"sets", Json::array()}};
  const auto points = [](const std::vector<planner::CurvePoint>& curve) {
    Json rows = Json::array();
    for (const planner::CurvePoint& p : curve) {
      rows.push_back({{"known", p.runs},
                      {"median_error_percent", p.median_error_percent},
                      {"regret_percent", p.regret_percent ? Json(*p.regret_percent) : Json()},
                      {"inside_percent", p.coverage_percent},
                      {"width_percent", p.width_percent}});
    }
    return rows;
  };
  for (const planner::LearningCurve& curve : curves) {
    json["sets"].push_back({{"set", curve.set},
                            {"runs", curve.runs},
                            {"picked", points(curve.telling)},
                            {"random", points(curve.random)}});
  }
  return json;
}

Json spreads_to_json(const RegimeTables& tables, const std::string& source) {
  Json json{{"schema", "meshwright.spreads/1"}, {"source", source}};
  json["frameworks"] = tables.frameworks;
  const auto rounded = [](double value) { return std::round(value * 1e4) / 1e4; };
  for (const planner::RegimeRow& row : tables.rows) {
    json["regimes"][std::string(name_of(row.regime))][kind_text(row.experts)] =
        Json{{"sets", row.own_data ? row.spread.sets : 0},
             {"bias", rounded(row.spread.bias)},
             {"shared", rounded(row.spread.shared)},
             {"own", rounded(row.spread.own)},
             {"between_layouts", rounded(row.spread.between_layouts)},
             {"between_degrees", rounded(row.spread.between_degrees)}};
  }
  for (const bool experts : {false, true}) {
    const planner::OwnPrior& prior = tables.own_priors[experts ? 1 : 0];
    json["own_prior"][kind_text(experts)] =
        Json{{"scale", rounded(prior.scale)}, {"degrees", rounded(prior.degrees)}};
  }
  return json;
}

Json regime_tables_to_json(const RegimeTables& tables) {
  Json json{{"schema", "meshwright.regimes/1"}};
  for (const auto& what : planner::kLeftOutNames) {
    Json& rows = json["left_out"][std::string(what.name)] = Json::array();
    for (const SetErrors& set : tables.tables[static_cast<std::size_t>(what.value)]) {
      rows.push_back(errors_to_json(set));
    }
  }
  Json& regimes = json["regimes"] = Json::array();
  for (const planner::RegimeRow& row : tables.rows) {
    const auto pooled = planner::pooled_coverage(tables, row.regime);
    regimes.push_back({{"interval_regime", name_of(row.regime)},
                       {"kind", kind_text(row.experts)},
                       {"sets", row.spread.sets},
                       {"bias", row.spread.bias},
                       {"shared", row.spread.shared},
                       {"own", row.spread.own},
                       {"between_layouts", row.spread.between_layouts},
                       {"inside_percent", pooled ? Json(100.0 * *pooled) : Json()}});
  }
  return json;
}

}  // namespace meshwright::reports
