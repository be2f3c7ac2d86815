// SPDX-License-Identifier: Apache-2.0
#include "reports/capacity_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "reports/capacity_text.h"
#include "reports/text.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

constexpr double kSecondsPerDay = 86400.0;

// "*" recommended, "~" misses its limits by least.
std::string mark_of(const planner::CapacityAnswer& answer, std::size_t place) {
  if (answer.recommendation.recommended == place) return "*";
  return answer.recommendation.closest == place ? "~" : "";
}

std::string limits_text(const planner::CapacityRow& row) {
  if (!row.fits()) return row.reason;
  return fmt::format("{}", fmt::join(row.broken_limits, "; "));
}

std::string span_or_dash(const std::optional<planner::Quantiles>& q, double unit) {
  return q ? span_text(*q, unit) : "-";
}

std::vector<Cell> narrow_row(const planner::CapacityAnswer& answer, std::size_t place) {
  const planner::CapacityRow& row = answer.rows[place];
  const std::string batch = row.scheduled ? "schedule" : count_text(row.global_batch_size);
  std::vector<Cell> cells{mark_of(answer, place), name_of_case(answer, row),
                          static_cast<double>(row.gpus), batch};
  if (!row.fits()) {
    cells.insert(cells.end(), 8, Cell());
    cells.emplace_back(limits_text(row));
    return cells;
  }
  const planner::TrainingRun& run = row.run;
  const auto& start = answer.question.options.start;
  const std::string time =
      answer.question.train_tokens
          ? fmt::format("{} ({})", number_text(run.days.p50, 3), span_text(run.days, 1.0))
          : fmt::format("{} ({} to {})", si_text(row.tokens_per_second.p50),
                        si_text(row.tokens_per_second.p10), si_text(row.tokens_per_second.p90));
  const std::string cost = run.cost
                               ? fmt::format("{} ({})", number_text(run.cost->p50 / kMillion, 3),
                                             span_or_dash(run.cost, kMillion))
                               : "";
  cells.emplace_back(brief_name(row.main_phase().estimate.layout));
  cells.emplace_back(row.main_phase().estimate.step_time.value());
  cells.emplace_back(100.0 * row.run.time.goodput());
  cells.emplace_back(time);
  cells.emplace_back(start ? Cell(planner::date_text(planner::last_day(*start, run.days.p90)))
                           : Cell());
  cells.emplace_back(run.cost ? Cell(cost) : Cell());
  cells.emplace_back(run.energy_mwh ? Cell(run.energy_mwh->p50 / 1000.0) : Cell());
  cells.emplace_back(100.0 * row.efficiency);
  const std::string limits = limits_text(row);
  cells.emplace_back(limits.empty() ? Cell() : Cell(limits));
  return cells;
}

Table narrow_table(const planner::CapacityAnswer& answer) {
  const bool stated = answer.question.train_tokens.has_value();
  const std::string of = stated ? "" : fmt::format(" of {}", si_text(answer.question.tokens()));
  Table table{"",
              {{"mark", "", ""},
               {"cluster", "cluster", ""},
               {"gpus", std::string(device_noun(answer, 2)), "", 7},
               {"global_batch", "batch", ""},
               {"layout", "best layout", ""},
               {"step_seconds", "step", "s", 3},
               {"goodput_percent", "goodput", "%", 3},
               {"time", stated ? "days (10-90 %)" : "tokens/s (10-90 %)", ""},
               {"done", "done, 90 %", ""},
               {"cost", "cost" + of + ", M " + answer.question.options.prices.currency, ""},
               {"energy_gwh", "energy" + of, "GWh", 3},
               {"efficiency_percent", "scaling", "%", 3},
               {"limits", "limits that fail", ""}},
              {}};
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    table.rows.push_back(narrow_row(answer, i));
  }
  return without_empty_columns(table);
}

void add_quantiles(std::vector<Cell>& cells, const std::optional<planner::Quantiles>& q) {
  cells.push_back(q ? Cell(q->p10) : Cell());
  cells.push_back(q ? Cell(q->p50) : Cell());
  cells.push_back(q ? Cell(q->p90) : Cell());
}

