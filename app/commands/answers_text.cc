// SPDX-License-Identifier: Apache-2.0
#include "app/commands/answers_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/table.h"
#include "sim/layout/short_name.h"

namespace meshwright::app {
namespace {

constexpr std::size_t kTornadoRows = 6;
constexpr std::size_t kFlipPoints = 6;

std::string confidence_text(const planner::Confidence& confidence, const planner::Plan& plan) {
  if (confidence.against.empty()) return "";
  std::string text = fmt::format(
      "confidence: rank 1 is the fastest of the first {} with {:.0f} % probability (+-{:.2g} % on "
      "its "
      "step, of which most is shared); choosing it loses {:.2g} % of a step on average.\n",
      confidence.against.size() + 1, 100.0 * confidence.probability_best,
      100.0 * confidence.relative_deviation, 100.0 * confidence.expected_regret);
  if (confidence.proposed_runs.empty()) {
    return text + "  no real run would change the choice by more than 0.5 % of a step.\n";
  }
  text += "  these real runs would settle it (meshwright trial runs them):\n";
  for (const planner::ProposedRun& run : confidence.proposed_runs) {
    text += fmt::format("  {} x rank {}, {}: {}\n", run.runs, run.rank + 1,
                        brief_name(plan.ranked[run.rank].layout), run.reason);
  }
  return text;
}

std::string value_text(double value) { return fmt::format("{:.4g}", value); }

std::string tornado_text(const planner::Answers& answers, const planner::Plan& plan) {
  if (answers.sensitivity.empty()) return "";
  reports::Table table{"",
                       {{"parameter", "input", ""},
                        {"value", "today", ""},
                        {"unit", "unit", ""},
                        {"low", "step at -20 %", "s"},
                        {"high", "step at +20 %", "s"},
                        {"swing_percent", "swing", "%", 2},
                        {"winner", "winner", ""},
                        {"provenance", "number is", ""}},
                       {}};
  const Layout& winner = plan.ranked.front().layout;
  for (const planner::Sensitivity& s : answers.sensitivity) {
    if (table.rows.size() == kTornadoRows) break;
    const planner::WhatIfParameterText& words = planner::text_of(s.parameter);
    table.rows.push_back({std::string(words.label), value_text(s.value), std::string(words.unit),
                          s.low.step_time.value(), s.high.step_time.value(),
                          100.0 * (s.swing() / plan.ranked.front().step_time),
                          std::string(s.winner_changes(winner) ? "changes" : "stays"),
                          std::string(name_of(s.provenance))});
  }
  return "what the winner's step hangs on:\n" + reports::table_to_text(table);
}

std::string flips_text(const planner::Answers& answers) {
  std::string text;
  for (std::size_t i = 0; i < std::min(kFlipPoints, answers.crossovers.size()); ++i) {
    text += "  " + planner::sentence_of(answers.crossovers[i]) + "\n";
  }
  if (!text.empty()) return "where the answer flips, nearest first:\n" + text;
  if (answers.confidence.against.empty()) return "";
  return "where the answer flips: nowhere between a quarter and four times of any input.\n";
}

std::string what_if_text(const planner::Answers& answers) {
  std::string text;
  for (const planner::WhatIf& answer : answers.what_ifs) {
    text += fmt::format("what if {}: {}\n", answer.text, answer.sentence);
  }
  return text;
}

}  // namespace

std::string answers_text(const planner::Answers& answers, const planner::Plan& plan) {
  return confidence_text(answers.confidence, plan) + tornado_text(answers, plan) +
         flips_text(answers) + what_if_text(answers) +
         (plan.ranked.empty() ? ""
                              : planner::rank_map_text(answers.placement,
                                                       plan.ranked.front().layout, plan.cluster));
}

}  // namespace meshwright::app
