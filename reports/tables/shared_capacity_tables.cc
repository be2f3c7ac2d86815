// SPDX-License-Identifier: Apache-2.0
#include "reports/tables/shared_capacity_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "reports/text/capacity_text.h"
#include "reports/text/shared_capacity_text.h"
#include "reports/text/text.h"
#include "sim/hardware/device_noun.h"

namespace meshwright::reports {
namespace {

// "*" recommended, "~" comes nearest.
std::string shared_mark(const SharedCapacity& capacity, const SharedRowFacts& row) {
  if (row.recommended) return "*";
  return capacity.closest == row.id ? "~" : "";
}

std::string shared_failures(const SharedRowFacts& row) {
  return row.fits ? fmt::format("{}", fmt::join(row.limits, "; ")) : row.reason;
}

std::string hour_counts(const SharedRowFacts& row, int planner::SharedHour::*gpus) {
  return span_of_hours(row.hours, gpus, "-");
}

std::vector<Cell> narrow_shared_row(const SharedCapacity& capacity, const SharedRowFacts& row) {
  std::vector<Cell> cells{shared_mark(capacity, row), row.cluster, static_cast<double>(row.gpus)};
  const std::string failures = shared_failures(row);
  if (!row.fits) {
    cells.insert(cells.end(), 8, Cell());
    cells.emplace_back(failures);
    return cells;
  }
  cells.emplace_back(hour_counts(row, &planner::SharedHour::service_gpus));
  cells.emplace_back(hour_counts(row, &planner::SharedHour::training_gpus));
  cells.emplace_back(hour_counts(row, &planner::SharedHour::free_gpus));
  cells.emplace_back(row.layout);
  cells.emplace_back(
      fmt::format("{} ({})", number_text(row.days.p50, 3), span_text(row.days, 1.0)));
  cells.emplace_back(row.cost
                         ? Cell(fmt::format("{} ({})", number_text(row.cost->p50 / kMillion, 3),
                                            span_text(*row.cost, kMillion)))
                         : Cell());
  cells.push_back(optional_cell(row.million_tokens));
  cells.emplace_back(100.0 * (row.shares.service + row.shares.training));
  cells.emplace_back(failures.empty() ? Cell() : Cell(failures));
  return cells;
}

void add_shared_quantiles(std::vector<Cell>& cells, const std::optional<planner::Quantiles>& q) {
  cells.push_back(q ? Cell(q->p10) : Cell());
  cells.push_back(q ? Cell(q->p50) : Cell());
  cells.push_back(q ? Cell(q->p90) : Cell());
}

std::vector<Cell> wide_shared_row(const SharedRowFacts& row, std::size_t columns) {
  std::vector<Cell> cells{row.cluster, static_cast<double>(row.gpus),
                          row.recommended ? "yes" : "no", shared_failures(row)};
  if (!row.fits) {
    cells.resize(columns);
    return cells;
  }
  cells.insert(cells.end(),
               {std::string(planner::name_of(row.rule)), static_cast<double>(row.training_gpus),
                row.layout, row.step.mid.value(), 100.0 * row.mfu, 100.0 * row.goodput,
                static_cast<double>(row.resizes)});
  add_shared_quantiles(cells, row.days);
  add_shared_quantiles(cells, row.cost);
  add_shared_quantiles(cells, row.energy_mwh);
  cells.insert(cells.end(),
               {100.0 * row.shares.service, 100.0 * row.shares.training, 100.0 * row.shares.spare,
                100.0 * row.shares.free, 100.0 * row.service_load});
  cells.push_back(optional_cell(row.service_cost_per_day));
  cells.push_back(optional_cell(row.million_tokens));
  return cells;
}

Table wide_shared_table(const SharedCapacity& capacity) {
  Table table{"",
              {{"cluster", "cluster", ""},
               {"gpus", std::string(device_noun(capacity.device_kind, 2)), "", 7},
               {"recommended", "recommended", ""},
               {"limits", "limits that fail", ""},
               {"training_rule", "rule", ""},
               {"training_gpus", "training", "", 7},
               {"layout", "layout", ""},
               {"step_seconds", "step", "s"},
               {"model_flops_utilization_percent", "MFU", "%", 3},
               {"goodput_percent", "goodput", "%", 3},
               {"resizes", "resizes", ""},
               {"days_p10", "days P10", ""},
               {"days_p50", "days P50", ""},
               {"days_p90", "days P90", ""},
               {"cost_p10", "cost P10", capacity.currency},
               {"cost_p50", "cost P50", capacity.currency},
               {"cost_p90", "cost P90", capacity.currency},
               {"energy_p10_mwh", "energy P10", "MWh"},
               {"energy_p50_mwh", "energy P50", "MWh"},
               {"energy_p90_mwh", "energy P90", "MWh"},
               {"service_percent", "service", "%", 3},
               {"training_percent", "training", "%", 3},
               {"spare_percent", "spare", "%", 3},
               {"free_percent", "free", "%", 3},
               {"service_load_percent", "service load", "%", 3},
               {"service_cost_per_day", "cost of the service a day", capacity.currency},
               {"cost_per_million_tokens", "cost per million tokens", capacity.currency}},
              {}};
  for (const SharedRowFacts& row : capacity.rows) {
    table.rows.push_back(wide_shared_row(row, table.columns.size()));
  }
  return table;
}

Cell milliseconds_cell(const std::optional<Seconds>& time) {
  return time ? Cell(*time / milliseconds(1)) : Cell();
}

}  // namespace

Table shared_rows_table(const SharedCapacity& capacity, bool wide) {
  if (wide) return wide_shared_table(capacity);
  Table table{"",
              {{"mark", "", ""},
               {"cluster", "cluster", ""},
               {"gpus", std::string(device_noun(capacity.device_kind, 2)), "", 7},
               {"service_gpus", "service", ""},
               {"training_gpus", "training", ""},
               {"free_gpus", "free", ""},
               {"layout", "layout of the training", ""},
               {"time", "days (P10-P90)", ""},
               {"cost", "cost, M " + capacity.currency, ""},
               {"cost_per_million_tokens", "cost per million tokens", capacity.currency, 3},
               {"used_percent", "used", "%", 3},
               {"limits", "why not", ""}},
              {}};
  for (const SharedRowFacts& row : capacity.rows) {
    table.rows.push_back(narrow_shared_row(capacity, row));
  }
  return without_empty_columns(table);
}

Table shared_hours_table(const SharedCapacity& capacity) {
  Table table{"",
              {{"hour", "hour", "", 3},
               {"requests_per_second", "requests", "1/s", 4},
               {"peak_requests_per_second", "peak", "1/s", 4},
               {"replicas", "replicas", "", 7},
               {"held_replicas", "held", "", 7},
               {"ttft_ms", "TTFT", "ms", 4},
               {"tpot_ms", "TPOT", "ms", 3},
               {"ttft_at_percentile_ms", "TTFT at percentile", "ms", 4},
               {"tpot_at_percentile_ms", "TPOT at percentile", "ms", 3},
               {"service_gpus", "service", "", 7},
               {"training_gpus", "training", "", 7},
               {"spare_gpus", "spare", "", 7},
               {"free_gpus", "free", "", 7}},
              {}};
  const SharedRowFacts* front = capacity.front();
  const SharedServiceFacts* service = front == nullptr ? nullptr : capacity.service_of(*front);
  if (service == nullptr) return table;
  for (std::size_t h = 0; h < front->hours.size() && h < service->hours.size(); ++h) {
    const planner::ServiceHour& served = service->hours[h];
    const planner::SharedHour& hour = front->hours[h];
    table.rows.push_back(
        {static_cast<double>(h), served.requests_per_second, served.peak_requests_per_second,
         static_cast<double>(served.replicas), static_cast<double>(served.held_replicas),
         milliseconds_cell(served.ttft), milliseconds_cell(served.tpot),
         milliseconds_cell(served.ttft_at_percentile), milliseconds_cell(served.tpot_at_percentile),
         static_cast<double>(hour.service_gpus), static_cast<double>(hour.training_gpus),
         static_cast<double>(hour.spare_gpus), static_cast<double>(hour.free_gpus)});
  }
  return without_empty_columns(table);
}

}  // namespace meshwright::reports
