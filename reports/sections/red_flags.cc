// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "reports/html/blocks.h"
#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/sections/first_screen.h"
#include "reports/sections/section_parts.h"
#include "reports/sections/section_registry.h"
#include "reports/text/text.h"

namespace meshwright::reports {
namespace {

std::string flags_table(const std::vector<RedFlagFacts>& flags) {
  if (flags.empty()) return "<p>No red flag.</p>\n";
  html::TableRows rows;
  for (const RedFlagFacts& flag : flags) {
    rows.push_back({html::escape(spoken(name_of(flag.id))), html::escape(flag_effect(flag, 1.0)),
                    html::escape(flag.sentence)});
  }
  return html::table("Predicted effect of each red flag", {{"flag"}, {"effect"}, {"why"}}, rows);
}

std::string rule_of_thumb_part(const std::optional<RuleOfThumbFacts>& rule) {
  if (!rule) return "";
  return fmt::format(
      "<h3>Compared with NVIDIA's rule of thumb</h3>\n<p>{}</p>\n<p>Source: {}.</p>\n",
      html::escape(rule->sentence), html::escape(rule->source));
}

std::string red_flags_page(const Report& report) {
  // Flags are a layout's: where none fits, there is nothing to flag.
  if (!report.summary || !report.answers) return "";
  return html::section(
      "all-red-flags", "Red flags",
      flags_table(report.answers->red_flags) + rule_of_thumb_part(report.answers->rule_of_thumb));
}

}  // namespace

extern const ReportSection kRedFlagsSection;
constexpr ReportSection kRedFlagsSection{
    .page = red_flags_page, .id = "all-red-flags", .word = "Red flags"};

}  // namespace meshwright::reports
