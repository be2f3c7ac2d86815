// SPDX-License-Identifier: Apache-2.0
#include "reports/sections/decision_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/sections/section_parts.h"
#include "reports/text/text.h"
#include "sim/hardware/device_noun.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

using html::TableCell;
using html::TableRow;

// Style of all rows of one table.
struct TableStyle {
  bool tokens_stated = true;  // else tokens a second stand in the place of days
  bool dated = false;         // a start is stated
  bool priced = false;
  std::string currency{};
  std::string_view unit = "days";
  double days_a_unit = 1.0;
  std::string device = "GPU";  // or "core"
  std::string of{};            // " per 1 T tokens", where nobody stated the tokens
  std::string example{};       // " (example prices of 2026-11)"
  bool has_energy = true;      // of some row; the power of CPU cores is not known

  [[nodiscard]] std::string days_text(double days) const {
    return short_number(days / days_a_unit);
  }
};

// The unit that the front row's time reads best in.
void set_unit(TableStyle& style, double days) {
  if (days >= 2.0) return;
  style.unit = days >= 1.0 / 12.0 ? "hours" : "minutes";
  style.days_a_unit = days >= 1.0 / 12.0 ? 1.0 / 24.0 : 1.0 / 1440.0;
}

TableStyle style_of(const Capacity& capacity, DeviceKind kind) {
  const auto& rows = capacity.rows;
  TableStyle style{.tokens_stated = capacity.tokens_stated,
                   .dated = capacity.start.has_value(),
                   .priced = std::any_of(rows.begin(), rows.end(),
                                         [](const auto& row) { return row.cost.has_value(); }),
                   .currency = capacity.currency(),
                   .device = std::string(device_noun(kind, 1))};
  style.has_energy = std::any_of(rows.begin(), rows.end(),
                                 [](const auto& row) { return row.energy_mwh.has_value(); });
  if (capacity.prices && capacity.prices->example) {
    style.example = fmt::format(" (example prices of {})", capacity.prices->date);
  }
  if (!style.tokens_stated) {
    style.of = fmt::format(" per {} T tokens", number_text(capacity.train_tokens / 1e12, 3));
  }
  if (const CapacityRow* front = capacity.front()) set_unit(style, front->days.p50);
  return style;
}

std::string amount_text_of(double amount) { return si_text(amount); }

// The middle with its ends, each as `text` writes it.
template <typename Text>
TableCell ranged_cell(const planner::Quantiles& q, const Text& text) {
  return {
      fmt::format("{} <span class=\"range\">{} – {}</span>", text(q.p50), text(q.p10), text(q.p90)),
      q.p50};
}

TableCell time_cell(const RunFacts& run, const TableStyle& style) {
  if (!style.tokens_stated) return ranged_cell(run.effective_tokens_per_second, amount_text_of);
  return ranged_cell(run.days, [&](double days) { return style.days_text(days); });
}

TableCell cost_cell(const RunFacts& run, const TableStyle& style) {
  if (!style.priced) return ranged_cell(run.gpu_hours, amount_text_of);
  return run.cost ? ranged_cell(*run.cost, amount_text_of) : TableCell("");
}

TableCell energy_cell(const RunFacts& run) {
  if (!run.energy_mwh) return {""};
  return {si_text(*run.energy_mwh * 1e6) + "Wh", *run.energy_mwh};
}

TableCell share_cell(double share) { return {percent_text(share), share}; }

// "★" recommended, "◂" the plan's own where that is another.
std::string row_mark(const CapacityRow& row, const Capacity& capacity) {
  if (row.recommended) return " <abbr title=\"recommended\">★</abbr>";
  return row.id == capacity.planned ? " <abbr title=\"this plan\">◂</abbr>" : "";
}

// Whether rows differ in a member.
template <typename Member>
bool differ(const std::vector<CapacityRow>& rows, Member member) {
  return std::any_of(rows.begin(), rows.end(),
                     [&](const CapacityRow& row) { return row.*member != rows.front().*member; });
}

// Where rows are of several clusters or batches, these stand beside the count.
std::string row_place_text(const CapacityRow& row, const std::vector<CapacityRow>& rows) {
  std::string text = count_text(row.gpus);
  if (differ(rows, &CapacityRow::cluster)) text += " " + html::escape(row.cluster);
  if (differ(rows, &CapacityRow::schedule) || differ(rows, &CapacityRow::global_batch)) {
    text += row.schedule ? ", scheduled batch" : ", batch " + count_text(row.global_batch);
  }
  return text;
}

