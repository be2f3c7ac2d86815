// SPDX-License-Identifier: Apache-2.0
#include "app/commands/capacity_text.h"

#include <fmt/format.h>

#include "app/commands/answers_text.h"
#include "app/console/terminal.h"
#include "app/options/output.h"
#include "reports/tables/capacity_tables.h"
#include "reports/text/text.h"
#include "sim/hardware/device_noun.h"

namespace meshwright::app {
namespace {

// Explains the verdict's cost: the factors whose product it is.
std::string costs_note(const reports::Capacity& capacity) {
  std::string note;
  const reports::CapacityRow* front = capacity.front();
  for (const reports::CapacityRow& row : capacity.rows) {
    if ((&row != front && !row.recommended) || row.cost_explanation.empty()) continue;
    note += fmt::format("Median cost: {}.\n", row.cost_explanation);
  }
  return note;
}

std::string rows_note(const reports::Capacity& capacity) {
  std::string note = fmt::format("{}\n", capacity.reason);
  if (!capacity.tried.empty()) note += capacity.tried + "\n";
  if (const auto& prices = capacity.prices) {
    note += fmt::format("Prices: {} of {}{}.\n", prices->name, prices->date,
                        prices->example ? ", an example, not an offer" : "");
  }
  note += costs_note(capacity);
  for (const reports::ScalingSeries& series : capacity.scaling) {
    if (!series.sentence.empty()) note += series.sentence + "\n";
  }
  return note;
}

std::string checkpoint_sentence(const reports::CapacityRow& row) {
  const planner::CheckpointPlan& plan = row.checkpoint;
  const reports::Interruptions& stops = row.interruptions;
  return fmt::format(
      "  A checkpoint of {} every {} stops training for {} s. Mean time between "
      "failures: {}; failures in all: {} ({} to {}); spare nodes: {}.\n",
      reports::traffic_text(plan.size), reports::duration_text(plan.interval),
      number_text(plan.pause.value(), 3),
      reports::duration_text(seconds(stops.mean_time_between_h * 3600.0)),
      number_text(stops.expected.p50, 3), number_text(stops.expected.p10, 3),
      number_text(stops.expected.p90, 3), stops.spare_nodes);
}

}  // namespace

Paragraph capacity_verdict(const reports::Capacity& capacity) {
  return {capacity.verdict, wrapped(costs_note(capacity)),
          capacity.recommended ? Style::good : Style::warning};
}

void print_capacity(const reports::Capacity& capacity, DeviceKind kind) {
  Paragraph verdict = capacity_verdict(capacity);
  verdict.body = wrapped(rows_note(capacity));
  print_paragraph(verdict);
  print_paragraph({"each row with its best layout; scaling is relative to the fewest GPUs",
                   table_text(reports::capacity_table(capacity, kind, false))});
  const reports::CapacityRow* front = capacity.front();
  if (front == nullptr) return;
  print_paragraph({"where the time goes in the marked row",
                   table_text(reports::time_table(front->time, front->days.p50)) +
                       wrapped(checkpoint_sentence(*front))});
}

void print_capacity_basis(const reports::Capacity& capacity, DeviceKind kind) {
  if (capacity.front() == nullptr) return;
  if (const auto& run = capacity.reference) {
    print_paragraph({fmt::format("{} {} beside {}", reports::count_text(run->gpus),
                                 device_noun(kind, run->gpus), run->name),
                     table_text(reports::reference_table(*run, kind))});
  }
  if (!capacity.levers.empty()) {
    print_paragraph(
        {"levers, the largest effect on days first: choices are halved and doubled, "
         "other inputs move by one standard deviation",
         table_text(reports::levers_table(capacity))});
  }
  print_paragraph({"rests on", table_text(reports::assumptions_table(capacity.assumptions))});
  std::string rest =
      fmt::format("  included: {}.\n  not included: {}.\n", fmt::join(capacity.included, "; "),
                  fmt::join(capacity.not_included, "; "));
  print_paragraph({"the ranges", wrapped(rest)});
}

}  // namespace meshwright::app