std::vector<Cell> wide_row(const planner::CapacityAnswer& answer, std::size_t place,
                           std::size_t columns) {
  const planner::CapacityRow& row = answer.rows[place];
  const planner::TrainingRun& run = row.run;
  const std::string mark = answer.recommendation.recommended == place ? "yes" : "no";
  std::vector<Cell> cells{name_of_case(answer, row),
                          static_cast<double>(row.gpus),
                          static_cast<double>(row.global_batch_size),
                          static_cast<double>(row.seq_length),
                          row.scheduled ? "yes" : "no",
                          mark,
                          limits_text(row)};
  if (!row.fits()) {
    cells.resize(columns);
    return cells;
  }
  const Estimate& e = row.main_phase().estimate;
  const auto& start = answer.question.options.start;
  cells.insert(
      cells.end(),
      {short_name(e.layout), e.step_time.value(), e.step_time_low.value(), e.step_time_high.value(),
       e.tokens_per_second_per_gpu * row.gpus, 100.0 * e.model_flops_utilization,
       in_gibibytes(e.peak_memory()), 100.0 * run.time.goodput(), run.checkpoint.interval.value(),
       run.checkpoint.size.value(), run.time.failures, static_cast<double>(run.spare_nodes)});
  add_quantiles(cells, row.tokens_per_second);
  add_quantiles(cells, run.days);
  for (const double days : {run.days.p10, run.days.p50, run.days.p90}) {
    cells.emplace_back(start ? Cell(planner::date_text(planner::last_day(*start, days))) : Cell());
  }
  add_quantiles(cells, run.gpu_hours);
  add_quantiles(cells, run.cost);
  cells.emplace_back(run.cost ? Cell(answer.question.options.prices.currency) : Cell());
  add_quantiles(cells, run.energy_mwh);
  cells.push_back(optional_cell(run.megawatts));
  add_quantiles(cells, run.co2_tonnes);
  cells.emplace_back(100.0 * row.efficiency);
  return cells;
}

Table wide_table(const planner::CapacityAnswer& answer) {
  Table table{"",
              {{"cluster", "cluster", ""},
               {"gpus", std::string(device_noun(answer, 2)), "", 7},
               {"global_batch", "batch", ""},
               {"seq_length", "sequence", ""},
               {"schedule", "schedule", ""},
               {"recommended", "recommended", ""},
               {"limits", "limits that fail", ""},
               {"layout", "best layout", ""},
               {"step_seconds", "step", "s"},
               {"step_low_seconds", "low", "s"},
               {"step_high_seconds", "high", "s"},
               {"tokens_per_second", "tokens", "1/s"},
               {"model_flops_utilization_percent", "MFU", "%", 3},
               {"memory_gib", "memory", "GiB", 3},
               {"goodput_percent", "goodput", "%", 3},
               {"checkpoint_interval_seconds", "checkpoint each", "s"},
               {"checkpoint_bytes", "checkpoint", "bytes"},
               {"interruptions", "interruptions", ""},
               {"spare_nodes", "spares", "nodes"}},
              {}};
  const auto add = [&](const std::string& key, const std::string& heading,
                       const std::string& unit) {
    for (const char* quantile : {"p10", "p50", "p90"}) {
      table.columns.push_back({key + "_" + quantile, heading + " " + quantile, unit});
    }
  };
  add("effective_tokens_per_second", "tokens with failures", "1/s");
  add("days", "days", "");
  add("done", "done", "");
  add("gpu_hours", std::string(device_noun(answer)) + "-hours", "");
  add("cost", "cost", "");
  table.columns.push_back({"currency", "currency", ""});
  add("energy_mwh", "energy", "MWh");
  table.columns.push_back({"power_mw", "power", "MW"});
  add("co2_tonnes", "CO2", "t");
  table.columns.push_back({"scaling_efficiency_percent", "scaling", "%", 3});
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    table.rows.push_back(wide_row(answer, i, table.columns.size()));
  }
  return table;
}

}  // namespace

Table capacity_table(const planner::CapacityAnswer& answer, bool wide) {
  return wide ? wide_table(answer) : narrow_table(answer);
}