std::vector<html::Heading> headings_of(const TableStyle& style) {
  const std::string money = style.currency.empty() ? "cost" : "cost, " + style.currency;
  std::vector<html::Heading> headings{
      {style.device + "s", true},
      {style.tokens_stated ? std::string(style.unit) : "tokens/s", true}};
  if (style.dated) headings.push_back({"end (P90)", true});
  headings.push_back(
      {(style.priced ? money + style.example : style.device + "-hours") + style.of, true});
  if (style.tokens_stated) {
    headings.push_back(
        {(style.priced ? style.currency : style.device + "-hours") + " per day saved", true});
  }
  if (style.has_energy) headings.push_back({"energy" + style.of, true});
  headings.insert(
      headings.end(),
      {{"goodput", true}, {"best layout"}, {"step", true}, {"MFU", true}, {"memory", true}});
  return headings;
}

// `full_name`: the layout's, told under the mouse.
TableRow cells_of(const RunFacts& run, const std::string& full_name, const std::string& first,
                  const TableStyle& style, const TableCell& day_price = {""}) {
  TableRow cells{{first, static_cast<double>(run.gpus)}, time_cell(run, style)};
  if (style.dated) cells.emplace_back(run.done ? run.done->p90 : "");
  cells.push_back(cost_cell(run, style));
  if (style.tokens_stated) cells.push_back(day_price);
  if (style.has_energy) cells.push_back(energy_cell(run));
  const TableRow rest{share_cell(run.goodput),
                      html::layout_code(full_name, run.layout),
                      {seconds_text(run.step.mid), run.step.mid.value()},
                      share_cell(run.mfu),
                      share_cell(run.memory_share)};
  cells.insert(cells.end(), rest.begin(), rest.end());
  return cells;
}

std::string failed_row(const RunFacts& run, const std::string& first, std::size_t columns) {
  if (run.limits.empty()) return "";
  return fmt::format(
      "<tr class=\"failed\"><th scope=\"row\" class=\"number\">{}</th><td colspan=\"{}\">{}</td>"
      "</tr>\n",
      first, columns - 1, html::escape(fmt::format("{}", fmt::join(run.limits, "; "))));
}

// "78.4 (72 to 88)".
template <typename Text>
std::string span_of(const planner::Quantiles& q, const Text& text) {
  return fmt::format("{} ({} to {})", text(q.p50), text(q.p10), text(q.p90));
}

// "16,384 GPUs take 78.4 (72 to 88) days for 77 M (66 M to 92 M) USD."
std::string decision_sentence(const RunFacts& run, const TableStyle& style) {
  const std::string gpus =
      fmt::format("{} {}{}", count_text(run.gpus), style.device, run.gpus == 1 ? "" : "s");
  if (!run.fits) {
    return fmt::format("no layout fits {}: {}.", gpus,
                       run.limits.empty() ? "" : run.limits.front());
  }
  std::string text =
      style.tokens_stated
          ? fmt::format("{} {} {} {}", gpus, verb_for(run.gpus, "take"),
                        span_of(run.days, [&](double days) { return style.days_text(days); }),
                        style.unit)
          : fmt::format("{} {} {} tokens/s, {} per step", gpus, verb_for(run.gpus, "train"),
                        span_of(run.effective_tokens_per_second, amount_text_of),
                        seconds_text(run.step.mid));
  if (run.cost) {
    text +=
        fmt::format(" for {} {}{}", span_of(*run.cost, amount_text_of), style.currency, style.of);
  }
  return text + ".";
}

// The values, with the place of the one that the row in front has.
template <typename Text>
WhatIfControl control_of(std::string key, std::string label, const std::vector<double>& values,
                         double of_front, const Text& text) {
  const auto base = std::find(values.begin(), values.end(), of_front);
  WhatIfControl control{.key = std::move(key), .label = std::move(label), .values = values};
  if (base != values.end()) control.base = static_cast<std::size_t>(base - values.begin());
  for (const double value : values) control.texts.push_back(text(value));
  return control;
}

std::vector<WhatIfControl> controls_of(const WhatIfAxes& axes, int gpus, const TableStyle& style) {
  const auto factor = [](double value) { return fmt::format("× {}", value); };
  const auto count = [](double value) { return count_text(std::llround(value)); };
  const auto rate = [](double value) { return significant(value, 2); };
  const std::vector<double> counts(axes.gpus.begin(), axes.gpus.end());
  const auto& rates = axes.failure_rate;  // low, as stated, high
  const double stated_rate = rates.empty() ? 0.0 : rates[(rates.size() - 1) / 2];
  return {control_of("batch_factor", "Batch", axes.batch_factor, 1.0, factor),
          control_of("gpus", style.device + "s", counts, gpus, count),
          control_of("network_factor", "Network", axes.network_factor, 1.0, factor),
          control_of("failure_rate", "Failures per 1,000 node-days", rates, stated_rate, rate)};
}

