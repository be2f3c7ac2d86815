// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/html/decision_table_json.h"
#include "reports/html/elements_json.h"
#include "reports/html/escape.h"
#include "reports/html/page_json.h"
#include "reports/sections/sections_json.h"
#include "reports/text.h"
#include "sim/base/text.h"

namespace meshwright::reports::html {
namespace {

// How all rows of one table are written.
struct Style {
  bool tokens_stated = true;  // else tokens a second stand in the place of days
  bool dated = false;         // a start is stated
  bool priced = false;
  std::string currency{};
  std::string_view unit = "days";
  double days_a_unit = 1.0;
  std::string device = "GPU";  // or "core"
  std::string of{};            // " per 1 T tokens", where nobody stated the tokens
};

// The unit that the front row's time reads best in.
void set_unit(Style& style, double days) {
  if (days >= 2.0) return;
  style.unit = days >= 1.0 / 12.0 ? "hours" : "minutes";
  style.days_a_unit = days >= 1.0 / 12.0 ? 1.0 / 24.0 : 1.0 / 1440.0;
}

Style style_of(const Json& report) {
  const Json& capacity = part_at(report, "capacity");
  Style style;
  style.device = device_noun(report);
  style.tokens_stated = flag_at(capacity, "tokens_stated");
  style.dated = part_at(capacity, "start").is_string();
  if (!style.tokens_stated) {
    style.of =
        fmt::format(" per {} T tokens", number_text(number_at(capacity, "train_tokens") / 1e12, 3));
  }
  for (const Json& row : part_at(capacity, "rows")) {
    const std::string currency = text_at(part_at(row, "cost"), "currency");
    if (part_at(row, "cost").is_object()) style.priced = true;
    if (!currency.empty()) style.currency = currency;
  }
  const Json& front = front_row(capacity);
  if (front.is_object()) set_unit(style, number_at(part_at(front, "days"), "p50"));
  return style;
}

std::string range(const std::string& low, const std::string& high) {
  return fmt::format(" <span class=\"range\">{} – {}</span>", low, high);
}

// The middle with its ends, each as `text` writes it.
template <typename Text>
TableCell ranged_cell(const Json& quantiles, const Text& text) {
  if (!quantiles.is_object()) return {""};
  const auto at = [&](const char* key) { return text(number_at(quantiles, key)); };
  return {at("p50") + range(at("p10"), at("p90")), number_at(quantiles, "p50")};
}

TableCell time_cell(const Json& row, const Style& style) {
  if (!style.tokens_stated) {
    return ranged_cell(part_at(row, "effective_tokens_per_second"),
                       [](double value) { return si_text(value); });
  }
  return ranged_cell(part_at(row, "days"),
                     [&](double days) { return short_number(days / style.days_a_unit); });
}

TableCell cost_cell(const Json& row, const Style& style) {
  return ranged_cell(part_at(row, style.priced ? "cost" : "gpu_hours"),
                     [](double value) { return si_text(value); });
}

TableCell energy_cell(const Json& row) {
  if (!part_at(row, "energy_mwh").is_number()) return {""};
  const double energy = number_at(row, "energy_mwh");
  return {si_text(energy * 1e6) + "Wh", energy};
}

TableCell share_cell(const Json& row, const char* key) {
  return {percent_text(number_at(row, key)), number_at(row, key)};
}

// "★" recommended, "◂" the plan's own where that is another.
std::string row_mark(const Json& row, const Json& capacity) {
  if (flag_at(row, "recommended")) return " <abbr title=\"recommended\">★</abbr>";
  const bool planned =
      !row.contains("id") ? false : part_at(row, "id") == part_at(capacity, "planned");
  return planned ? " <abbr title=\"this plan\">◂</abbr>" : "";
}

bool differ(const Json& rows, const char* key) {
  return std::any_of(rows.begin(), rows.end(), [&](const Json& row) {
    return part_at(row, key) != part_at(rows.front(), key);
  });
}

std::string batch_text(const Json& row) {
  if (flag_at(row, "schedule")) return "scheduled batch";
  return fmt::format("batch {}", count_text(whole_at(row, "global_batch")));
}

// Where rows are of several clusters or batches, these stand beside the count.
std::string where_text(const Json& row, const Json& rows) {
  std::string text = count_text(whole_at(row, "gpus"));
  if (differ(rows, "cluster")) text.append(" ").append(escape(text_at(row, "cluster")));
  if (differ(rows, "schedule") || differ(rows, "global_batch")) {
    text.append(", ").append(batch_text(row));
  }
  return text;
}

std::string layout_cell(const Json& row) {
  const std::string brief = text_at(row, "layout");
  const std::string full = text_at(row, "layout_name");
  return fmt::format("<code title=\"{}\">{}</code>", escape(full.empty() ? brief : full),
                     escape(brief));
}

std::vector<Heading> headings_of(const Style& style) {
  const std::string money = style.currency.empty() ? "cost" : "cost, " + style.currency;
  std::vector<Heading> headings{{style.device + "s", true},
                                {style.tokens_stated ? std::string(style.unit) : "tokens/s", true}};
  if (style.dated) headings.push_back({"done, 9 of 10", true});
  headings.insert(headings.end(),
                  {{(style.priced ? money : style.device + "-hours") + style.of, true},
                   {"energy" + style.of, true},
                   {"goodput", true},
                   {"best layout"},
                   {"step", true},
                   {"MFU", true},
                   {"memory", true}});
  return headings;
}

TableRow cells_of(const Json& row, TableCell first, const Style& style) {
  TableRow cells{std::move(first), time_cell(row, style)};
  if (style.dated) cells.emplace_back(text_at(part_at(row, "done"), "p90"));
  const double step = number_at(part_at(row, "step_s"), "mid");
  const TableRow rest{cost_cell(row, style),
                      energy_cell(row),
                      share_cell(row, "goodput"),
                      layout_cell(row),
                      {seconds_text(seconds(step)), step},
                      share_cell(row, "mfu"),
                      share_cell(row, "memory_share")};
  cells.insert(cells.end(), rest.begin(), rest.end());
  return cells;
}

std::string failed_row(const Json& row, const std::string& first, std::size_t columns) {
  std::string limits;
  for (const Json& limit : part_at(row, "limits")) {
    if (limit.is_string()) append_to_list(limits, "; ", limit.get<std::string>());
  }
  if (limits.empty()) return "";
  return fmt::format(
      "<tr class=\"failed\"><th scope=\"row\" class=\"number\">{}</th><td colspan=\"{}\">{}</td>"
      "</tr>\n",
      first, columns - 1, escape(limits));
}

// "16,384 GPUs take 78.4 days (72 to 88) for 77 M USD (66 M to 92 M)."
std::string decision_sentence(const Json& run, const Style& style) {
  const std::string gpus = fmt::format("{} {}{}", count_text(whole_at(run, "gpus")), style.device,
                                       whole_at(run, "gpus") == 1 ? "" : "s");
  if (!flag_at(run, "fits")) {
    const Json& limits = part_at(run, "limits");
    const bool said = limits.is_array() && !limits.empty() && limits.front().is_string();
    return fmt::format("no layout fits {}: {}.", gpus,
                       said ? limits.front().get<std::string>() : "");
  }
  const auto span = [](const Json& q, const auto& text) {
    return fmt::format("{} ({} to {})", text(number_at(q, "p50")), text(number_at(q, "p10")),
                       text(number_at(q, "p90")));
  };
  const auto amount = [](double value) { return si_text(value); };
  std::string text =
      style.tokens_stated
          ? fmt::format("{} {} {} {}", gpus, verb_for(whole_at(run, "gpus"), "take"),
                        span(part_at(run, "days"),
                             [&](double days) { return short_number(days / style.days_a_unit); }),
                        style.unit)
          : fmt::format("{} {} {} tokens/s, {} per step", gpus,
                        verb_for(whole_at(run, "gpus"), "train"),
                        span(part_at(run, "effective_tokens_per_second"), amount),
                        seconds_text(seconds(number_at(part_at(run, "step_s"), "mid"))));
  if (style.priced && part_at(run, "cost").is_object()) {
    text +=
        fmt::format(" for {} {}{}", span(part_at(run, "cost"), amount), style.currency, style.of);
  }
  return text + ".";
}

struct AxisWords {
  const char* key;
  const char* label;
};
constexpr std::array kAxes{AxisWords{"batch_factor", "Batch"}, AxisWords{"gpus", "GPUs"},
                           AxisWords{"network_factor", "Network"},
                           AxisWords{"failure_rate", "Failures per 1,000 node-days"}};

std::string value_text(std::string_view key, double value) {
  if (key == "gpus") return count_text(std::llround(value));
  if (key == "failure_rate") return significant(value, 2);
  return fmt::format("× {}", value);
}

// The place of the row that the grid stands around.
std::size_t base_of(std::string_view key, const Json& values, const Json& front) {
  if (key == "failure_rate") return (values.size() - 1) / 2;  // low, as stated, high
  const Json wanted = key == "gpus" ? part_at(front, "gpus") : Json(1.0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == wanted) return i;
  }
  return 0;
}

Json axes_of(const Json& grid, const Json& front, const Style& style) {
  Json axes = Json::array();
  for (const AxisWords& words : kAxes) {
    const Json& values = part_at(part_at(grid, "axes"), words.key);
    Json texts = Json::array();
    for (const Json& value : values) {
      texts.push_back(value_text(words.key, value.is_number() ? value.get<double>() : 0.0));
    }
    axes.push_back({{"key", words.key},
                    {"label", replaced(words.label, "GPU", style.device)},
                    {"values", values.is_array() ? values : Json::array()},
                    {"texts", texts},
                    {"base", base_of(words.key, values, front)}});
  }
  return axes;
}

}  // namespace

