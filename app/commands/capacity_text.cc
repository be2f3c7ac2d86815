// SPDX-License-Identifier: Apache-2.0
#include "app/commands/capacity_text.h"

#include <fmt/format.h>

#include "app/commands/answers_text.h"
#include "app/commands/output.h"
#include "app/terminal.h"
#include "reports/capacity_tables.h"
#include "reports/capacity_text.h"
#include "reports/text.h"

namespace meshwright::app {
namespace {

// What each sum of the verdict is the product of.
std::string costs_note(const planner::CapacityAnswer& answer) {
  std::string note;
  const planner::CapacityRow* front = answer.front();
  const auto recommended = answer.recommendation.recommended;
  for (const planner::CapacityRow& row : answer.rows) {
    const bool in_verdict = &row == front || (recommended && &row == &answer.rows[*recommended]);
    const std::string cost = in_verdict ? reports::cost_explanation(answer, row) : "";
    if (!cost.empty()) note += fmt::format("Median cost: {}.\n", cost);
  }
  return note;
}

std::string rows_note(const planner::CapacityAnswer& answer) {
  const planner::PriceList& prices = answer.question.options.prices;
  std::string note = fmt::format("{}\n", answer.recommendation.reason);
  if (!prices.prices.empty()) {
    note += fmt::format("Prices: {} of {}{}.\n", prices.name, prices.date,
                        prices.example ? ", an example and no offer" : "");
  }
  note += costs_note(answer);
  for (const planner::ScalingSeries& series : answer.scaling) {
    const std::string bend = reports::bend_of(answer, series);
    if (!bend.empty()) note += bend + "\n";
  }
  return note;
}

std::string checkpoint_sentence(const planner::TrainingRun& run) {
  const planner::CheckpointPlan& plan = run.checkpoint;
  return fmt::format(
      "  {} each {}, training stands {} s for it; a failure each {} on average, {} in all "
      "({} to {}); {} spare nodes.\n",
      reports::traffic_text(plan.size), reports::duration_text(plan.interval),
      number_text(plan.pause.value(), 3), reports::duration_text(run.disruption.mean_time_between),
      number_text(run.failures.p50, 3), number_text(run.failures.p10, 3),
      number_text(run.failures.p90, 3), run.spare_nodes);
}

}  // namespace

Paragraph capacity_verdict(const planner::CapacityAnswer& answer) {
  return {reports::verdict_of(answer), wrapped(costs_note(answer)),
          answer.recommendation.recommended.has_value() ? Style::good : Style::warning};
}

void print_capacity(const planner::CapacityAnswer& answer) {
  Paragraph verdict = capacity_verdict(answer);
  verdict.body = wrapped(rows_note(answer));
  print_paragraph(verdict);
  print_paragraph(
      {"each row with its best layout", table_text(reports::capacity_table(answer, false))});
  const planner::CapacityRow* front = answer.front();
  if (front == nullptr) return;
  print_paragraph(
      {"where the time goes, of the marked row",
       table_text(reports::time_table(*front)) + wrapped(checkpoint_sentence(front->run))});
}

void print_capacity_basis(const planner::CapacityAnswer& answer) {
  const planner::CapacityQuestion& question = answer.question;
  const planner::CapacityRow* front = answer.front();
  if (front == nullptr) return;
  if (answer.reference) {
    const planner::ReferenceRun& run = *question.options.reference;
    print_paragraph({fmt::format("{} {} beside {}", reports::count_text(run.gpus),
                                 reports::device_noun(answer, run.gpus), run.name),
                     table_text(reports::reference_table(answer))});
  }
  if (!answer.levers.levers.empty()) {
    print_paragraph({"what moves it most: a choice halved and doubled, else one standard deviation",
                     table_text(reports::levers_table(answer))});
  }
  print_paragraph({"rests on", table_text(reports::assumptions_table(
                                   planner::assumptions_of(question, *front)))});
  std::string rest = fmt::format("  in the ranges: {}.\n  not counted: {}.\n",
                                 fmt::join(planner::included_in(question, *front), "; "),
                                 fmt::join(planner::left_out_of(question), "; "));
  print_paragraph({"the ranges", wrapped(rest)});
}

}  // namespace meshwright::app
