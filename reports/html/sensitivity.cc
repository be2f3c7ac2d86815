// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "reports/html/elements_json.h"
#include "reports/html/escape.h"
#include "reports/html/page_json.h"
#include "reports/text.h"
#include "sim/base/text.h"

namespace meshwright::reports::html {
namespace {

// "50.0 GB/s"; a parameter without a unit is a share.
std::string amount(double value, const std::string& unit) {
  if (unit.empty()) return percent_text(value);
  return fmt::format("{} {}", fmt::format("{}", number_text(value)), unit == "us" ? "µs" : unit);
}

std::string factor_text(double factor) {
  return fmt::format("{} %", signed_number_text((factor - 1.0) * 100.0, 3));
}

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

// More time in days than the plan takes; a step's difference times its steps.
TableCell days_cell(const Json& turned, double step, double steps) {
  const double days = (number_at(turned, "step_time_seconds") - step) * steps / 86400.0;
  return {fmt::format("{}", signed_number_text(days, 3)), days};
}

std::string spread_text(const Json& s) {
  return fmt::format("{}{}", number_text(number_at(s, "relative_spread") * 100.0, 3),
                     flag_at(s, "capped") ? ", up to the physical limit" : "");
}

// `steps`: of the training; one where nobody stated its tokens, and then no days are said.
std::string tornado_table(const Json& sensitivity, double step, double steps) {
  const bool days = steps > 1.0;
  TableRows rows;
  for (const Json& s : sensitivity) {
    const Json& low = part_at(s, "low");
    const Json& high = part_at(s, "high");
    TableRow row{escape(text_at(s, "label")),
                 escape(amount(number_at(s, "value"), text_at(s, "unit"))), spread_text(s),
                 turned_text(low), turned_text(high)};
    if (days) row.push_back(days_cell(low, step, steps));
    if (days) row.push_back(days_cell(high, step, steps));
    const TableRow rest{fmt::format("{:.1f}", swing(s) / step * 100.0), winner_there(s),
                        badge(text_at(s, "provenance"))};
    row.insert(row.end(), rest.begin(), rest.end());
    rows.push_back(std::move(row));
  }
  std::vector<Heading> headings{
      {"input"}, {"today"}, {"1σ, %", true}, {"step 1σ down, ms", true}, {"step 1σ up, ms", true}};
  if (days) headings.insert(headings.end(), {{"days 1σ down", true}, {"days 1σ up", true}});
  headings.insert(headings.end(), {{"swing, % of the step", true}, {"best layout"}, {"source"}});
  return table("The best layout's step when one input moves by its own spread and the others stay",
               headings, rows);
}

// "7 % less of it makes the step 18.1 % longer".
std::string turned_effect(const Json& turned, double step) {
  const double factor = number_at(turned, "factor") - 1.0;
  const double change = number_at(turned, "step_time_seconds") / step - 1.0;
  return fmt::format("{} % {} of it makes the step {:.1f} % {}",
                     number_text(std::abs(factor) * 100.0, 3), factor < 0.0 ? "less" : "more",
                     std::abs(change) * 100.0, change < 0.0 ? "shorter" : "longer");
}

std::string tornado(const Json& sensitivity, double step, double steps) {
  if (sensitivity.empty()) return "";
  const Json& first = sensitivity.front();
  return fmt::format("<p>The largest risk is the {}, which is {} ({}): {}, {}.</p>\n",
                     escape(text_at(first, "label")),
                     escape(amount(number_at(first, "value"), text_at(first, "unit"))),
                     badge(text_at(first, "provenance")),
                     turned_effect(part_at(first, "low"), step),
                     turned_effect(part_at(first, "high"), step)) +
         figure("tornado",
                "What the training, or a step, takes more or less when one input moves by its own "
                "standard deviation, at most to its physical limit.") +
         numbers("Every input that the step depends on", tornado_table(sensitivity, step, steps));
}

std::string gain_text(const Json& c) {
  if (!flag_at(c, "winner_fits")) return "today's winner cannot run there";
  return fmt::format("{} at {}", percent_text(number_at(c, "gain_at_end")),
                     amount(number_at(c, "end_value"), text_at(c, "unit")));
}

// A batch is looked at in doubles and halves, so the crossover is at one, not below one.
std::string crossover_place(const Json& c) {
  const bool batch = text_at(c, "parameter") == "global_batch_size";
  return fmt::format("{} {}", batch ? "at" : text_at(c, "direction"),
                     amount(number_at(c, "at"), text_at(c, "unit")));
}

std::string crossovers_table(const Json& crossovers) {
  TableRows rows;
  for (const Json& c : crossovers) {
    const std::string unit = text_at(c, "unit");
    rows.push_back({escape(text_at(c, "label")), escape(amount(number_at(c, "today"), unit)),
                    escape(crossover_place(c)),
                    fmt::format("{:+.0f}", (number_at(c, "factor") - 1.0) * 100.0),
                    layout_code(part_at(c, "best")), escape(gain_text(c)),
                    flag_at(c, "exact") ? "all layouts" : "those that came close"});
  }
  return table("Where another layout becomes the best, nearest first",
               {{"input"},
                {"today"},
                {"crossover"},
                {"from today, %", true},
                {"best there"},
                {"saves, share of the step"},
                {"compared"}},
               rows);
}

std::string crossovers_part(const Json& crossovers) {
  if (crossovers.empty()) {
    return "<p>No input between a quarter and four times its value makes another layout better by "
           "an amount that matters.</p>\n";
  }
  std::string out = fmt::format("<p>The nearest crossover point: {}</p>\n",
                                escape(text_at(crossovers.front(), "sentence")));
  out +=
      figure("crossovers",
             "How far each input must move from today's value until another layout is the best.");
  return out + crossovers_table(crossovers);
}

std::string change_text(const Json& change) {
  const std::string unit = text_at(change, "unit");
  return fmt::format("{}: {} → {}", text_at(change, "label"),
                     amount(number_at(change, "before"), unit),
                     amount(number_at(change, "after"), unit));
}

// "108 days, 118 M": of the whole training, where its tokens are stated.
std::string needs_text(const Json& what_if, const char* key) {
  const Json& needs = part_at(what_if, key);
  if (!needs.is_object()) return "";
  std::string text = duration_text(seconds(number_at(needs, "train_seconds")));
  if (part_at(needs, "cost").is_number()) text += ", cost " + si_text(number_at(needs, "cost"));
  return text;
}

std::string what_ifs(const Json& all) {
  if (all.empty()) return "";
  TableRows rows;
  for (const Json& w : all) {
    std::string changes;
    for (const Json& change : part_at(w, "changes")) {
      append_to_list(changes, "; ", change_text(change));
    }
    const Json& winner = part_at(w, "winner");
    const bool fits = winner.is_object();
    rows.push_back({escape(changes), fits ? layout_code(winner) : "none fits",
                    fits ? significant(number_at(winner, "step_time_seconds") * 1e3) : "",
                    fits ? fmt::format("{:+.1f}", number_at(w, "step_time_change") * 100.0) : "",
                    needs_text(w, "needs"), needs_text(w, "needs_today"),
                    escape(text_at(w, "sentence"))});
  }
  return "<h3>What if</h3>\n" + table("The plan under changed inputs",
                                      {{"change"},
                                       {"best layout there"},
                                       {"step, ms", true},
                                       {"against today, %", true},
                                       {"training"},
                                       {"today"},
                                       {"in words"}},
                                      rows);
}

}  // namespace

std::string sensitivity(const Json& report) {
  const Json& answers = part_at(report, "answers");
  if (!answers.is_object() || !part_at(report, "summary").is_object()) return "";
  const Json& sensitivity = part_at(answers, "sensitivity");
  const double step = number_at(part_at(report, "summary"), "step_time_seconds");
  std::string body = tornado(sensitivity, step, train_steps(report));
  // Where memory was wanted, nobody asked for crossovers.
  if (!sensitivity.empty()) {
    body +=
        "<h3>What would change the answer</h3>\n" + crossovers_part(part_at(answers, "crossovers"));
  }
  body += what_ifs(part_at(answers, "what_ifs"));
  return body.empty() ? "" : section("sensitivity", "Sensitivity", body);
}

}  // namespace meshwright::reports::html
