// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/risks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "planner/capacity/failures.h"
#include "planner/capacity/limits.h"
#include "planner/questions/what_if.h"
#include "sim/base/number_text.h"
#include "sim/hardware/device_noun.h"

namespace meshwright::planner {
namespace {

constexpr double kSecondsPerMinute = 60.0;
constexpr double kLateDays = 30.0;

// What a row takes more than another.
void add_difference(Risk& risk, const CapacityRow& there, const CapacityRow& row) {
  if (!there.fits()) return;
  risk.days = there.run.days.p50 - row.run.days.p50;
  if (there.run.cost && row.run.cost) risk.cost = there.run.cost->p50 - row.run.cost->p50;
}

struct Asked {
  const CapacityQuestion& question;
  const CapacityRow& row;
  const LayoutFinder& finder;

  // The row with other options; its layouts stay.
  [[nodiscard]] CapacityRow with(const CapacityQuestion& other) const {
    const RowKey key{row.cluster_case, row.gpus, row.asked_batch_size,
                     fmt::format("{}", fmt::join(question.what_ifs, ",")), row.scheduled};
    return row_of(other, key, finder);
  }
};

// By how much a step of the published run was longer than its prediction.
std::optional<double> published_excess(const CapacityQuestion& question,
                                       const std::optional<ReferenceComparison>& reference) {
  if (!reference || !question.options.reference->step_seconds) return std::nullopt;
  for (const ReferencePart& part : reference->parts) {
    if (part.name == "step" && part.ratio > 1.0) return part.ratio - 1.0;
  }
  return std::nullopt;
}

// As far as a published run was from its prediction, else to the end of the interval.
Risk software_risk(const Asked& asked, const std::optional<ReferenceComparison>& reference) {
  const CapacityPhase& phase = asked.row.main_phase();
  const auto published = published_excess(asked.question, reference);
  const double excess =
      published.value_or(phase.estimate.step_time_high / phase.estimate.step_time - 1.0);
  CapacityQuestion slower = asked.question;
  slower.options.step_factor *= 1.0 + excess;
  Risk risk{
      .name = "software",
      .what = fmt::format("steps take {} % longer than predicted", number_text(excess * 100.0, 2)),
      .how_likely = published ? "a published run did" : "1 in 20: end of the 90 % interval",
      .settled_by = "5 steps with meshwright trial"};
  add_difference(risk, asked.with(slower), asked.row);
  return risk;
}

std::optional<Risk> restart_risk(const Asked& asked) {
  const FailureOptions& f = asked.question.options.failures;
  const double now = f.detection_seconds.value + f.restart_seconds.value;
  const double low = f.detection_seconds.low + f.restart_seconds.low;
  const double high = f.detection_seconds.high + f.restart_seconds.high;
  if (high <= now) return std::nullopt;
  Risk risk{.name = "restart",
            .what = fmt::format("a restart takes {} minutes, not {}",
                                number_text(high / kSecondsPerMinute, 3),
                                number_text(now / kSecondsPerMinute, 3)),
            .how_likely = fmt::format("{}: {} to {} minutes", f.restart_seconds.basis,
                                      number_text(low / kSecondsPerMinute, 3),
                                      number_text(high / kSecondsPerMinute, 3)),
            .settled_by = "restart log of the last large job"};
  add_difference(risk, asked.with(with_restart_time(asked.question, high)), asked.row);
  return risk;
}

std::optional<Risk> failures_risk(const Asked& asked) {
  const Ranged& rate = asked.question.options.failures.per_thousand_node_days;
  if (rate.high <= rate.value) return std::nullopt;
  CapacityQuestion other = asked.question;
  Ranged& turned = other.options.failures.per_thousand_node_days;
  turned = times(turned, rate.high / rate.value);
  Risk risk{.name = "failures",
            .what = fmt::format("{} failures per 1,000 node-days, not {}",
                                number_text(rate.high, 3), number_text(rate.value, 3)),
            .how_likely = fmt::format("{}: {} to {}", rate.basis, number_text(rate.low, 3),
                                      number_text(rate.high, 3)),
            .settled_by = "failure log of this fleet, 30 days"};
  add_difference(risk, asked.with(other), asked.row);
  return risk;
}

// A cell of the grid of what-ifs.
std::optional<Risk> network_risk(const Asked& asked, const WhatIfGrid& grid) {
  const double rate = asked.question.options.failures.per_thousand_node_days.value;
  for (const WhatIfCell& cell : grid.cells) {
    const bool own = cell.batch_factor == 1.0 && cell.gpus == asked.row.gpus &&
                     cell.network_factor == 0.5 && cell.failure_rate == rate;
    if (!own) continue;
    const Scenario scenario{
        asked.question.model,
        scaled_to(asked.question.clusters[asked.row.cluster_case].cluster, asked.row.gpus),
        asked.row.main_phase().job};
    Risk risk{.name = "network",
              .what = "the network between nodes has half its bandwidth",
              .how_likely = fmt::format(
                  "bandwidth: {}",
                  name_of(provenance_of(WhatIfParameter::inter_node_bandwidth, scenario))),
              .settled_by = "nccl-tests, one day"};
    add_difference(risk, cell.row, asked.row);
    return risk;
  }
  return std::nullopt;
}

std::optional<Risk> spares_risk(const Asked& asked) {
  const CapacityRow& row = asked.row;
  if (row.run.spare_nodes == 0) return std::nullopt;
  Risk risk{.name = "spares",
            .what = fmt::format("{} spare {} reserved, not more", count_text(row.run.spare_nodes),
                                row.run.spare_nodes == 1 ? "node is" : "nodes are"),
            .how_likely = fmt::format(
                "enough {} % of the time; repair: {} {}",
                number_text(asked.question.options.failures.spares_target.value * 100.0, 3),
                number_text(asked.question.options.failures.repair_days.value, 2),
                asked.question.options.failures.repair_days.value == 1.0 ? "day" : "days"),
            .settled_by = "repair time in the supplier's contract"};
  if (row.run.cost && row.run.cost_parts) {
    CapacityQuestion doubled = asked.question;
    doubled.options.failures.spare_nodes = 2 * row.run.spare_nodes;
    risk.what = fmt::format("{} more spare {} needed", count_text(row.run.spare_nodes),
                            row.run.spare_nodes == 1 ? "node is" : "nodes are");
    add_difference(risk, asked.with(doubled), row);
  }
  return risk;
}

// Days to spare after a month's delay of the devices.
Risk arrival_risk(const Asked& asked) {
  const auto allowed = days_allowed(asked.question.options);
  Risk risk{.name = "arrival",
            .what = fmt::format("{} arrive {} days late",
                                with_device_noun("GPUs", asked.question.device_kind()), kLateDays),
            .how_likely = "not modelled",
            .settled_by = "the supplier's delivery date",
            .days = kLateDays};
  if (allowed) {
    const double spare = *allowed - asked.row.run.days.p90 - kLateDays;
    risk.settled_by +=
        fmt::format("; {} days {} the deadline (P90)", number_text(std::abs(spare), 3),
                    spare >= 0.0 ? "before" : "after");
  }
  return risk;
}

}  // namespace

std::vector<Risk> risks_of(const CapacityQuestion& question, const CapacityRow& row,
                           const Levers& levers,
                           const std::optional<ReferenceComparison>& reference,
                           const LayoutFinder& finder) {
  if (!question.train_tokens) return {};
  const Asked asked{question, row, finder};
  std::vector<Risk> risks{software_risk(asked, reference)};
  for (const auto& risk : {restart_risk(asked), failures_risk(asked),
                           network_risk(asked, levers.grid), spares_risk(asked)}) {
    if (risk) risks.push_back(*risk);
  }
  std::stable_sort(risks.begin(), risks.end(), [](const Risk& a, const Risk& b) {
    return a.days.value_or(0.0) > b.days.value_or(0.0);
  });
  risks.push_back(arrival_risk(asked));
  return risks;
}

}  // namespace meshwright::planner
