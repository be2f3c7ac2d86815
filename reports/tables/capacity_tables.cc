// SPDX-License-Identifier: Apache-2.0
#include "reports/tables/capacity_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "reports/text/capacity_text.h"
#include "reports/text/text.h"
#include "sim/hardware/device_noun.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

const std::string& cluster_text(const CapacityRow& row) {
  return row.label.empty() ? row.cluster : row.label;
}

std::string limits_text(const CapacityRow& row) {
  return fmt::format("{}", fmt::join(row.limits, "; "));
}

// "*" recommended, "~" misses its limits by least.
std::string mark_of(const Capacity& capacity, const CapacityRow& row) {
  if (row.recommended) return "*";
  return row.id == capacity.closest ? "~" : "";
}

std::vector<Cell> narrow_row(const Capacity& capacity, const CapacityRow& row) {
  const std::string batch = row.schedule ? "schedule" : count_text(row.global_batch);
  const std::string limits = limits_text(row);
  std::vector<Cell> cells{mark_of(capacity, row), cluster_text(row), static_cast<double>(row.gpus),
                          batch};
  if (!row.fits) {
    cells.insert(cells.end(), 8, Cell());
    cells.emplace_back(limits);
    return cells;
  }
  const planner::Quantiles& speed = row.effective_tokens_per_second;
  const std::string time =
      capacity.tokens_stated
          ? fmt::format("{} ({})", number_text(row.days.p50, 3), span_text(row.days, 1.0))
          : fmt::format("{} ({} to {})", si_text(speed.p50), si_text(speed.p10),
                        si_text(speed.p90));
  cells.emplace_back(row.layout);
  cells.emplace_back(row.step.mid.value());
  cells.emplace_back(100.0 * row.goodput);
  cells.emplace_back(time);
  cells.emplace_back(row.done ? Cell(row.done->p90) : Cell());
  cells.emplace_back(row.cost
                         ? Cell(fmt::format("{} ({})", number_text(row.cost->p50 / kMillion, 3),
                                            span_text(*row.cost, kMillion)))
                         : Cell());
  cells.emplace_back(row.energy_mwh ? Cell(*row.energy_mwh / 1000.0) : Cell());
  cells.emplace_back(100.0 * row.scaling_efficiency);
  cells.emplace_back(limits.empty() ? Cell() : Cell(limits));
  return cells;
}

Table narrow_table(const Capacity& capacity, DeviceKind kind) {
  const bool stated = capacity.tokens_stated;
  const std::string of = stated ? "" : fmt::format(" of {}", si_text(capacity.train_tokens));
  Table table{"",
              {{"mark", "", ""},
               {"cluster", "cluster", ""},
               {"gpus", std::string(device_noun(kind, 2)), "", 7},
               {"global_batch", "batch", ""},
               {"layout", "best layout", ""},
               {"step_seconds", "step", "s", 3},
               {"goodput_percent", "goodput", "%", 3},
               {"time", stated ? "days (P10-P90)" : "tokens/s (P10-P90)", ""},
               {"done", "done (P90)", ""},
               {"cost", "cost" + of + ", M " + capacity.currency(), ""},
               {"energy_gwh", "energy" + of, "GWh", 3},
               {"efficiency_percent", "scaling", "%", 3},
               {"limits", "limits that fail", ""}},
              {}};
  for (const CapacityRow& row : capacity.rows) table.rows.push_back(narrow_row(capacity, row));
  return without_empty_columns(table);
}

template <typename Q>
void add_quantiles(std::vector<Cell>& cells, const std::optional<Q>& q) {
  cells.push_back(q ? Cell(q->p10) : Cell());
  cells.push_back(q ? Cell(q->p50) : Cell());
  cells.push_back(q ? Cell(q->p90) : Cell());
}

std::vector<Cell> wide_row(const CapacityRow& row, std::size_t columns) {
  std::vector<Cell> cells{cluster_text(row),
                          static_cast<double>(row.gpus),
                          static_cast<double>(row.global_batch),
                          static_cast<double>(row.seq_length),
                          row.schedule ? "yes" : "no",
                          row.recommended ? "yes" : "no",
                          limits_text(row)};
  if (!row.fits) {
    cells.resize(columns);
    return cells;
  }
  cells.insert(
      cells.end(),
      {short_name(row.layout_record), row.step.mid.value(), row.step.low.value(),
       row.step.high.value(), row.tokens_per_second, 100.0 * row.mfu, row.memory_gib,
       100.0 * row.goodput, row.checkpoint.interval.value(), row.checkpoint.size.value(),
       row.interruptions.expected.p50, static_cast<double>(row.interruptions.spare_nodes)});
  add_quantiles(cells, std::optional(row.effective_tokens_per_second));
  add_quantiles(cells, std::optional(row.days));
  add_quantiles(cells, row.done);
  add_quantiles(cells, std::optional(row.gpu_hours));
  add_quantiles(cells, row.cost);
  cells.emplace_back(row.cost ? Cell(row.cost->currency) : Cell());
  add_quantiles(cells, row.energy_mwh_range);
  cells.push_back(optional_cell(row.power_mw));
  add_quantiles(cells, row.co2_t);
  cells.emplace_back(100.0 * row.scaling_efficiency);
  return cells;
}

