// SPDX-License-Identifier: Apache-2.0
#include "reports/capacity_json.h"

#include <fmt/format.h>

#include "reports/capacity_text.h"
#include "reports/text.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

Json to_json(const planner::Quantiles& q) {
  return {{"p10", q.p10}, {"p50", q.p50}, {"p90", q.p90}};
}

Json to_json(const std::optional<planner::Quantiles>& q) { return q ? to_json(*q) : Json(); }

Json to_json(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json cost_to_json(const planner::TrainingRun& run, const std::string& currency) {
  if (!run.cost) return {};
  Json json = to_json(*run.cost);
  json["currency"] = currency;
  const planner::CostParts& parts = *run.cost_parts;
  json["parts"] = {{"gpus", parts.gpus},
                   {"spare_nodes", parts.spare_nodes},
                   {"spare_gpus", parts.spare_gpus()},
                   {"hours", parts.hours},
                   {"price_per_gpu_hour", parts.price},
                   {"range_factor", parts.range_factor}};
  return json;
}

std::string id_of(const planner::CapacityAnswer& answer, const planner::CapacityRow& row) {
  return fmt::format("{}/{}/{}", answer.question.clusters[row.cluster_case].name, row.gpus,
                     row.scheduled ? "schedule" : std::to_string(row.global_batch_size));
}

Json id_or_null(const planner::CapacityAnswer& answer, const std::optional<std::size_t>& place) {
  return place ? Json(id_of(answer, answer.rows[*place])) : Json();
}

Json step_to_json(const Estimate& e) {
  return {{"low", e.step_time_low.value()},
          {"mid", e.step_time.value()},
          {"high", e.step_time_high.value()}};
}

Json phase_to_json(const planner::CapacityPhase& phase) {
  return {{"tokens", phase.tokens},
          {"steps", phase.steps},
          {"global_batch", phase.job.global_batch_size},
          {"seq_length", phase.job.seq_length},
          {"layout", brief_name(phase.estimate.layout)},
          {"step_s", step_to_json(phase.estimate)}};
}

Json terms_to_json(const Estimate& estimate) {
  Json json = Json::object();
  for (const Term& term : estimate.terms) {
    if (term.cost.time.value() > 0.0)
      json[std::string(name_of(term.kind))] = term.cost.time.value();
  }
  return json;
}

Json checkpoint_to_json(const planner::CheckpointPlan& plan) {
  return {{"bytes", plan.size.value()},
          {"interval_s", plan.interval.value()},
          {"young_interval_s", plan.young_interval.value()},
          {"pause_s", plan.pause.value()},
          {"persist_s", plan.persist.value()},
          {"load_s", plan.load.value()}};
}

// The parts add up to elapsed_s.
Json time_to_json(const planner::TimeParts& time) {
  Json json{{"elapsed_s", time.elapsed.value()}, {"productive_s", time.productive.value()}};
  json["lost_s"] = Json::object();
  for (const auto& entry : planner::kLostTimeNames) {
    json["lost_s"][std::string(entry.name)] = time[entry.value].value();
  }
  return json;
}

Json interruptions_to_json(const planner::TrainingRun& run) {
  return {{"expected", to_json(run.failures)},
          {"mean_time_between_h", run.disruption.mean_time_between.value() / 3600.0},
          {"spare_nodes", run.spare_nodes}};
}

// The days of the calendar on which it ends; null where no start is stated.
Json done_to_json(const planner::CapacityOptions& options, const planner::Quantiles& days) {
  if (!options.start) return {};
  const auto at = [&](double d) {
    return planner::date_text(planner::last_day(*options.start, d));
  };
  return {{"p10", at(days.p10)}, {"p50", at(days.p50)}, {"p90", at(days.p90)}};
}

// What every row says, whether a layout fits or not, and then what the run takes. Decision tables,
// levers and what-ifs read the same names.
Json run_to_json(const planner::CapacityRow& row, const planner::CapacityOptions& options) {
  Json json{{"gpus", row.gpus},
            {"global_batch", row.global_batch_size},
            {"schedule", row.scheduled},
            {"fits", row.fits()},
            {"limits", row.broken_limits}};
  if (!row.fits()) {
    json["limits"] = {row.reason};
    return json;
  }
  const Estimate& estimate = row.main_phase().estimate;
  json["layout"] = brief_name(estimate.layout);
  json["step_s"] = step_to_json(estimate);
  json["mfu"] = estimate.model_flops_utilization;
  json["memory_share"] = row.memory_share;
  json["goodput"] = row.run.time.goodput();
  json["effective_tokens_per_second"] = to_json(row.tokens_per_second);
  json["days"] = to_json(row.run.days);
  json["done"] = done_to_json(options, row.run.days);
  json["gpu_hours"] = to_json(row.run.gpu_hours);
  json["cost"] = cost_to_json(row.run, options.prices.currency);
  json["energy_mwh"] = row.run.energy_mwh ? Json(row.run.energy_mwh->p50) : Json();
  return json;
}

Json row_to_json(const planner::CapacityAnswer& answer, std::size_t place) {
  const planner::CapacityRow& row = answer.rows[place];
  const planner::CapacityQuestion& question = answer.question;
  const planner::ClusterCase& cluster = question.clusters[row.cluster_case];
  Json json{{"id", id_of(answer, row)},
            {"cluster", cluster.name},
            {"cluster_name", cluster.cluster.name},
            {"device", only_device(cluster.cluster).name},
            {"seq_length", row.seq_length},
            {"recommended", answer.recommendation.recommended == place}};
  json.update(run_to_json(row, question.options));
  if (!row.fits()) return json;
  const Estimate& estimate = row.main_phase().estimate;
  json["layout_name"] = short_name(estimate.layout);
  json["layout_record"] = meshwright::to_json(estimate.layout);
  json["tokens_per_second"] = estimate.tokens_per_second_per_gpu * row.gpus;
  json["memory_gib"] = in_gibibytes(estimate.peak_memory());
  json["provenance"] = name_of(estimate.provenance);
  json["terms_s"] = terms_to_json(estimate);
  json["cost_explanation"] = cost_explanation(answer, row);
  json["energy_mwh_range"] = to_json(row.run.energy_mwh);
  json["power_mw"] = to_json(row.run.megawatts);
  json["power_mw_high"] = to_json(row.run.megawatts_high);
  json["power_mw_waiting"] = to_json(row.run.megawatts_waiting);
  json["load"] = row.run.load;
  json["co2_t"] = to_json(row.run.co2_tonnes);
  json["scaling_efficiency"] = row.efficiency;
  json["goodput_meta"] = to_json(row.run.meta_ettr);
  json["checkpoint"] = checkpoint_to_json(row.run.checkpoint);
  json["interruptions"] = interruptions_to_json(row.run);
  json["time"] = time_to_json(row.run.time);
  json["phases"] = Json::array();
  for (const planner::CapacityPhase& phase : row.phases) {
    json["phases"].push_back(phase_to_json(phase));
  }
  return json;
}

Json series_to_json(const planner::CapacityAnswer& answer, const planner::ScalingSeries& series) {
  Json json{{"cluster", answer.question.clusters[series.cluster_case].name},
            {"global_batch", series.global_batch_size},
            {"schedule", series.scheduled},
            {"steps", Json::array()},
            {"bends_at_gpus", Json()},
            {"sentence", bend_of(answer, series)}};
  for (const planner::ScalingStep& step : series.steps) {
    json["steps"].push_back({{"from_gpus", answer.rows[step.from].gpus},
                             {"to_gpus", answer.rows[step.to].gpus},
                             {"gain", step.gain},
                             {"term", step.term},
                             {"share_of_growth", step.share_of_growth}});
  }
  if (series.bend) json["bends_at_gpus"] = answer.rows[series.steps[*series.bend].to].gpus;
  return json;
}

Json amount_to_json(const planner::Ranged& amount) {
  return {{"value", amount.value},
          {"low", amount.low},
          {"high", amount.high},
          {"basis", amount.basis},
          {"source", amount.source}};
}

Json assumption_to_json(const planner::Assumption& assumption) {
  Json json{{"name", assumption.name},
            {"label", assumption.label},
            {"unit", assumption.unit},
            {"in_interval", assumption.in_interval}};
  json.update(amount_to_json(assumption.amount));
  return json;
}

Json end_to_json(const std::optional<planner::LeverEnd>& end,
                 const planner::CapacityOptions& options, const std::string& place) {
  if (!end) return {};
  Json json{{"value", end->value}, {"options", place + end->options}};
  json.update(run_to_json(end->row, options));
  return json;
}

// Cluster and batch of a row, as options.
std::string place_of(const planner::CapacityAnswer& answer, const planner::CapacityRow& row) {
  const planner::CapacityQuestion& question = answer.question;
  const planner::ClusterCase& asked = question.clusters[row.cluster_case];
  std::string text =
      fmt::format("--cluster {} ", shell_word(asked.file.empty() ? asked.name : asked.file));
  return text + fmt::format("--global-batch-size {} ",
                            row.scheduled ? "schedule" : std::to_string(row.asked_batch_size));
}

Json lever_to_json(const planner::Lever& lever, const planner::CapacityOptions& options,
                   const std::string& place) {
  return {{"name", lever.name},
          {"label", lever.label},
          {"unit", lever.unit},
          {"choice", lever.choice},
          {"basis", lever.basis},
          {"relative_spread", lever.relative_spread},
          {"value", lever.value},
          {"swing_days", lever.swing_days},
          {"low", end_to_json(lever.low, options, place)},
          {"high", end_to_json(lever.high, options, place)}};
}

Json grid_to_json(const planner::CapacityAnswer& answer, const std::string& place) {
  const planner::WhatIfGrid& grid = answer.levers.grid;
  Json json{{"axes",
             {{"batch_factor", grid.batch_factors},
              {"gpus", grid.gpus},
              {"network_factor", grid.network_factors},
              {"failure_rate", grid.failure_rates}}},
            {"order", {"batch_factor", "gpus", "network_factor", "failure_rate"}},
            {"cells", Json::array()}};
  for (const planner::WhatIfCell& cell : grid.cells) {
    Json entry = run_to_json(cell.row, answer.question.options);
    entry["options"] = place + planner::options_of(answer.question, cell);
    json["cells"].push_back(std::move(entry));
  }
  return json;
}

Json limits_to_json(const planner::CapacityLimits& limits) {
  return {{"deadline_days", to_json(limits.deadline_days)},
          {"deadline", limits.deadline ? Json(planner::date_text(*limits.deadline)) : Json()},
          {"budget", to_json(limits.budget)},
          {"max_megawatts", to_json(limits.max_megawatts)},
          {"max_gpus", limits.max_gpus ? Json(*limits.max_gpus) : Json()}};
}

Json prices_to_json(const planner::PriceList& prices) {
  if (prices.prices.empty()) return {};
  return {{"name", prices.name},
          {"date", prices.date},
          {"currency", prices.currency},
          {"example", prices.example},
          {"source", prices.source}};
}

void add_levers(Json& json, const planner::CapacityAnswer& answer) {
  const planner::CapacityOptions& options = answer.question.options;
  json["levers"] = Json::array();
  json["what_if"] = Json();
  const planner::CapacityRow* front = answer.front();
  if (front == nullptr || answer.levers.levers.empty()) return;
  const std::string place = place_of(answer, *front);
  for (const planner::Lever& lever : answer.levers.levers) {
    json["levers"].push_back(lever_to_json(lever, options, place));
  }
  json["what_if"] = grid_to_json(answer, place);
}

}  // namespace

