// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "reports/html/elements_json.h"
#include "reports/html/escape.h"
#include "reports/html/page_json.h"
#include "reports/sections/sections_json.h"
#include "reports/text.h"

namespace meshwright::reports::html {
namespace {

std::string flag_effect(const Json& flag) {
  return part_at(flag, "effect_seconds").is_number()
             ? seconds_text(seconds(number_at(flag, "effect_seconds"))) + " per step"
             : memory_text(bytes(number_at(flag, "effect_bytes")));
}

std::string flags_table(const Json& flags) {
  if (flags.empty()) return "<p>None: nothing of what an expert would ask first stands out.</p>\n";
  TableRows rows;
  for (const Json& flag : flags) {
    rows.push_back({escape(spoken(text_at(flag, "id"))), escape(flag_effect(flag)),
                    escape(text_at(flag, "sentence"))});
  }
  return table("Effect of each, as the model prices it", {{"flag"}, {"effect"}, {"why"}}, rows);
}

std::string rule_of_thumb_part(const Json& rule) {
  if (!rule.is_object()) return "";
  return fmt::format("<h3>Beside NVIDIA's rule of thumb</h3>\n<p>{}</p>\n<p>Source: {}.</p>\n",
                     escape(text_at(rule, "sentence")), escape(text_at(rule, "source")));
}

}  // namespace

std::string red_flags(const Json& report) {
  const Json& answers = part_at(report, "answers");
  // Flags are a layout's: where none fits, there is nothing to flag.
  const bool fits = part_at(report, "summary").is_object();
  if (!fits || !answers.is_object() || !answers.contains("red_flags")) return "";
  return section(
      "all-red-flags", "Red flags",
      flags_table(answers["red_flags"]) + rule_of_thumb_part(part_at(answers, "rule_of_thumb")));
}

}  // namespace meshwright::reports::html
