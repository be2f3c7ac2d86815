// SPDX-License-Identifier: Apache-2.0
// The ranked layouts, each with what sets it apart from the next.
#include "reports/sections/ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "reports/html/blocks.h"
#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/records/parts.h"
#include "reports/sections/section_parts.h"
#include "reports/sections/section_registry.h"
#include "reports/text/text.h"
#include "sim/json/result_records.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

const Record<TermDifference>& term_difference_record() {
  return described([](Record<TermDifference>& r) {
    using R = TermDifference;
    r.about("What the next layout spends more in a term.");
    r.row<&R::kind>("name", kTermNames);
    r.row<&R::more>("next_minus_this_seconds", kAnyNumber);
    r.named("TermDifference").all_required();
  });
}

const Record<ComparedWithNext>& compared_with_next_record() {
  return described([](Record<ComparedWithNext>& r) {
    using R = ComparedWithNext;
    r.about("What sets a layout apart from the next.");
    r.row<&R::sentence>();
    r.row<&R::faster_by>("seconds", kAnyNumber, "That the next takes more.");
    r.row<&R::terms>(term_difference_record, "Largest first.");
    r.named("ComparedWithNext").all_required();
  });
}

const Record<RankedLayout>& ranked_layout_record() {
  return described([](Record<RankedLayout>& r) {
    using R = RankedLayout;
    r.about("A layout of the ranking.");
    r.row<&R::rank>(IntRange{.low = 1});
    r.rows_of(
        named_layout_record(), [](auto& ranked) -> auto& { return ranked.layout; });
    r.rows<&R::step_time, &R::step_time_low, &R::step_time_high, &R::relative_to_best,
           &R::tokens_per_second_per_gpu>();
    r.row<&R::model_flops_utilization>(kMfuConvention);
    r.row<&R::peak_memory>();
    r.row<&R::memory_fit>(kMemoryFitNames, "Whether it fits, with what the allocator reserves.");
    r.row<&R::provenance>(kProvenanceNames);
    r.row<&R::provenance_share>("Share of the step in terms of that provenance.");
    r.row<&R::pareto>("Nothing is faster and smaller.");
    r.row<&R::terms>(term_record);
    r.row<&R::compared_with_next>(nullable(compared_with_next_record));
    r.named("RankedLayout").all_required();
  });
}

void ranking_rows(Record<Report>& r) {
  r.row<&Report::top>(IntRange{.low = 0},
                      "Layouts that were asked for; those after them complete the Pareto set.");
  r.row<&Report::ranked>(ranked_layout_record);
}

// Largest first, by size.
std::vector<TermDifference> differences(const Estimate& here, const Estimate& next) {
  std::vector<TermDifference> all;
  for (std::size_t i = 0; i < here.terms.size(); ++i) {
    const Seconds more = next.terms[i].cost.time - here.terms[i].cost.time;
    if (more.value() != 0.0) all.push_back({here.terms[i].kind, more});
  }
  std::stable_sort(all.begin(), all.end(), [](const TermDifference& a, const TermDifference& b) {
    return std::abs(a.more.value()) > std::abs(b.more.value());
  });
  return all;
}

// "2.1 % faster: 120 ms less pipeline bubble, against 30 ms more ..."
std::string why(const Estimate& here, const Estimate& next,
                const std::vector<TermDifference>& all) {
  const double faster = next.step_time / here.step_time - 1.0;
  if (all.empty() || next.step_time == here.step_time) return "As fast as the next.";
  std::string text = fmt::format("{} faster", percent_text(faster));
  const char* joint = ": ";
  for (const bool gain : {true, false}) {
    const auto found = std::find_if(all.begin(), all.end(), [gain](const TermDifference& d) {
      return (d.more.value() > 0.0) == gain;
    });
    if (found == all.end()) continue;
    // An amount that is small compared with the difference is left to the tables.
    const Seconds amount = seconds(std::abs(found->more.value()));
    if (!gain && amount < (next.step_time - here.step_time) * 0.05) continue;
    text += fmt::format("{}{} {} {}", joint, seconds_text(amount), gain ? "less" : "more",
                        spoken(name_of(found->kind)));
    joint = ", against ";
  }
  return text + ".";
}

ComparedWithNext compared(const Estimate& here, const Estimate& next) {
  std::vector<TermDifference> all = differences(here, next);
  std::string sentence = why(here, next, all);
  return {std::move(sentence), next.step_time - here.step_time, std::move(all)};
}

