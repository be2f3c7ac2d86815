// SPDX-License-Identifier: Apache-2.0
// What moves the best layout's step, and what would make another layout the best.
#include <fmt/format.h>

#include <cmath>

#include "reports/html/blocks.h"
#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/sections/first_screen.h"
#include "reports/sections/section_registry.h"
#include "reports/text/text.h"
#include "sim/base/text.h"

namespace meshwright::reports {
namespace {

// "50.0 GB/s"; a parameter without a unit is a share.
std::string input_amount(double value, planner::WhatIfParameter parameter) {
  const std::string_view unit = planner::text_of(parameter).unit;
  if (unit.empty()) return percent_text(value);
  return fmt::format("{} {}", number_text(value), unit == "us" ? "µs" : unit);
}

std::string label_of(planner::WhatIfParameter parameter) {
  return html::escape(planner::text_of(parameter).label);
}

std::string factor_text(double factor) {
  return fmt::format("{} %", signed_number_text((factor - 1.0) * 100.0, 3));
}

std::string winner_there(const SensitivityFacts& s) {
  if (!s.changes_winner) return "stays";
  const auto at = [](const planner::Perturbed& turned) {
    return fmt::format("{} at {}", html::layout_code(turned.best), factor_text(turned.factor));
  };
  return at(s.low) + ", " + at(s.high);
}

// More time in days than the plan takes; a step's difference times its steps.
html::TableCell days_cell(const planner::Perturbed& turned, Seconds step, double steps) {
  const double days = (turned.step_time - step).value() * steps / 86400.0;
  return {signed_number_text(days, 3), days};
}

// `steps`: of the training; one if its tokens are not stated, and then there are no days.
std::string tornado_table(const std::vector<SensitivityFacts>& sensitivity, Seconds step,
                          double steps) {
  const bool days = steps > 1.0;
  html::TableRows rows;
  for (const SensitivityFacts& s : sensitivity) {
    html::TableRow row{label_of(s.parameter), html::escape(input_amount(s.value, s.parameter)),
                       fmt::format("{}{}", number_text(s.relative_spread * 100.0, 3),
                                   s.capped ? ", up to the physical limit" : ""),
                       significant(s.low.step_time.value() * 1e3),
                       significant(s.high.step_time.value() * 1e3)};
    if (days) row.push_back(days_cell(s.low, step, steps));
    if (days) row.push_back(days_cell(s.high, step, steps));
    const html::TableRow rest{fmt::format("{:.1f}", s.swing() / step * 100.0), winner_there(s),
                              html::badge(name_of(s.provenance))};
    row.insert(row.end(), rest.begin(), rest.end());
    rows.push_back(std::move(row));
  }
  std::vector<html::Heading> headings{{"input"},
                                      {"current value"},
                                      {"1σ, %", true},
                                      {"step 1σ down, ms", true},
                                      {"step 1σ up, ms", true}};
  if (days) {
    headings.insert(headings.end(),
                    {{"all steps 1σ down, days", true}, {"all steps 1σ up, days", true}});
  }
  headings.insert(headings.end(), {{"swing, % of the step", true}, {"best layout"}, {"source"}});
  return html::table(
      "Step of layout #1 when one input moves by one standard deviation and the others stay",
      headings, rows);
}

// "7 % less of it makes the step 18.1 % longer".
std::string perturbed_effect(const planner::Perturbed& turned, Seconds step) {
  const double factor = turned.factor - 1.0;
  const double change = turned.step_time / step - 1.0;
  return fmt::format("{} % {} of it makes the step {:.1f} % {}",
                     number_text(std::abs(factor) * 100.0, 3), factor < 0.0 ? "less" : "more",
                     std::abs(change) * 100.0, change < 0.0 ? "shorter" : "longer");
}

std::string tornado(const std::vector<SensitivityFacts>& sensitivity, Seconds step, double steps) {
  if (sensitivity.empty()) return "";
  const SensitivityFacts& first = sensitivity.front();
  return fmt::format("<p>The largest risk is the {}, which is {} ({}). {}. {}.</p>\n",
                     label_of(first.parameter),
                     html::escape(input_amount(first.value, first.parameter)),
                     html::badge(name_of(first.provenance)), perturbed_effect(first.low, step),
                     perturbed_effect(first.high, step)) +
         html::figure("tornado",
                      "Change in the training time (or the step time) when one input moves by one "
                      "standard deviation, at most to its physical limit.") +
         html::numbers("Every input that the step depends on",
                       tornado_table(sensitivity, step, steps));
}

std::string gain_text(const planner::Crossover& c) {
  if (!c.winner_fits) return "layout #1 cannot run there";
  return fmt::format("{} at {}", percent_text(c.gain_at_end),
                     input_amount(c.end_value, c.parameter));
}

// Batches are tried in doubles and halves, so the crossover is at one, not below one.
std::string crossover_place(const planner::Crossover& c) {
  const bool batch = c.parameter == planner::WhatIfParameter::global_batch_size;
  const char* side = c.below ? "below" : "above";
  return fmt::format("{} {}", batch ? "at" : side, input_amount(c.at, c.parameter));
}

std::string crossovers_table(const std::vector<planner::Crossover>& crossovers) {
  html::TableRows rows;
  for (const planner::Crossover& c : crossovers) {
    rows.push_back({label_of(c.parameter), html::escape(input_amount(c.today, c.parameter)),
                    html::escape(crossover_place(c)),
                    fmt::format("{:+.0f}", (c.factor - 1.0) * 100.0), html::layout_code(c.layout),
                    html::escape(gain_text(c)), c.exact ? "all layouts" : "those that came close"});
  }
  return html::table("Where another layout becomes the best, nearest first",
                     {{"input"},
                      {"current value"},
                      {"crossover"},
                      {"from the current value, %", true},
                      {"best there"},
                      {"saves, share of the step"},
                      {"compared"}},
                     rows);
}

std::string crossovers_part(const std::vector<planner::Crossover>& crossovers) {
  if (crossovers.empty()) {
    return "<p>No input between a quarter and four times its value makes another layout better by "
           "an amount that matters.</p>\n";
  }
  return fmt::format("<p>The nearest crossover point: {}</p>\n",
                     html::escape(planner::sentence_of(crossovers.front()))) +
         html::figure("crossovers",
                      "How far each input must move from its current value until another layout is "
                      "the best.") +
         crossovers_table(crossovers);
}

std::string change_text(const planner::Change& change) {
  return fmt::format("{}: {} → {}", planner::text_of(change.parameter).label,
                     input_amount(change.before, change.parameter),
                     input_amount(change.after, change.parameter));
}

// "108 days, 118 M": of the steps alone, for all tokens of the training.
std::string needs_text(const std::optional<planner::TrainingCost>& needs) {
  if (!needs) return "";
  std::string text = duration_text(needs->train_time);
  if (needs->cost) text += ", cost " + si_text(*needs->cost);
  return text;
}

std::string what_ifs(const std::vector<planner::WhatIf>& all) {
  if (all.empty()) return "";
  html::TableRows rows;
  for (const planner::WhatIf& w : all) {
    std::string changes;
    for (const planner::Change& change : w.changes) {
      append_to_list(changes, "; ", change_text(change));
    }
    rows.push_back({html::escape(changes),
                    w.winner ? html::layout_code(w.winner->layout) : "none fits",
                    w.winner ? significant(w.winner->step_time.value() * 1e3) : "",
                    w.winner ? fmt::format("{:+.1f}", w.step_time_change * 100.0) : "",
                    needs_text(w.needs), needs_text(w.needs_today), html::escape(w.sentence)});
  }
  return "<h3>What if</h3>\n" + html::table("The plan under changed inputs",
                                            {{"change"},
                                             {"best layout there"},
                                             {"step, ms", true},
                                             {"relative to the current value, %", true},
                                             {"all steps"},
                                             {"all steps, current value"},
                                             {"in words"}},
                                            rows);
}

std::string sensitivity_page(const Report& report) {
  if (!report.answers || !report.summary) return "";
  const Answers& answers = *report.answers;
  std::string body = tornado(answers.sensitivity, report.summary->step_time, train_steps(report));
  // A plan for memory has no crossovers.
  if (!answers.sensitivity.empty()) {
    body += "<h3>What would change the answer</h3>\n" + crossovers_part(answers.crossovers);
  }
  body += what_ifs(answers.what_ifs);
  return body.empty() ? "" : html::section("sensitivity", "Sensitivity", body);
}

}  // namespace

extern const ReportSection kSensitivitySection;
constexpr ReportSection kSensitivitySection{.page = sensitivity_page,
                                            .id = "sensitivity",
                                            .word = "Sensitivity",
                                            .charts = "tornado crossovers"};

}  // namespace meshwright::reports