const Record<WhatIfControl>& control_record() {
  return described([](Record<WhatIfControl>& r) {
    using R = WhatIfControl;
    r.rows<&R::key, &R::label>();
    r.derived("values", kind::numbers().schema(), "", [](const R& control) {
      if (control.key != "gpus") return Json(control.values);
      return Json(std::vector<int>(control.values.begin(), control.values.end()));
    });
    r.row<&R::texts>();
    r.derived<std::int64_t>("base", kind::count(), "", [](const R& control) {
      return static_cast<std::int64_t>(control.base);
    });
    r.named("WhatIfControl").all_required();
  });
}

const Record<WhatIfTexts>& what_if_texts_record() {
  return described([](Record<WhatIfTexts>& r) {
    using R = WhatIfTexts;
    r.rows<&R::sentence, &R::options, &R::row>();
    r.named("WhatIfTexts").all_required();
  });
}

}  // namespace

std::string short_number(double value) {
  if (std::abs(value) >= 1000.0) return count_text(std::llround(value));
  return significant(value, 3);
}

namespace {

// What each day saved costs against the next slower row of the frontier, or what beats the row.
TableCell day_price_cell(const CapacityRow& row, const Capacity& capacity) {
  for (const FrontierFacts& point : capacity.frontier) {
    if (point.row != row.id) continue;
    if (point.dominated_by) {
      const CapacityRow* by = capacity.row(point.dominated_by);
      const std::string why = point.reason.empty() ? "as fast and as cheap" : point.reason;
      return {fmt::format("<span class=\"dominated\" title=\"{}\">dominated by {}</span>",
                          html::escape(why),
                          by == nullptr ? "" : row_place_text(*by, capacity.rows))};
    }
    if (point.cost_per_day_saved) {
      return {amount_text_of(*point.cost_per_day_saved), *point.cost_per_day_saved};
    }
  }
  return {"–"};
}

// Reasons of dominated rows and limits that a row fails.
std::string reason_of(const CapacityRow& row, const Capacity& capacity) {
  for (const FrontierFacts& point : capacity.frontier) {
    if (point.row == row.id && !point.reason.empty()) return point.reason;
  }
  return "";
}

}  // namespace

std::string decision_table(const Capacity& capacity, DeviceKind kind) {
  if (capacity.rows.empty()) return "";
  const TableStyle style = style_of(capacity, kind);
  const std::vector<html::Heading> headings = headings_of(style);
  const CapacityRow* recommended = capacity.row(capacity.recommended);
  const CapacityRow* chosen = recommended != nullptr ? recommended : capacity.front();
  std::string text;
  for (const CapacityRow& row : capacity.rows) {
    const std::string where = row_place_text(row, capacity.rows);
    if (row.fits) {
      text += html::table_row(
          headings,
          cells_of(row, short_name(row.layout_record), where + row_mark(row, capacity), style,
                   day_price_cell(row, capacity)),
          &row == chosen ? " id=\"recommended\" class=\"pick\"" : "");
      RunFacts dominated;
      if (const std::string why = reason_of(row, capacity); !why.empty()) {
        dominated.limits = {why};
        text += failed_row(dominated, "dominated", headings.size());
      }
    }
    text += failed_row(row, row.fits ? "misses" : where, headings.size());
  }
  return fmt::format(
      "<div id=\"decision-table\" data-fixed>{}</div>\n",
      html::table_of_rows(
          fmt::format("Each row with its own best layout. Ranges: P10–P90. {}",
                      recommended != nullptr ? "★ is recommended: " + capacity.reason + "."
                                             : "No row is recommended."),
          headings, text));
}

const Record<WhatIfBlock>& what_if_block_record() {
  return described([](Record<WhatIfBlock>& r) {
    using R = WhatIfBlock;
    r.about("What the page shows for every cell of the grid of what-ifs.");
    r.row<&R::axes>(control_record);
    r.row<&R::cells>(what_if_texts_record, "The first axis outermost.");
    r.named("WhatIfBlock").all_required();
  });
}

std::optional<WhatIfBlock> what_if_block(const Report& report) {
  const Capacity& capacity = report.capacity;
  const CapacityRow* front = capacity.front();
  if (!capacity.what_if || front == nullptr) return std::nullopt;
  const TableStyle style = style_of(capacity, report.cluster.device_kind);
  const std::vector<html::Heading> headings = headings_of(style);
  WhatIfBlock block{.axes = controls_of(capacity.what_if->axes, front->gpus, style)};
  for (const WhatIfCell& cell : capacity.what_if->cells) {
    const std::string first = "what if: " + count_text(cell.gpus);
    block.cells.push_back(
        {.sentence = decision_sentence(cell, style),
         .options = cell.options,
         .row = cell.fits ? html::table_row(headings, cells_of(cell, cell.layout, first, style),
                                            " class=\"what-if\"")
                          : failed_row(cell, first, headings.size())});
  }
  return block;
}

}  // namespace meshwright::reports
