// SPDX-License-Identifier: Apache-2.0
#include "app/commands/answers_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/options/output.h"
#include "reports/tables/table.h"
#include "reports/text/text.h"
#include "sim/base/number_text.h"
#include "sim/layout/short_name.h"

namespace meshwright::app {
namespace {

constexpr std::size_t kTornadoRows = 6;
constexpr std::size_t kFlipPoints = 6;

Paragraph confidence_text(const planner::Confidence& confidence, const planner::Plan& plan) {
  if (confidence.against.empty()) return {};
  std::string text = fmt::format(
      "  The best layout's step time is known to ±{} % (1 sigma), an error mostly common to all "
      "layouts.\n",
      number_text(100.0 * confidence.relative_deviation, 2));
  if (confidence.proposed_runs.empty()) {
    text += "  No trial would change the choice by more than 0.5 % of a step.\n";
    return {"confidence", wrapped(text)};
  }
  text += "  These trials would decide between them (meshwright trial runs them):\n";
  for (const planner::ProposedRun& run : confidence.proposed_runs) {
    text += fmt::format("    {} x layout #{}, {}: {}\n", run.runs, run.rank + 1,
                        brief_name(plan.ranked[run.rank].layout), run.reason);
  }
  return {"confidence", wrapped(text)};
}

Paragraph tornado_text(const planner::Answers& answers, const planner::Plan& plan) {
  if (answers.sensitivity.empty()) return {};
  reports::Table table{"",
                       {{"parameter", "input", ""},
                        {"value", "current", ""},
                        {"spread_percent", "spread", "%", 2},
                        {"low", "step at low", "s"},
                        {"high", "step at high", "s"},
                        {"swing_percent", "swing", "%", 2},
                        {"winner", "winner", ""},
                        {"provenance", "source", ""}},
                       {}};
  const Layout& winner = plan.ranked.front().layout;
  for (const planner::Sensitivity& s : answers.sensitivity) {
    if (table.rows.size() == kTornadoRows) break;
    const planner::WhatIfParameterText& words = planner::text_of(s.parameter);
    table.rows.push_back({reports::with_unit(words.label, words.unit), s.value,
                          100.0 * s.relative_spread, s.low.step_time.value(),
                          s.high.step_time.value(),
                          100.0 * (s.swing() / plan.ranked.front().step_time),
                          std::string(s.winner_changes(winner) ? "changes" : "stays"),
                          std::string(name_of(s.provenance))});
  }
  return {
      "sensitivity of the best layout's step time: each input one standard deviation down and up",
      table_text(table)};
}

constexpr std::string_view kNoFlip =
    "With any one input scaled by 0.25x to 4x, no other layout becomes faster by more than 0.5 %.";

Paragraph flips_text(const planner::Answers& answers) {
  std::string text;
  for (std::size_t i = 0; i < std::min(kFlipPoints, answers.crossovers.size()); ++i) {
    text += "  " + planner::sentence_of(answers.crossovers[i]) + "\n";
  }
  if (!text.empty()) return {"crossover points, nearest first", wrapped(text)};
  if (answers.confidence.against.empty()) return {};
  return {"crossover points: none", wrapped(fmt::format("  {}\n", kNoFlip))};
}

Paragraph placement_text(const planner::Answers& answers, const planner::Plan& plan) {
  const std::string text =
      planner::rank_map_text(answers.placement, plan.ranked.front().layout, plan.cluster);
  const std::size_t first_line = text.find('\n') + 1;
  return {text.substr(0, first_line - 2), wrapped(text.substr(first_line))};
}

}  // namespace

void print_first_paragraph(const Paragraph& paragraph) {
  print_styled(paragraph.style, wrapped(paragraph.heading + "\n"));
  print_text(paragraph.body);
}

void print_paragraph(const Paragraph& paragraph) {
  print_text("\n");
  print_first_paragraph(paragraph);
}

std::string sureness_text(const planner::Answers& answers) {
  const std::string sure = planner::sentence_of(answers.confidence);
  if (sure.empty()) return "";
  return fmt::format("How sure: {}\nWhat changes it: {}\n", sure,
                     answers.crossovers.empty() ? std::string(kNoFlip)
                                                : planner::sentence_of(answers.crossovers.front()));
}

Paragraph red_flags_text(const std::vector<planner::RedFlag>& flags, std::size_t most) {
  if (flags.empty()) return {"red flags: none", "", Style::good};
  const std::string part = flags.size() > most ? fmt::format(", {} of {}", most, flags.size()) : "";
  Paragraph paragraph{fmt::format("red flags{}, the largest effect first", part), "",
                      Style::warning};
  for (std::size_t i = 0; i < std::min(most, flags.size()); ++i) {
    const planner::RedFlag& flag = flags[i];
    paragraph.body +=
        wrapped(fmt::format("  {} ({}): {}\n", name_of(flag.id), effect_text(flag), flag.sentence));
  }
  return paragraph;
}

Paragraph what_if_text(const planner::Answers& answers) {
  std::string text;
  for (const planner::WhatIf& answer : answers.what_ifs) {
    text += fmt::format("  {}: {}\n", answer.text, answer.sentence);
  }
  if (text.empty()) return {};
  return {"what if", wrapped(text)};
}

std::vector<Paragraph> answers_text(const planner::Answers& answers, const planner::Plan& plan) {
  std::vector<Paragraph> paragraphs;
  const auto add = [&](Paragraph paragraph) {
    if (!paragraph.heading.empty()) paragraphs.push_back(std::move(paragraph));
  };
  if (!plan.ranked.empty()) {
    add(red_flags_text(answers.red_flags, answers.red_flags.size()));
    if (answers.rule_of_thumb) {
      const auto sentence = planner::sentence_of(*answers.rule_of_thumb, plan.ranked.front());
      add({"compared with NVIDIA's rule of thumb", wrapped("  " + sentence + "\n")});
    }
  }
  add(confidence_text(answers.confidence, plan));
  add(tornado_text(answers, plan));
  add(flips_text(answers));
  add(what_if_text(answers));
  if (!plan.ranked.empty()) add(placement_text(answers, plan));
  return paragraphs;
}

}  // namespace meshwright::app