namespace {

// The parts add up to what is stated less the row's.
Json reference_to_json(const planner::CapacityAnswer& answer) {
  if (!answer.reference) return {};
  const planner::ReferenceRun& run = *answer.question.options.reference;
  const planner::ReferenceComparison& comparison = *answer.reference;
  Json json{{"name", run.name},
            {"source", run.source},
            {"row", id_of(answer, answer.rows[comparison.row])},
            {"gpus", run.gpus},
            {"stated_gpu_hours", run.gpu_hours},
            {"stated_step_s", to_json(run.step_seconds)},
            {"stated_mfu", to_json(run.model_flops_utilization)},
            {"stated_goodput", to_json(run.goodput)},
            {"stated_mean_time_between_h", to_json(run.mean_time_between_hours)},
            {"gpu_hours", comparison.gpu_hours},
            {"schedule_gpu_hours", to_json(comparison.schedule_gpu_hours)},
            {"parts", Json::array()}};
  for (const planner::ReferencePart& part : comparison.parts) {
    json["parts"].push_back(
        {{"name", part.name}, {"gpu_hours", part.gpu_hours}, {"sentence", part.sentence}});
  }
  return json;
}

}  // namespace

Json capacity_to_json(const planner::CapacityAnswer& answer, const std::string& command) {
  const planner::CapacityQuestion& question = answer.question;
  const planner::Recommendation& choice = answer.recommendation;
  const auto& start = question.options.start;
  Json json{{"train_tokens", question.tokens()},
            {"tokens_stated", question.train_tokens.has_value()},
            {"start", start ? Json(planner::date_text(*start)) : Json()},
            {"command", command},
            {"verdict", verdict_of(answer)},
            {"planned", id_or_null(answer, answer.planned)},
            {"recommended", id_or_null(answer, choice.recommended)},
            {"closest", id_or_null(answer, choice.closest)},
            {"reason", choice.reason},
            {"smallest", id_or_null(answer, choice.smallest)},
            {"cheapest", id_or_null(answer, choice.cheapest)},
            {"fastest", id_or_null(answer, choice.fastest)},
            {"limits", limits_to_json(question.options.limits)},
            {"prices", prices_to_json(question.options.prices)}};
  json["rows"] = Json::array();
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    json["rows"].push_back(row_to_json(answer, i));
  }
  json["scaling"] = Json::array();
  for (const planner::ScalingSeries& series : answer.scaling) {
    json["scaling"].push_back(series_to_json(answer, series));
  }
  json["reference"] = reference_to_json(answer);
  add_levers(json, answer);
  json["assumptions"] = Json::array();
  json["included"] = Json::array();
  if (const planner::CapacityRow* front = answer.front()) {
    for (const planner::Assumption& a : planner::assumptions_of(question, *front)) {
      json["assumptions"].push_back(assumption_to_json(a));
    }
    json["included"] = planner::included_in(question, *front);
  }
  json["not_included"] = planner::left_out_of(question);
  return json;
}

Json capacity_record(const planner::CapacityAnswer& answer, const Origin& origin,
                     const std::string& command) {
  Json json = artefact(kCapacitySchema, origin);
  json["model"] = meshwright::to_json(answer.question.model);
  json["job"] = meshwright::to_json(answer.question.clusters.front().job);
  json["what_ifs"] = answer.question.what_ifs;
  std::vector<std::string> notes;
  for (const planner::ClusterCase& asked : answer.question.clusters) {
    if (!asked.note.empty()) notes.push_back(asked.note);
  }
  if (!notes.empty()) json["notes"] = notes;
  json["capacity"] = capacity_to_json(answer, command);
  return json;
}

}  // namespace meshwright::reports