Table time_table(const planner::CapacityRow& row) {
  Table table{
      "", {{"part", "time", ""}, {"days", "days", "", 3}, {"share_percent", "share", "%", 3}}, {}};
  const planner::TimeParts& time = row.run.time;
  const auto add = [&](std::string_view name, Seconds part) {
    if (part.value() == 0.0) return;
    table.rows.push_back(
        {std::string(name), part.value() / kSecondsPerDay, 100.0 * (part / time.elapsed)});
  };
  add("productive", time.productive);
  for (const auto& entry : planner::kLostTimeNames) add(entry.name, time[entry.value]);
  add("elapsed", time.elapsed);
  return table;
}

Table levers_table(const planner::CapacityAnswer& answer) {
  const std::string& currency = answer.question.options.prices.currency;
  const bool stated = answer.question.train_tokens.has_value();
  const std::string what = stated ? "days" : "tokens/s";
  Table table{"",
              {{"lever", "lever", ""},
               {"low", "low", "", 3},
               {"value", "current", "", 3},
               {"high", "high", "", 3},
               {stated ? "days_low" : "tokens_per_second_low", what + " at low", "", 3},
               {stated ? "days_high" : "tokens_per_second_high", what + " at high", "", 3},
               {"step_low", stated ? "" : "step at low", "s", 3},
               {"step_high", stated ? "" : "step at high", "s", 3},
               {"cost_low", "cost at low", "M " + currency, 3},
               {"cost_high", "cost at high", "M " + currency, 3},
               {"basis", "spread is", "", 4, true}},
              {}};
  using End = std::optional<planner::LeverEnd>;
  const auto at = [](const End& end, const auto& number) {
    return end && end->row.fits() ? Cell(number(end->row)) : Cell();
  };
  const auto time = [&](const planner::CapacityRow& row) {
    return stated ? row.run.days.p50 : row.tokens_per_second.p50;
  };
  const auto step = [&](const End& end) {
    if (stated || !end || !end->row.fits()) return Cell();
    return Cell(end->row.main_phase().estimate.step_time.value());
  };
  const auto cost = [](const End& end) {
    return end && end->row.fits() && end->row.run.cost ? Cell(end->row.run.cost->p50 / kMillion)
                                                       : Cell();
  };
  for (const planner::Lever& lever : answer.levers.levers) {
    table.rows.push_back({with_unit(lever.label, lever.unit),
                          lever.low ? Cell(lever.low->value) : Cell(), lever.value,
                          lever.high ? Cell(lever.high->value) : Cell(), at(lever.low, time),
                          at(lever.high, time), step(lever.low), step(lever.high), cost(lever.low),
                          cost(lever.high), lever.choice ? "a choice" : lever.basis});
  }
  return without_empty_columns(table);
}

Table reference_table(const planner::CapacityAnswer& answer) {
  const planner::ReferenceComparison& reference = *answer.reference;
  Table table{"",
              {{"part", "part", ""},
               {"gpu_hours_m", std::string(device_noun(answer)) + "-hours", "M", 4},
               {"reason", "why", ""}},
              {}};
  const auto add = [&](const std::string& part, double hours, const std::string& why) {
    table.rows.push_back({part, hours / kMillion, why});
  };
  add("this row", reference.gpu_hours, "median");
  for (const planner::ReferencePart& part : reference.parts) {
    add(part.name, part.gpu_hours, part.sentence);
  }
  const planner::ReferenceRun& run = *answer.question.options.reference;
  add("stated", run.gpu_hours, run.source);
  return table;
}

Table assumptions_table(const std::vector<planner::Assumption>& assumptions) {
  Table table{"",
              {{"input", "input", ""},
               {"value", "value", "", 3},
               {"low", "low", "", 3},
               {"high", "high", "", 3},
               {"basis", "basis", ""},
               {"source", "source", ""}},
              {}};
  for (const planner::Assumption& a : assumptions) {
    const bool range = a.amount.high > a.amount.low;
    table.rows.push_back({with_unit(a.label, a.unit), a.amount.value,
                          range ? Cell(a.amount.low) : Cell(), range ? Cell(a.amount.high) : Cell(),
                          a.amount.basis, a.amount.source});
  }
  return table;
}

}  // namespace meshwright::reports
