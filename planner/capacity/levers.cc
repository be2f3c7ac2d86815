// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/levers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "planner/questions/what_if.h"
#include "sim/base/text.h"
#include "sim/hardware/device_noun.h"
#include "sim/hardware/node_count.h"
#include "sim/layout/short_name.h"

namespace meshwright::planner {
namespace {

constexpr std::array kFactors{0.5, 1.0, 2.0};

std::string joined_changes(std::string changes, const std::string& more) {
  if (!more.empty()) append_to_list(changes, ",", more);
  return changes;
}

std::string with_what_if(const CapacityQuestion& question, const std::string& more) {
  return joined_changes(fmt::format("{}", fmt::join(question.what_ifs, ",")), more);
}

std::string factor_text(const char* parameter, double factor) {
  return factor == 1.0 ? "" : fmt::format("{}={:.4g}x", parameter, factor);
}

// What of the command line an entry states itself.
std::string options_text(const CapacityQuestion& question, int gpus, const std::string& what_if,
                         const std::string& more = "") {
  std::string text = fmt::format("--gpus {}", gpus);
  for (const StatedLayout& stated : question.layouts) {
    const auto layout = filled(stated, gpus, question.clusters.front().cluster.framework.limits);
    text += fmt::format(" --layout '{}'", short_name(layout.value_or(stated.layout)));
  }
  const std::string what_ifs = with_what_if(question, what_if);
  if (!what_ifs.empty()) text += " --what-if " + what_ifs;
  return text + (more.empty() ? "" : " ") + more;
}

RowKey key_of(const CapacityQuestion& question, const CapacityRow& row, int gpus,
              const std::string& what_if) {
  // The row's own batch, before a what-if scales it.
  return {row.cluster_case, gpus, row.asked_batch_size, with_what_if(question, what_if),
          row.scheduled};
}

std::vector<int> counts_near(const CapacityQuestion& question, const CapacityRow& row) {
  const Cluster& cluster = question.clusters[row.cluster_case].cluster;
  std::vector<int> counts;
  for (const double factor : kFactors) {
    const int count = static_cast<int>(row.gpus * factor);
    if (has_count(cluster, count)) counts.push_back(count);
  }
  return counts;
}

CapacityQuestion with_failure_rate(CapacityQuestion question, double rate) {
  Ranged& range = question.options.failures.per_thousand_node_days;
  range = times(range, rate / range.value);
  return question;
}

void fill_grid(WhatIfGrid& grid, const CapacityQuestion& question, const CapacityRow& row,
               LayoutFinder& finder, const CapacityProgress& progress) {
  const Ranged& rate = question.options.failures.per_thousand_node_days;
  const auto fill = node_fill(question.clusters[row.cluster_case].cluster, row.gpus);
  const bool several_nodes = fill && fill->num_nodes > 1;
  grid.batch_factors.assign(kFactors.begin(), kFactors.end());
  grid.gpus = counts_near(question, row);
  grid.network_factors = {1.0};
  if (several_nodes) grid.network_factors.assign(kFactors.begin(), kFactors.end());
  grid.failure_rates = {rate.low, rate.value, rate.high};
  if (rate.low == rate.high) grid.failure_rates = {rate.value};
  std::vector<std::pair<WhatIfCell, RowKey>> cells;
  std::vector<SearchKey> searches;
  for (const double batch : grid.batch_factors) {
    for (const int gpus : grid.gpus) {
      for (const double network : grid.network_factors) {
        const std::string what_if = joined_changes(factor_text("global_batch_size", batch),
                                                   factor_text("inter_node_bandwidth", network));
        const RowKey key = key_of(question, row, gpus, what_if);
        for (const SearchKey& search : searches_of(question, key)) searches.push_back(search);
        for (const double failures : grid.failure_rates) {
          cells.push_back({{batch, gpus, network, failures, {}}, key});
        }
      }
    }
  }
  finder.find(searches, progress);
  for (auto& [cell, key] : cells) {
    cell.row = row_of(with_failure_rate(question, cell.failure_rate), key, finder);
    grid.cells.push_back(std::move(cell));
  }
}

LeverEnd end_of(const CapacityQuestion& question, const RowKey& key, LayoutFinder& finder,
                double value, std::string options) {
  return {value, std::move(options), row_of(question, key, finder)};
}

// The ends are cells of the grid: nothing new is searched.
Lever batch_lever(const CapacityQuestion& question, const CapacityRow& row, LayoutFinder& finder) {
  Lever lever{.name = "global_batch_size", .label = "global batch", .unit = "sequences"};
  lever.choice = true;
  lever.value = row.global_batch_size;
  const auto end = [&](double factor) {
    const std::string what_if = factor_text("global_batch_size", factor);
    const RowKey key = key_of(question, row, row.gpus, what_if);
    return end_of(question, key, finder, row.global_batch_size * factor,
                  options_text(question, row.gpus, what_if));
  };
  lever.low = end(kFactors.front());
  lever.high = end(kFactors.back());
  return lever;
}

Lever gpus_lever(const CapacityQuestion& question, const CapacityRow& row, LayoutFinder& finder) {
  Lever lever{.name = "gpus", .unit = ""};
  lever.label = device_noun(question.clusters[row.cluster_case].cluster, 2);
  lever.choice = true;
  lever.value = row.gpus;
  for (const int gpus : counts_near(question, row)) {
    if (gpus == row.gpus) continue;
    auto& end = gpus < row.gpus ? lever.low : lever.high;
    end = end_of(question, key_of(question, row, gpus, ""), finder, gpus,
                 options_text(question, gpus, ""));
  }
  return lever;
}

// One standard deviation of the rate; layouts do not depend on it.
Lever failures_lever(const CapacityQuestion& question, const CapacityRow& row,
                     LayoutFinder& finder) {
  const Ranged& rate = question.options.failures.per_thousand_node_days;
  Lever lever{.name = "failure_rate",
              .label = "failures",
              .unit = "per 1,000 node-days",
              .basis = rate.basis,
              .relative_spread = log_deviation(rate),
              .value = rate.value};
  if (lever.relative_spread <= 0.0) return lever;
  const RowKey key = key_of(question, row, row.gpus, "");
  const auto end = [&](double sign) {
    const double value = rate.value * std::exp(sign * lever.relative_spread);
    return end_of(
        with_failure_rate(question, value), key, finder, value,
        options_text(question, row.gpus, "", fmt::format("--failure-rate {:.6g}", value)));
  };
  lever.low = end(-1.0);
  lever.high = end(1.0);
  return lever;
}

using Turned = CapacityQuestion (*)(CapacityQuestion, double);

// An input of the run, turned by one standard deviation; layouts do not depend on it. `option`
// states its value.
Lever run_lever(Lever lever, const CapacityQuestion& question, const CapacityRow& row,
                const LayoutFinder& finder, Turned turned, const char* option) {
  if (lever.relative_spread <= 0.0) return lever;
  const RowKey key = key_of(question, row, row.gpus, "");
  const auto end = [&](double sign) -> LeverEnd {
    const double value = lever.value * std::exp(sign * lever.relative_spread);
    return {value, options_text(question, row.gpus, "", fmt::format("{} {:.6g}", option, value)),
            row_of(turned(question, value), key, finder)};
  };
  lever.low = end(-1.0);
  lever.high = end(1.0);
  return lever;
}

std::vector<Lever> run_levers(const CapacityQuestion& question, const CapacityRow& row,
                              const LayoutFinder& finder) {
  const FailureOptions& f = question.options.failures;
  const CheckpointOptions& c = question.options.checkpoint;
  const Ranged& storage = c.storage_gb_per_s_per_node;
  const Ranged& pue = question.options.power.pue;
  std::vector<Lever> levers;
  levers.push_back(run_lever({.name = "restart_time",
                              .label = "time from a failure to the restart",
                              .unit = "s",
                              .basis = f.restart_seconds.basis,
                              .relative_spread = log_deviation(f.restart_seconds),
                              .value = f.detection_seconds.value + f.restart_seconds.value},
                             question, row, finder, with_restart_time, "--restart-time"));
  if (!c.load_seconds || !c.persist_seconds) {
    levers.push_back(
        run_lever({.name = "storage_gb_per_s_per_node",
                   .label = "storage",
                   .unit = with_device_noun("GB/s per node of 8 GPUs",
                                            question.clusters[row.cluster_case].cluster),
                   .basis = storage.basis,
                   .relative_spread = log_deviation(storage),
                   .value = storage.value},
                  question, row, finder, with_storage, "--storage"));
  }
  if (row.kilowatts) {
    levers.push_back(run_lever({.name = "pue",
                                .label = "power usage effectiveness",
                                .basis = pue.basis,
                                .relative_spread = log_deviation(pue),
                                .value = pue.value},
                               question, row, finder, with_pue, "--pue"));
  }
  return levers;
}

// None, and twice as many: they are paid for and wait.
Lever spares_lever(const CapacityQuestion& question, const CapacityRow& row,
                   const LayoutFinder& finder) {
  Lever lever{.name = "spare_nodes", .label = "spare nodes", .choice = true};
  lever.value = row.run.spare_nodes;
  if (row.run.spare_nodes == 0) return lever;
  const auto end = [&](int nodes) -> LeverEnd {
    CapacityQuestion other = question;
    other.options.failures.spare_nodes = nodes;
    return {static_cast<double>(nodes),
            options_text(question, row.gpus, "", fmt::format("--spares {}", nodes)),
            row_of(other, key_of(question, row, row.gpus, ""), finder)};
  };
  lever.low = end(0);
  lever.high = end(2 * row.run.spare_nodes);
  return lever;
}

Lever price_lever(const CapacityQuestion& question, const CapacityRow& row, LayoutFinder& finder) {
  Lever lever{
      .name = "price_per_gpu_hour",
      .label = with_device_noun("price per GPU-hour", question.clusters[row.cluster_case].cluster),
      .unit = question.options.prices.currency,
      .basis = row.price->basis,
      .relative_spread = log_deviation(*row.price),
      .value = row.price->value};
  if (lever.relative_spread <= 0.0) return lever;
  const auto end = [&](double sign) {
    const double value = row.price->value * std::exp(sign * lever.relative_spread);
    CapacityQuestion priced = question;
    priced.options.prices.prices = {{question.clusters[row.cluster_case].name, "", stated(value)}};
    return end_of(priced, key_of(question, row, row.gpus, ""), finder, value,
                  options_text(question, row.gpus, "", fmt::format("--price {:.6g}", value)));
  };
  lever.low = end(-1.0);
  lever.high = end(1.0);
  return lever;
}

// No share of a peak is above 1.
double physical(const WhatIfParameterText& words, double value, double factor) {
  return words.of_peak && value > 0.0 ? std::min(factor, 1.0 / value) : factor;
}

// `fixed` has the row's layouts.
Lever input_lever(const CapacityQuestion& fixed, const CapacityRow& row, LayoutFinder& finder,
                  const Scenario& today, const WhatIfParameterText& words) {
  Lever lever{.name = std::string(words.name),
              .label = std::string(words.label),
              .unit = std::string(words.unit),
              .basis = std::string(name_of(provenance_of(words.parameter, today))),
              .relative_spread = relative_spread(words.parameter, today),
              .value = value_of(words.parameter, today)};
  const auto end = [&](double sign) {
    const double factor = physical(words, lever.value, std::exp(sign * lever.relative_spread));
    const std::string what_if = fmt::format("{}={:.6g}x", words.name, factor);
    const RowKey key = key_of(fixed, row, row.gpus, what_if);
    finder.find(searches_of(fixed, key));
    return end_of(fixed, key, finder, lever.value * factor, options_text(fixed, row.gpus, what_if));
  };
  lever.low = end(-1.0);
  lever.high = end(1.0);
  return lever;
}

void add_input_levers(std::vector<Lever>& levers, const CapacityQuestion& question,
                      const CapacityRow& row) {
  CapacityQuestion fixed = question;
  fixed.layouts.clear();
  for (const CapacityPhase& phase : row.phases) {
    fixed.layouts.push_back({phase.estimate.layout, {}, true});
  }
  LayoutFinder finder(fixed);
  const Scenario today =
      finder.scenario(searches_of(fixed, key_of(fixed, row, row.gpus, "")).front());
  for (const WhatIfParameterText& words : all_parameters()) {
    const bool turns =
        changes_time(words.parameter) && relative_spread(words.parameter, today) > 0.0;
    if (turns) levers.push_back(input_lever(fixed, row, finder, today, words));
  }
}

double days_at(const std::optional<LeverEnd>& end, const CapacityRow& today) {
  return end && end->row.fits() ? end->row.run.days.p50 : today.run.days.p50;
}

double cost_at(const std::optional<LeverEnd>& end, const CapacityRow& today) {
  const CapacityRow& row = end && end->row.fits() ? end->row : today;
  return row.run.cost ? row.run.cost->p50 : 0.0;
}

}  // namespace

CapacityQuestion with_restart_time(CapacityQuestion question, double seconds) {
  FailureOptions& f = question.options.failures;
  const double factor = seconds / (f.detection_seconds.value + f.restart_seconds.value);
  f.detection_seconds = times(f.detection_seconds, factor);
  f.restart_seconds = times(f.restart_seconds, factor);
  return question;
}

CapacityQuestion with_storage(CapacityQuestion question, double gb_per_s_per_node) {
  Ranged& storage = question.options.checkpoint.storage_gb_per_s_per_node;
  storage = times(storage, gb_per_s_per_node / storage.value);
  return question;
}

CapacityQuestion with_pue(CapacityQuestion question, double pue) {
  Ranged& range = question.options.power.pue;
  range = times(range, pue / range.value);
  return question;
}

std::string options_of(const CapacityQuestion& question, const WhatIfCell& cell) {
  return options_text(question, cell.gpus,
                      joined_changes(factor_text("global_batch_size", cell.batch_factor),
                                     factor_text("inter_node_bandwidth", cell.network_factor)),
                      fmt::format("--failure-rate {:.6g}", cell.failure_rate));
}

Levers levers_of(const CapacityQuestion& question, const CapacityRow& row, LayoutFinder& finder,
                 const CapacityProgress& progress) {
  Levers found;
  fill_grid(found.grid, question, row, finder, progress);
  found.levers.push_back(batch_lever(question, row, finder));
  found.levers.push_back(gpus_lever(question, row, finder));
  found.levers.push_back(failures_lever(question, row, finder));
  for (Lever& lever : run_levers(question, row, finder)) found.levers.push_back(std::move(lever));
  if (row.price) {
    found.levers.push_back(spares_lever(question, row, finder));
    found.levers.push_back(price_lever(question, row, finder));
  }
  add_input_levers(found.levers, question, row);
  // What is taken as exact turns nothing.
  std::erase_if(found.levers, [](const Lever& lever) { return !lever.low && !lever.high; });
  for (Lever& lever : found.levers) {
    lever.swing_days = std::abs(days_at(lever.high, row) - days_at(lever.low, row));
    lever.swing_cost = std::abs(cost_at(lever.high, row) - cost_at(lever.low, row));
  }
  std::stable_sort(found.levers.begin(), found.levers.end(),
                   [](const Lever& a, const Lever& b) { return a.swing_days > b.swing_days; });
  return found;
}

}  // namespace meshwright::planner