Table wide_table(const Capacity& capacity, DeviceKind kind) {
  Table table{"",
              {{"cluster", "cluster", ""},
               {"gpus", std::string(device_noun(kind, 2)), "", 7},
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
  add("gpu_hours", std::string(device_noun(kind)) + "-hours", "");
  add("cost", "cost", "");
  table.columns.push_back({"currency", "currency", ""});
  add("energy_mwh", "energy", "MWh");
  table.columns.push_back({"power_mw", "power", "MW"});
  add("co2_tonnes", "CO2", "t");
  table.columns.push_back({"scaling_efficiency_percent", "scaling", "%", 3});
  for (const CapacityRow& row : capacity.rows) {
    table.rows.push_back(wide_row(row, table.columns.size()));
  }
  return table;
}

}  // namespace

Table capacity_table(const Capacity& capacity, DeviceKind kind, bool wide) {
  return wide ? wide_table(capacity, kind) : narrow_table(capacity, kind);
}

Table time_table(const planner::TimeParts& time, double median_days) {
  const auto duration = [](double s) {
    return (s < 0.0 ? "-" : "") + duration_text(seconds(std::abs(s)));
  };
  Table table{"",
              {{"part", "part", ""},
               {"seconds", "time", "", 4, false, duration},
               {"share", "share of the elapsed time", "", 4, false, percent_text}},
              {}};
  const auto add = [&](std::string_view name, Seconds part) {
    table.rows.push_back({spoken(name), part.value(), part / time.elapsed});
  };
  add("productive steps", time.productive);
  for (const auto& [kind, name] : planner::kLostTimeNames) {
    if (time[kind].value() > 0.0) add(name, time[kind]);
  }
  add("elapsed, at the predicted inputs", time.elapsed);
  if (median_days > 0.0) {
    const Seconds median = seconds(median_days * 86400.0);
    add("effect of the ranges on the median", median - time.elapsed);
    add("elapsed, median (P50)", median);
  }
  return table;
}

Table phases_table(const std::vector<PhaseFacts>& phases) {
  const auto tokens = [](double count) { return si_text(count); };
  const auto duration = [](double s) { return seconds_text(seconds(s)); };
  Table table{"",
              {{"tokens", "tokens", "", 4, false, tokens},
               {"global_batch", "global batch", ""},
               {"seq_length", "tokens per sequence", ""},
               {"steps", "steps", ""},
               {"layout", "best layout", ""},
               {"step_seconds", "step", "", 4, false, duration}},
              {}};
  for (const PhaseFacts& phase : phases) {
    table.rows.push_back({phase.tokens, static_cast<double>(phase.global_batch),
                          static_cast<double>(phase.seq_length), phase.steps, phase.layout,
                          phase.step.mid.value()});
  }
  return table;
}

Table levers_table(const Capacity& capacity) {
  const std::string currency = capacity.currency();
  const bool stated = capacity.tokens_stated;
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
  using End = std::optional<LeverEnd>;
  const auto value = [](const End& end) { return end ? Cell(end->value) : Cell(); };
  const auto time = [&](const End& end) {
    if (!end || !end->fits) return Cell();
    return Cell(stated ? end->days.p50 : end->effective_tokens_per_second.p50);
  };
  const auto step = [&](const End& end) {
    return stated || !end || !end->fits ? Cell() : Cell(end->step.mid.value());
  };
  const auto cost = [](const End& end) {
    return end && end->cost ? Cell(end->cost->p50 / kMillion) : Cell();
  };
  for (const Lever& lever : capacity.levers) {
    table.rows.push_back({with_unit(lever.label, lever.unit), value(lever.low), lever.value,
                          value(lever.high), time(lever.low), time(lever.high), step(lever.low),
                          step(lever.high), cost(lever.low), cost(lever.high),
                          lever.choice ? "a choice" : lever.basis});
  }
  return without_empty_columns(table);
}

Table reference_table(const ReferenceFacts& reference, DeviceKind kind) {
  Table table{"",
              {{"part", "part", ""},
               {"gpu_hours_m", std::string(device_noun(kind)) + "-hours", "M", 4},
               {"reason", "why", ""}},
              {}};
  const auto add = [&](const std::string& part, double hours, const std::string& why) {
    table.rows.push_back({part, hours / kMillion, why});
  };
  add("this row", reference.gpu_hours, "median");
  for (const planner::ReferencePart& part : reference.parts) {
    add(part.name, part.gpu_hours, part.sentence);
  }
  add("stated", reference.stated_gpu_hours, reference.source);
  return table;
}

Table assumptions_table(const std::vector<planner::Assumption>& assumptions) {
  Table table{"",
              {{"input", "input", ""},
               {"value", "value", "", 3},
               {"low", "low", "", 3},
               {"high", "high", "", 3},
               {.key = "basis", .heading = "basis", .face = Face::source},
               {"in_interval", "in the range", "", 4, true},
               {"source", "source", ""}},
              {}};
  for (const planner::Assumption& a : assumptions) {
    const bool range = a.amount.high > a.amount.low;
    table.rows.push_back({with_unit(a.label, a.unit), a.amount.value,
                          range ? Cell(a.amount.low) : Cell(), range ? Cell(a.amount.high) : Cell(),
                          a.amount.basis, a.in_interval ? "yes" : "no", a.amount.source});
  }
  return table;
}

}  // namespace meshwright::reports
