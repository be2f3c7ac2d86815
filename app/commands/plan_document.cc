// SPDX-License-Identifier: Apache-2.0
#include "app/commands/plan_document.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/commands/capacity_text.h"
#include "app/console/terminal.h"
#include "app/options/output.h"
#include "app/options/question.h"
#include "reports/sections/section_parts.h"
#include "reports/tables/plan_text.h"
#include "reports/tables/tables.h"
#include "reports/text/interval_text.h"
#include "reports/text/text.h"
#include "sim/hardware/device_noun.h"

namespace meshwright::app {
namespace {

using Paragraphs = std::vector<Paragraph>;

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// An empty line, the heading and the body.
std::size_t lines_of(const Paragraphs& paragraphs) {
  std::size_t lines = 0;
  for (const Paragraph& p : paragraphs) {
    lines += 1 + lines_in(wrapped(p.heading + "\n")) + lines_in(p.body);
  }
  return lines;
}

Paragraph counts_paragraph(const PlanDocument& d) {
  const auto& points = d.scaling.points;
  const bool priced =
      std::any_of(points.begin(), points.end(), [](const auto& p) { return p.cost.has_value(); });
  return {with_device_noun("GPU counts, each with its best layout", d.inputs.cluster),
          table_text(reports::scaling_table(d.scaling.points, d.inputs.job,
                                            only_device(d.inputs.cluster).kind)) +
              (priced ? wrapped(fmt::format("{}.\n", planner::kCostOfSteps)) : "")};
}

Paragraph winner_paragraph(const PlanDocument& d) {
  std::string text = (d.answers ? sureness_text(*d.answers) : "") +
                     reports::winner_limits_text(d.plan) + "\n" +
                     std::string(reports::kMfuConvention) + "\n" +
                     reports::interval_text(d.plan.ranked.front()) + "\n";
  if (d.answers && d.answers->robust_pick) text += d.answers->robust_pick->sentence + "\n";
  return {reports::winner_text(d.plan), wrapped(text), Style::good};
}

Paragraph fastest_paragraph(const PlanDocument& d, std::size_t rows) {
  const planner::Plan& plan = d.plan;
  const std::size_t kept = std::min(plan.ranked.size(), static_cast<std::size_t>(d.top));
  const std::string part = rows < kept ? fmt::format(", {} of {}", rows, kept) : "";
  return {fmt::format("fastest layouts of {} {}{}", reports::count_text(plan.cluster.num_gpus()),
                      device_noun(plan.cluster, plan.cluster.num_gpus()), part),
          table_text(reports::fastest_table(plan, static_cast<int>(std::min(rows, kept))))};
}

Paragraph runs_paragraph(const PlanDocument& d) {
  return {"most informative runs: measure them and pass them to plan --learn",
          wrapped(d.runs_to_make)};
}

Paragraph brief_rejections(const planner::Plan& plan, std::size_t most) {
  const std::size_t shown = std::min(most, plan.rejections.size());
  Paragraph paragraph{"rejected, by the rule that rejects most layouts first", ""};
  for (std::size_t i = 0; i < shown; ++i) {
    paragraph.body += wrapped("  " + reports::rejection_text(plan.rejections[i]) + "\n");
  }
  return paragraph;
}

std::string over_limits_text(const planner::LeftOutOfChoice& left_out) {
  if (left_out.over_limits == 0) return "";
  return fmt::format("{} of the fastest are over a limit: {}.\n",
                     reports::count_text(left_out.over_limits), left_out.nearest);
}

std::string notes_text(const planner::Plan& plan) {
  std::string text;
  for (const std::string& note : plan.notes) text += wrapped("note: " + note + "\n");
  return text;
}

// Number of lines of each block, which together fit in kShortLines.
struct Shares {
  std::size_t layouts = 5;
  std::size_t flags = 3;
  std::size_t rejections = 3;

  // False: nothing is left to take away.
  bool shrink() {
    std::size_t& most = layouts > 3 ? layouts : rejections >= flags ? rejections : flags;
    if (most <= 1) return false;
    --most;
    return true;
  }
};

Paragraphs short_paragraphs(const PlanDocument& d, const Shares& shares) {
  Paragraphs paragraphs;
  if (d.scaling.points.size() > 1) paragraphs.push_back(counts_paragraph(d));
  if (!d.plan.ranked.empty()) {
    if (d.capacity) paragraphs.push_back(capacity_verdict(*d.capacity));
    paragraphs.push_back(fastest_paragraph(d, shares.layouts));
    if (d.answers) paragraphs.push_back(red_flags_text(d.answers->red_flags, shares.flags));
  }
  if (!d.plan.rejections.empty()) {
    paragraphs.push_back(brief_rejections(d.plan, shares.rejections));
  }
  return paragraphs;
}

// The answer and how sure it is, then what was asked.
void print_head(const PlanDocument& d) {
  print_text(wrapped(d.found));
  if (!d.plan.ranked.empty()) {
    print_first_paragraph(winner_paragraph(d));
    print_text("\n");
  }
  print_text(wrapped(question_text(d.inputs)));
}

}  // namespace

std::string left_out_text(const planner::LeftOutOfChoice& left_out) {
  if (left_out.near_duplicates == 0) return over_limits_text(left_out);
  return fmt::format(
             "{} near-duplicates omitted: same sizes and micro-batch as a faster layout, and no "
             "less memory (5 %).\n",
             reports::count_text(left_out.near_duplicates)) +
         over_limits_text(left_out);
}

void print_short(const PlanDocument& d) {
  const std::string question = wrapped(question_text(d.inputs) + d.found);
  const std::string notes = wrapped(over_limits_text(d.left_out)) + notes_text(d.plan);
  Paragraphs asked;  // by options, in full
  if (d.answers && !d.answers->what_ifs.empty()) asked.push_back(what_if_text(*d.answers));
  if (!d.runs_to_make.empty()) asked.push_back(runs_paragraph(d));
  std::size_t others = lines_in(question) + lines_in(notes) + lines_of(asked);
  if (!d.plan.ranked.empty()) others += lines_of({winner_paragraph(d)});
  Shares shares;
  Paragraphs paragraphs = short_paragraphs(d, shares);
  while (lines_of(paragraphs) + others > kShortLines && shares.shrink()) {
    paragraphs = short_paragraphs(d, shares);
  }
  print_head(d);
  for (const Paragraph& paragraph : paragraphs) print_paragraph(paragraph);
  for (const Paragraph& paragraph : asked) print_paragraph(paragraph);
  print_text(notes);
  say("{}", wrapped("--full also prints the other layouts and rejections, confidence, sensitivity, "
                    "crossover points, placement, the rule of thumb and capacity.\n"));
}

void print_full(const PlanDocument& d) {
  print_head(d);
  if (d.scaling.points.size() > 1) print_paragraph(counts_paragraph(d));
  if (!d.plan.ranked.empty()) {
    print_paragraph(fastest_paragraph(d, static_cast<std::size_t>(d.top)));
  }
  print_text(wrapped(left_out_text(d.left_out)));
  if (d.capacity) print_capacity(*d.capacity, only_device(d.plan.cluster).kind);
  if (!d.runs_to_make.empty()) print_paragraph(runs_paragraph(d));
  if (d.answers) {
    for (const Paragraph& paragraph : answers_text(*d.answers, d.plan)) print_paragraph(paragraph);
  }
  if (!d.plan.rejections.empty()) {
    print_paragraph(
        {"rejected", table_text(reports::rejections_table(reports::rejections_of(d.plan)))});
  }
  print_text(notes_text(d.plan));
}

}  // namespace meshwright::app
