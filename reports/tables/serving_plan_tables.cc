// SPDX-License-Identifier: Apache-2.0
#include "reports/tables/serving_plan_tables.h"

#include <fmt/format.h>

#include "reports/text/text.h"
#include "sim/base/number_text.h"

namespace meshwright::reports {
namespace {

Cell optional_ms(const std::optional<Seconds>& time) { return time ? time_in_ms(*time) : Cell(); }

Cell gpus_cell(const planner::ServingChoice& choice) {
  if (choice.gpus_low == 0 || choice.gpus_high == 0) {
    return Numbers{fmt::format("{}", choice.gpus), {{"gpus", choice.gpus}}};
  }
  return Numbers{
      fmt::format("{} ({}-{})", choice.gpus, choice.gpus_low, choice.gpus_high),
      {{"gpus", choice.gpus}, {"gpus_low", choice.gpus_low}, {"gpus_high", choice.gpus_high}}};
}

Cell ranged_cell(const std::string& key, const planner::Ranged& ranged) {
  return Numbers{fmt::format("{} ({}-{})", number_text(ranged.value, 3), number_text(ranged.low, 3),
                             number_text(ranged.high, 3)),
                 {{key, ranged.value}, {key + "_low", ranged.low}, {key + "_high", ranged.high}}};
}

// The first token at its percentile, or its mean.
Cell first_token_cell(const planner::ServingChoice& choice) {
  const planner::LatencyRange range =
      planner::latency_range(planner::limited_times(choice).ttft, choice.first_token_spread);
  const double low = range.low / milliseconds(1), high = range.high / milliseconds(1);
  return Numbers{fmt::format("{}-{}", number_text(low, 3), number_text(high, 3)),
                 {{"ttft_low_ms", low}, {"ttft_high_ms", high}}};
}

Cell idle_cell(const planner::ServiceState& state) {
  const double prefill = state.prefill_idle * 100, decode = state.decode_idle * 100;
  return Numbers{fmt::format("{:.0f}/{:.0f} %", prefill, decode),
                 {{"prefill_idle_percent", prefill}, {"decode_idle_percent", decode}}};
}

}  // namespace

Table serving_choices_table(const ServingPlanFile& file) {
  const bool asks_percentile = file.percentile > 0;
  const std::string at = "p" + number_text(file.percentile);
  Table table{"deployments",
              {{"rank", "", "", 3},
               {"deployment", "deployment", ""},
               {"gpus", "GPUs (90 %)", ""},
               {"ttft_ms", "mean TTFT", "ms", 3},
               {"tpot_ms", "mean TPOT", "ms", 3},
               {"ttft_at_ms", at + " TTFT", "ms", 3},
               {"tpot_at_ms", at + " TPOT", "ms", 3},
               {"ttft_range_ms", "TTFT 90 %", "ms"},
               {"source", "times", ""},
               {"tokens_per_second_per_gpu", "tok/s/GPU", "", 4},
               {"tokens_per_second_per_user", "tok/s/user", "", 3},
               {"largest_rate", asks_percentile ? "most by means" : "most", "req/s", 3},
               {"idle", "idle P/D", ""},
               {"meets", "meets", ""}},
              {}};
  double rank = 0;
  for (const planner::ServingChoice& one : file.plan.choices) {
    const bool pools = one.deployment.prefill.has_value();
    const planner::ServiceTimes means = planner::mean_times(one);
    table.rows.push_back(
        {++rank, planner::short_name(one.deployment), gpus_cell(one), time_in_ms(means.ttft),
         time_in_ms(means.tpot), optional_ms(one.simulated_ttft), optional_ms(one.simulated_tpot),
         first_token_cell(one), std::string(one.simulated ? "simulated" : "closed form"),
         one.tokens_per_second_per_gpu, one.tokens_per_second_per_user,
         one.largest_rate > 0 ? Cell(one.largest_rate) : Cell(),
         pools ? idle_cell(one.state) : Cell(), std::string(one.meets ? "yes" : "no")});
  }
  return without_empty_columns(table);
}

Table serving_money_table(const ServingPlanFile& file) {
  Table table{"cost of tokens at this load, with 90 % intervals",
              {{"deployment", "deployment", ""},
               {"per_hour", file.currency + " an hour", "", 4},
               {"million_input", file.currency + "/M input", ""},
               {"million_output", file.currency + "/M output", ""},
               {"million_tokens", file.currency + "/M tokens", ""},
               {"kwh", "all kWh/M output", ""}},
              {}};
  for (const planner::ServingChoice& one : file.plan.choices) {
    if (!one.money && !one.total_kwh_million_output) continue;
    const auto cell = [&](const char* key, planner::Ranged planner::ServingMoney::*part) {
      return one.money ? ranged_cell(key, (*one.money).*part) : Cell();
    };
    table.rows.push_back(
        {planner::short_name(one.deployment), one.money ? Cell(one.money->per_hour) : Cell(),
         cell("million_input", &planner::ServingMoney::million_input),
         cell("million_output", &planner::ServingMoney::million_output),
         cell("million_tokens", &planner::ServingMoney::million_total),
         one.total_kwh_million_output ? ranged_cell("kwh", *one.total_kwh_million_output)
                                      : Cell()});
  }
  return without_empty_columns(table);
}

Table serving_pareto_table(const ServingPlanFile& file) {
  Table table{"throughput of a GPU against speed of a user (closed form)",
              {{"deployment", "deployment", ""},
               {"users", "users", "", 4},
               {"ttft_ms", "TTFT", "ms", 3},
               {"tpot_ms", "TPOT", "ms", 3},
               {"tokens_per_second_per_gpu", "tok/s/GPU", "", 4},
               {"tokens_per_second_per_user", "tok/s/user", "", 3}},
              {}};
  for (const planner::ServingParetoPoint& one : file.plan.front) {
    table.rows.push_back({one.name, one.users, time_in_ms(one.ttft), time_in_ms(one.tpot),
                          one.tokens_per_second_per_gpu, one.tokens_per_second_per_user});
  }
  return table;
}

Table serving_rejections_table(const ServingPlanFile& file) {
  Table table{"layouts that were rejected",
              {{"rule", "rule", "", 4, false, nullptr, Face::name},
               {"count", "layouts", ""},
               {"nearest", "nearest", ""},
               {"sentence", "by how much", ""}},
              {}};
  for (const planner::ServingRejection& one : file.plan.rejections) {
    table.rows.push_back({one.rule, static_cast<double>(one.count), one.nearest, one.sentence});
  }
  return table;
}

Table serving_explanation_table(const ServingPlanFile& file) {
  Table table{"decode steps of the first two deployments, each at its own batch",
              {{"term", "term", ""},
               {"first_ms", "", "ms"},
               {"second_ms", "", "ms"},
               {"difference_ms", "difference", "ms", 3}},
              {}};
  if (file.explanation.empty() || file.plan.choices.size() < 2) return table;
  table.columns[1].heading = planner::short_name(file.plan.choices[0].deployment);
  table.columns[2].heading = planner::short_name(file.plan.choices[1].deployment);
  for (const planner::ServingTermDifference& one : file.explanation) {
    table.rows.push_back({spoken(name_of(one.term)), time_in_ms(one.first), time_in_ms(one.second),
                          (one.second - one.first) / milliseconds(1)});
  }
  return table;
}

Table serving_what_ifs_table(const ServingPlanFile& file) {
  const std::string at = file.percentile > 0 ? "p" + number_text(file.percentile) + " " : "mean ";
  Table table{"the same question with one thing changed (simulated)",
              {{"change", "change", ""},
               {"gpus", "GPUs", ""},
               {"deployment", "deployment", ""},
               {"ttft_ms", at + "TTFT", "ms", 3},
               {"tpot_ms", at + "TPOT", "ms", 3},
               {"million_output", file.currency + "/M output", "", 3}},
              {}};
  for (const planner::ServingWhatIf& one : file.what_ifs) {
    table.rows.push_back(
        {one.name, one.gpus > 0 ? Cell(static_cast<double>(one.gpus)) : Cell(),
         one.gpus > 0 ? one.deployment : std::string("none within the limits and rules"),
         optional_ms(one.ttft), optional_ms(one.tpot), optional_cell(one.million_output)});
  }
  return without_empty_columns(table);
}

Table serving_learning_table(const ServingPlanFile& file) {
  Table table{"results that were learnt from",
              {{"id", "configuration", ""},
               {"results", "results", ""},
               {"quantity", "quantity", ""},
               {"measured", "measured", "", 4},
               {"predicted", "predicted", "", 4},
               {"corrected", "corrected", "", 4},
               {"error_percent", "error then", "%", 3}},
              {}};
  if (!file.learning) return table;
  for (const planner::ServingEvidence& one : file.learning->evidence) {
    const bool is_rate = one.quantity == planner::ServingQuantity::output_tps;
    const double unit = is_rate ? 1.0 : 1e3;
    table.rows.push_back({one.id.substr(0, 48), static_cast<double>(one.results),
                          spoken(name_of(one.quantity)) + (is_rate ? ", tok/s" : ", ms"),
                          one.measured * unit, one.predicted * unit, one.corrected * unit,
                          (one.corrected / one.measured - 1.0) * 100.0});
  }
  return table;
}

Table serving_metrics_table(const ServingSimulationFile& file) {
  Table table{"what requests saw",
              {{"metric", "metric", ""},
               {"mean_ms", "mean", "ms"},
               {"p50_ms", "p50", "ms"},
               {"p90_ms", "p90", "ms"},
               {"p95_ms", "p95", "ms"},
               {"p99_ms", "p99", "ms"},
               {"closed_form_ms", "closed form", "ms"}},
              {}};
  const auto add = [&](const char* name, const Percentiles& p, std::optional<Seconds> steady) {
    table.rows.push_back({std::string(name), time_in_ms(p.mean), time_in_ms(p.p50),
                          time_in_ms(p.p90), time_in_ms(p.p95), time_in_ms(p.p99),
                          optional_ms(steady)});
  };
  const auto steady = [&](Seconds SteadyState::*part) -> std::optional<Seconds> {
    return file.steady ? std::optional((*file.steady).*part) : std::nullopt;
  };
  add("TTFT", file.metrics.ttft, steady(&SteadyState::ttft));
  add("TPOT (E2E - TTFT) / (O - 1)", file.metrics.tpot, steady(&SteadyState::tpot));
  add("TPOT inclusive, E2E / O", file.metrics.inclusive_tpot, std::nullopt);
  add("ITL", file.metrics.itl, std::nullopt);
  add("E2E", file.metrics.e2e, steady(&SteadyState::e2e));
  return without_empty_columns(table);
}

}  // namespace meshwright::reports