void fill_ranking(Report& report, const ReportContents& contents) {
  const planner::Plan& plan = contents.plan;
  report.top = std::min(static_cast<int>(plan.ranked.size()), std::max(1, contents.top));
  for (std::size_t i = 0; i < plan.ranked.size(); ++i) {
    const Estimate& e = plan.ranked[i];
    RankedLayout& ranked = report.ranked.emplace_back(RankedLayout{
        .rank = static_cast<int>(i) + 1,
        .layout = e.layout,
        .step_time = e.step_time,
        .step_time_low = e.step_time_low,
        .step_time_high = e.step_time_high,
        .relative_to_best = e.step_time / plan.ranked.front().step_time,
        .tokens_per_second_per_gpu = e.tokens_per_second_per_gpu,
        .model_flops_utilization = e.model_flops_utilization,
        .peak_memory = e.peak_memory(),
        .memory_fit = e.memory_fit,
        .provenance = e.provenance,
        .provenance_share = share_of_step(e, e.provenance),
        .pareto = std::find(plan.pareto.begin(), plan.pareto.end(), i) != plan.pareto.end(),
        .terms = {e.terms.begin(), e.terms.end()}});
    if (i + 1 < plan.ranked.size()) ranked.compared_with_next = compared(e, plan.ranked[i + 1]);
  }
}

constexpr std::size_t kMostRows = 200;  // of a table; the record has all, and the viewer shows them
constexpr std::size_t kNameColumn = 1;
constexpr std::size_t kSourceColumn = 8;

// Row as HTML: the short name with the full one as a tooltip, and the weakest provenance before its
// share.
html::TableRow ranking_row(const RankedLayout& ranked) {
  const auto texts = ranking_texts(ranked);
  html::TableRow row;
  for (const std::string& text : texts) row.emplace_back(html::escape(text));
  row[kNameColumn] = html::layout_code(ranked.layout);
  row[kSourceColumn] = {html::badge(name_of(ranked.provenance)) + " " + texts[kSourceColumn],
                        ranked.provenance_share};
  return row;
}

std::string ranked_rows_table(std::string_view caption, const Report& report, std::size_t begin,
                              std::size_t end) {
  const std::vector<html::Heading> headings{{"#", true},
                                            {"layout"},
                                            {"step, s", true},
                                            {"90 % interval, s", true},
                                            {"slower than best, %", true},
                                            {fmt::format("tokens/s/{}", device_noun(report)), true},
                                            {"MFU, %", true},
                                            {"peak memory, GiB", true},
                                            {"weakest source, share of the step"},
                                            {"Pareto"},
                                            {"why it beats the next"}};
  std::string rows;
  for (std::size_t i = begin; i < end; ++i) {
    const RankedLayout& ranked = report.ranked[i];
    rows += html::table_row(headings, ranking_row(ranked),
                            fmt::format(" id=\"layout-{}\"", ranked.rank));
  }
  return html::table_of_rows(caption, headings, rows);
}

std::string ranking_page(const Report& report) {
  if (report.ranked.empty()) return "";
  const auto top = static_cast<std::size_t>(report.top);
  std::string body =
      ranked_rows_table("The fastest layouts that fit", report, 0, std::min(top, kMostRows));
  body +=
      "<p class=\"mix\">These names omit the overlap switches, and whether embedding and loss "
      "count as layers. The JSON report and the launch files contain them.</p>\n";
  if (report.answers && report.answers->robust_pick) {
    body += fmt::format("<p id=\"robust-pick\">{}</p>\n",
                        html::escape(report.answers->robust_pick->sentence));
  }
  if (top < report.ranked.size()) {
    const std::size_t end = std::min(report.ranked.size(), top + kMostRows);
    body += html::details(
        fmt::format("{} more layouts: the next fastest, and slower ones that need less memory",
                    report.ranked.size() - top),
        ranked_rows_table("Other layouts of the plan", report, top, end));
  }
  return html::section(
      "ranking", "Ranking",
      body + html::figure("pareto",
                          "Step time against peak memory of the ranked layouts. Dark rim: no "
                          "other layout is faster and smaller. Circle: no recompute; triangle: "
                          "attention; square: whole layers. Whiskers: 90 % interval."));
}

}  // namespace

double share_of_step(const Estimate& estimate, Provenance provenance) {
  Seconds time;
  for (const Term& term : estimate.terms) {
    if (term.cost.provenance == provenance) time += term.cost.time;
  }
  return estimate.step_time.value() > 0.0 ? time / estimate.step_time : 0.0;
}

std::array<std::string, 11> ranking_texts(const RankedLayout& layout) {
  return {fmt::format("{}", layout.rank),
          brief_name(layout.layout),
          significant(layout.step_time.value()),
          significant(layout.step_time_low.value()) + " – " +
              significant(layout.step_time_high.value()),
          fmt::format("{:+.1f}", (layout.relative_to_best - 1.0) * 100.0),
          significant(layout.tokens_per_second_per_gpu),
          fmt::format("{:.1f}", layout.model_flops_utilization * 100.0),
          significant(in_gibibytes(layout.peak_memory), 3),
          fmt::format("{:.0f} %", layout.provenance_share * 100.0),
          layout.pareto ? "yes" : "",
          layout.compared_with_next ? layout.compared_with_next->sentence : ""};
}

extern const ReportSection kRankingSection;
constexpr ReportSection kRankingSection{.rows = ranking_rows,
                                        .fill = fill_ranking,
                                        .page = ranking_page,
                                        .id = "ranking",
                                        .word = "Ranking",
                                        .charts = "pareto"};

}  // namespace meshwright::reports
