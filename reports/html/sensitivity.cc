// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "reports/html/elements_json.h"
#include "reports/html/escape.h"
#include "reports/html/page_json.h"
#include "reports/text.h"

namespace meshwright::reports::html {
namespace {

// "50.0 GB/s"; a parameter without a unit is a share.
std::string amount(double value, const std::string& unit) {
  if (unit.empty()) return percent_text(value);
  return fmt::format("{} {}", fmt::format("{:.4g}", value), unit == "us" ? "µs" : unit);
}

std::string factor_text(double factor) { return fmt::format("{:+.3g} %", (factor - 1.0) * 100.0); }

std::string turned_text(const Json& turned) {
  return significant(number_at(turned, "step_time_seconds") * 1e3);
}

double swing(const Json& s) {
  return std::abs(number_at(part_at(s, "high"), "step_time_seconds") -
                  number_at(part_at(s, "low"), "step_time_seconds"));
}

std::string winner_there(const Json& s) {
  if (!flag_at(s, "winner_changes")) return "stays";
  const auto at = [&](const char* side) {
    const Json& turned = part_at(s, side);
    return fmt::format("{} at {}", layout_code(part_at(turned, "best")),
                       factor_text(number_at(turned, "factor")));
  };
  return at("low") + ", " + at("high");
}

std::string tornado_table(const Json& sensitivity, double step) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& s : sensitivity) {
    rows.push_back({escape(text_at(s, "label")),
                    escape(amount(number_at(s, "value"), text_at(s, "unit"))),
                    turned_text(part_at(s, "low")), turned_text(part_at(s, "high")),
                    fmt::format("{:.1f}", swing(s) / step * 100.0), winner_there(s),
                    badge(text_at(s, "provenance"))});
  }
  const Json& first = sensitivity.front();
  return table(
      "The winner's step when one input is turned and the others stay",
      {{"input"},
       {"today"},
       {fmt::format("step at {}, ms", factor_text(number_at(part_at(first, "low"), "factor"))),
        true},
       {fmt::format("step at {}, ms", factor_text(number_at(part_at(first, "high"), "factor"))),
        true},
       {"swing, % of the step", true},
       {"winner"},
       {"number is"}},
      rows);
}

// "20 % less of it makes the step 18.1 % longer".
std::string effect(const Json& turned, double step) {
  const double factor = number_at(turned, "factor") - 1.0;
  const double change = number_at(turned, "step_time_seconds") / step - 1.0;
  return fmt::format("{:.3g} % {} of it makes the step {:.1f} % {}", std::abs(factor) * 100.0,
                     factor < 0.0 ? "less" : "more", std::abs(change) * 100.0,
                     change < 0.0 ? "shorter" : "longer");
}

std::string tornado(const Json& sensitivity, double step) {
  if (sensitivity.empty()) return "";
  const Json& first = sensitivity.front();
  return fmt::format("<p>The step hangs most on {}, which is {} ({}): {}, {}.</p>\n",
                     escape(text_at(first, "label")),
                     escape(amount(number_at(first, "value"), text_at(first, "unit"))),
                     badge(text_at(first, "provenance")), effect(part_at(first, "low"), step),
                     effect(part_at(first, "high"), step)) +
         figure("tornado", "Change of the winner's step when one input is turned down and up.") +
         numbers("Every input that the step depends on", tornado_table(sensitivity, step));
}

std::string gain_text(const Json& c) {
  if (!flag_at(c, "winner_fits")) return "today's winner cannot run there";
  return fmt::format("{} at {}", percent_text(number_at(c, "gain_at_end")),
                     amount(number_at(c, "end_value"), text_at(c, "unit")));
}

// A batch is looked at in doubles and halves, so it flips at one, not below one.
std::string place_text(const Json& c) {
  const bool batch = text_at(c, "parameter") == "global_batch_size";
  return fmt::format("{} {}", batch ? "at" : text_at(c, "direction"),
                     amount(number_at(c, "at"), text_at(c, "unit")));
}

std::string flips_table(const Json& crossovers) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& c : crossovers) {
    const std::string unit = text_at(c, "unit");
    rows.push_back({escape(text_at(c, "label")), escape(amount(number_at(c, "today"), unit)),
                    escape(place_text(c)),
                    fmt::format("{:+.0f}", (number_at(c, "factor") - 1.0) * 100.0),
                    layout_code(part_at(c, "best")), escape(gain_text(c)),
                    flag_at(c, "exact") ? "all layouts" : "those that came close"});
  }
  return table("Where another layout becomes the best, nearest first",
               {{"input"},
                {"today"},
                {"flips"},
                {"from today, %", true},
                {"best there"},
                {"saves of a step"},
                {"compared"}},
               rows);
}

std::string flips(const Json& crossovers) {
  if (crossovers.empty()) {
    return "<p>No input between a quarter and four times its value makes another layout better by "
           "an amount that matters.</p>\n";
  }
  std::string out =
      fmt::format("<p>The nearest flip: {}</p>\n", escape(text_at(crossovers.front(), "sentence")));
  out += figure(
      "flips", "How far each input must move from today's value until another layout is the best.");
  return out + flips_table(crossovers);
}

std::string change_text(const Json& change) {
  const std::string unit = text_at(change, "unit");
  return fmt::format("{}: {} → {}", text_at(change, "label"),
                     amount(number_at(change, "before"), unit),
                     amount(number_at(change, "after"), unit));
}

std::string what_ifs(const Json& all) {
  if (all.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  for (const Json& w : all) {
    std::string changes;
    for (const Json& change : part_at(w, "changes")) {
      changes += (changes.empty() ? "" : "; ") + change_text(change);
    }
    const Json& winner = part_at(w, "winner");
    const bool fits = winner.is_object();
    rows.push_back({escape(changes), fits ? layout_code(winner) : "none fits",
                    fits ? significant(number_at(winner, "step_time_seconds") * 1e3) : "",
                    fits ? fmt::format("{:+.1f}", number_at(w, "step_time_change") * 100.0) : "",
                    escape(text_at(w, "sentence"))});
  }
  return "<h3>What if</h3>\n" + table("The plan under changed inputs",
                                      {{"change"},
                                       {"best layout there"},
                                       {"step, ms", true},
                                       {"against today, %", true},
                                       {"in words"}},
                                      rows);
}

}  // namespace

std::string sensitivity(const Json& report) {
  const Json& answers = part_at(report, "answers");
  if (!answers.is_object() || !part_at(report, "summary").is_object()) return "";
  const Json& sensitivity = part_at(answers, "sensitivity");
  const double step = number_at(part_at(report, "summary"), "step_time_seconds");
  std::string body = tornado(sensitivity, step);
  // Where memory was wanted, nobody asked for flips.
  if (!sensitivity.empty()) {
    body += "<h3>What would change the answer</h3>\n" + flips(part_at(answers, "crossovers"));
  }
  body += what_ifs(part_at(answers, "what_ifs"));
  return body.empty() ? "" : section("sensitivity", "What the answer hangs on", body);
}

}  // namespace meshwright::reports::html