std::string short_number(double value) {
  if (std::abs(value) >= 1000.0) return count_text(std::llround(value));
  return significant(value, 3);
}

std::string decision_table(const Json& report) {
  const Json& capacity = part_at(report, "capacity");
  const Json& rows = part_at(capacity, "rows");
  if (!rows.is_array() || rows.empty()) return "";
  const Style style = style_of(report);
  const std::vector<Heading> headings = headings_of(style);
  const Json& front = front_row(capacity);
  const Json& chosen = part_at(capacity, "recommended").is_string()
                           ? part_at(capacity, "recommended")
                           : part_at(front, "id");
  std::string text;
  for (const Json& row : rows) {
    const bool fits = flag_at(row, "fits");
    if (fits) {
      const bool pick = part_at(row, "id") == chosen;
      text += table_row(
          headings,
          cells_of(row, {where_text(row, rows) + row_mark(row, capacity), number_at(row, "gpus")},
                   style),
          pick ? " id=\"recommended\" class=\"pick\"" : "");
    }
    text += failed_row(row, fits ? "fails" : where_text(row, rows), headings.size());
  }
  return fmt::format("<div id=\"decision-table\" data-fixed>{}</div>\n",
                     table_of_rows("Each row with its own best layout; ranges: 10 to 90 % of cases",
                                   headings, text));
}

Json what_if_block(const Json& report) {
  const Json& capacity = part_at(report, "capacity");
  const Json& grid = part_at(capacity, "what_if");
  const Json& front = front_row(capacity);
  if (!grid.is_object() || !front.is_object()) return {};
  const Style style = style_of(report);
  const std::vector<Heading> headings = headings_of(style);
  Json cells = Json::array();
  for (const Json& cell : part_at(grid, "cells")) {
    const std::string first = "what if: " + count_text(whole_at(cell, "gpus"));
    cells.push_back(
        {{"sentence", decision_sentence(cell, style)},
         {"options", text_at(cell, "options")},
         {"row", flag_at(cell, "fits")
                     ? table_row(headings, cells_of(cell, {first, number_at(cell, "gpus")}, style),
                                 " class=\"what-if\"")
                     : failed_row(cell, first, headings.size())}});
  }
  return {{"axes", axes_of(grid, front, style)}, {"cells", std::move(cells)}};
}

}  // namespace meshwright::reports::html
