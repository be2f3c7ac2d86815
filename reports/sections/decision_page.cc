// SPDX-License-Identifier: Apache-2.0
#include "reports/sections/decision_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/sections/decision_charts.h"
#include "reports/sections/decision_table.h"
#include "reports/text/capacity_text.h"
#include "reports/text/text.h"
#include "sim/base/text.h"
#include "sim/hardware/device_noun.h"

namespace meshwright::reports {
namespace {

using html::escape;

std::string panel(std::string_view id, std::string_view heading, std::string_view says,
                  const std::string& body) {
  if (body.empty()) return "";
  return fmt::format(
      "<div class=\"panel\" id=\"{}\"><h2>{}</h2>\n<p class=\"soft\">{}</p>\n{}</div>\n", id,
      escape(heading), escape(says), body);
}

std::string tags(const DecisionView& view) {
  std::string out;
  for (const std::string& tag : view.capacity.tags) {
    out += fmt::format("<span class=\"tag\">{}</span> ", escape(tag));
  }
  return out;
}

std::string top_line(const DecisionView& view) {
  const Capacity& capacity = view.capacity;
  std::string dates;
  const auto add = [&dates](const std::string& words) { append_to_list(dates, " · ", words); };
  if (capacity.start) add("start " + *capacity.start);
  if (capacity.limits.deadline) add("deadline " + *capacity.limits.deadline);
  if (capacity.limits.deadline_days) {
    add(fmt::format("deadline {} days", number_text(*capacity.limits.deadline_days, 3)));
  }
  if (capacity.limits.budget) {
    add("budget " + money_text(*capacity.limits.budget, capacity.currency()));
  }
  return fmt::format(
      "<div class=\"top\"><h1>{}</h1><span>{}</span> {}<span>record {} · open for decision</span>"
      "</div>\n",
      escape(view.subject), escape(dates), tags(view), escape(view.hash.substr(0, 8)));
}

std::string reasons(const Capacity& capacity) {
  std::string out;
  const auto add = [&out](const char* label, const std::string& text) {
    if (!text.empty()) out += fmt::format("<b>{}:</b> {} ", label, escape(text));
  };
  add("Why not fewer", capacity.why_not_fewer);
  add("Why not more", capacity.why_not_more);
  add("Counts", capacity.tried);
  add("Weakest point", capacity.weakest_point);
  return out.empty() ? "" : fmt::format("<p class=\"how\" id=\"why\">{}</p>\n", out);
}

std::string tile(std::string_view label, const std::string& value, const std::string& below,
                 std::string_view name = "") {
  return fmt::format("<div class=\"tile{}\"><dt>{}</dt><dd><b>{}</b><span>{}</span></dd></div>\n",
                     name, escape(label), escape(value), escape(below));
}

std::string span(const planner::Quantiles& q, double unit) {
  return fmt::format("P10–P90: {}–{}", number_text(q.p10 / unit, 3), number_text(q.p90 / unit, 3));
}

std::string end_tile(const CapacityRow& row) {
  const std::string days =
      fmt::format("{} days ({})", number_text(row.days.p50, 3), span(row.days, 1.0));
  if (!row.done) return tile("end (P90)", number_text(row.days.p90, 3) + " days", "P50 " + days);
  return tile("end (P90)", row.done->p90, fmt::format("P50 {}, {}", row.done->p50, days));
}

// "example prices of 2026-11".
std::string example_note(const Capacity& capacity) {
  const auto& prices = capacity.prices;
  if (!prices) return "";
  return fmt::format("{}prices of {}", prices->example ? "example " : "", prices->date);
}

std::string price_words(const Capacity& capacity, const CapacityRow& row) {
  if (!row.price) return "";
  const std::string note = example_note(capacity);
  const planner::Ranged& price = *row.price;
  const std::string ends = price.high > price.low ? fmt::format("{}–{}", number_text(price.low, 3),
                                                                number_text(price.high, 3))
                                                  : number_text(price.value, 3);
  return fmt::format(" at {}{}", ends, note.empty() ? "" : ", " + note);
}

std::string cost_tile(const Capacity& capacity, const CapacityRow& row, DeviceKind kind) {
  const std::string_view noun = device_noun(kind, 1);
  if (!row.cost) {
    return tile(fmt::format("{}-hours (P90)", noun), si_text(row.gpu_hours.p90),
                fmt::format("P50 {}; no price is stated", si_text(row.gpu_hours.p50)));
  }
  return tile("cost (P90)", money_text(row.cost->p90, row.cost->currency),
              fmt::format("P50 {}; {} {}-hours{}", money_text(row.cost->p50, row.cost->currency),
                          si_text(row.gpu_hours.p50), noun, price_words(capacity, row)));
}

std::string goodput_tile(const Capacity& capacity, const CapacityRow& row) {
  std::string below =
      fmt::format("mean time between failures {}",
                  duration_text(seconds(row.interruptions.mean_time_between_h * 3600.0)));
  if (capacity.reference && capacity.reference->stated_mfu) {
    below += fmt::format("; published run: MFU {}", percent_text(*capacity.reference->stated_mfu));
  }
  return tile("goodput · MFU", percent_text(row.goodput) + " · " + percent_text(row.mfu), below);
}

std::string power_tile(const Capacity& capacity, const CapacityRow& row) {
  if (!row.power_mw || !row.power_mw_high) return "";
  const planner::Ranged& pue = capacity.run_inputs.pue;
  return tile("power to reserve (at most)", si_text(*row.power_mw_high * 1e6) + "W",
              fmt::format("{}W on average at PUE {} ({})", si_text(*row.power_mw * 1e6),
                          number_text(pue.value, 3), pue.basis));
}

// The published run's days, and whether the prediction holds them.
std::string reference_tile(const Capacity& capacity) {
  if (!capacity.reference) return "";
  const ReferenceFacts& run = *capacity.reference;
  const CapacityRow* row = capacity.row(run.row);
  if (row == nullptr || !row->fits) return "";
  const double days = run.stated_gpu_hours / 24.0 / run.gpus;
  const bool inside = days >= row->days.p10 && days <= row->days.p90;
  return tile("published run", number_text(days, 3) + " days",
              fmt::format("{} on {}: {} P10–P90 of its prediction ({}–{})", run.name,
                          count_text(run.gpus), inside ? "inside" : "outside",
                          number_text(row->days.p10, 3), number_text(row->days.p90, 3)),
              inside ? "" : " warn");
}

std::string layout_tile(const CapacityRow& row) {
  return fmt::format(
      "<div class=\"tile\"><dt>layout</dt><dd><code>{}</code><span>{}</span></dd></div>\n",
      escape(row.layout),
      fmt::format("step {}, {} of memory", seconds_text(row.step.mid),
                  percent_text(row.memory_share)));
}

std::string tiles(const DecisionView& view) {
  const CapacityRow* row = view.capacity.front();
  if (row == nullptr || !row->fits || !view.capacity.tokens_stated) return "";
  std::string reference = reference_tile(view.capacity);
  return "<dl class=\"tiles\" id=\"tiles\">\n" + end_tile(*row) +
         cost_tile(view.capacity, *row, view.kind) + goodput_tile(view.capacity, *row) +
         power_tile(view.capacity, *row) + (reference.empty() ? layout_tile(*row) : reference) +
         "</dl>\n";
}

std::string signed_number(const std::optional<double>& value, double unit) {
  if (!value) return "–";
  const double size = std::abs(*value) / unit;
  if (size < 0.005) return "0";
  return (*value < 0.0 ? "−" : "+") + number_text(size, 2);
}

std::string risks(const Capacity& capacity) {
  if (capacity.risks.empty()) return "";
  const bool priced = std::any_of(capacity.risks.begin(), capacity.risks.end(),
                                  [](const planner::Risk& risk) { return risk.cost.has_value(); });
  std::vector<html::Heading> headings{{"risk"}, {"how likely"}, {"days", true}};
  if (priced) headings.push_back({"M " + capacity.currency(), true});
  headings.push_back({"what settles it"});
  html::TableRows rows;
  for (const planner::Risk& risk : capacity.risks) {
    html::TableRow cells{escape(risk.what), escape(risk.how_likely), signed_number(risk.days, 1.0)};
    if (priced) cells.emplace_back(signed_number(risk.cost, kMillion));
    cells.emplace_back(escape(risk.settled_by));
    rows.push_back(std::move(cells));
  }
  return "<div data-fixed>" + html::table("Risks of the row above", headings, rows) + "</div>";
}

std::string charts(const DecisionView& view) {
  const Capacity& capacity = view.capacity;
  const bool priced = !capacity.currency().empty();
  const std::string note = example_note(capacity);
  std::string out =
      panel("frontier", "What a day costs",
            fmt::format("{} against days, P10–P90{}. On the line: cost of each day saved. Hollow: "
                        "dominated.",
                        priced ? "Cost" : "Device-hours", note.empty() ? "" : " (" + note + ")"),
            frontier_chart(capacity, view.kind));
  out += panel("tornado-decision", "What moves days and cost",
               "Change relative to the row above; inputs at ±1 sigma, choices halved and doubled.",
               tornado_chart(capacity));
  out += panel("risks", "Before approving", "Added days and cost, relative to the medians.",
               risks(capacity));
  return out.empty() ? "" : "<div class=\"charts\">\n" + out + "</div>\n";
}

// The viewer puts its controls here; pages without script have the table alone.
std::string rows_box(const DecisionView& view) {
  const std::string table = decision_table(view.capacity, view.kind);
  if (table.empty()) return "";
  return "<div class=\"live\" id=\"live\"><div id=\"live-controls\"></div>\n<div "
         "id=\"live-result\"></div>\n" +
         table + "</div>\n";
}

constexpr std::string_view kSignatures =
    "<div class=\"signatures\" id=\"signatures\"><div>decision: approve / approve if / "
    "decline</div><div>chair, date</div><div>finance: price and quote number</div><div>operations: "
    "restart and spares</div></div>\n";

}  // namespace

std::string decision_header(const DecisionView& view) {
  std::string out = "<header>\n" + top_line(view);
  out += fmt::format("<p class=\"verdict\" id=\"verdict\">{}</p>\n", escape(view.verdict));
  out += reasons(view.capacity);
  out += tiles(view) + charts(view) + rows_box(view) + std::string(kSignatures) + "</header>\n";
  if (view.note.empty()) return out;
  return out + fmt::format("<p class=\"how\" id=\"how\">{}</p>\n", escape(view.note));
}

std::string calendar_table(const Capacity& capacity) {
  if (capacity.calendar.empty()) return "";
  html::TableRows rows;
  for (const CalendarDay& day : capacity.calendar) {
    rows.push_back({escape(day.label), html::TableCell(number_text(day.day, 3), day.day),
                    day.date.value_or("–")});
  }
  return html::table("Calendar", {{"event"}, {"day from the start", true}, {"date"}}, rows);
}

namespace {

// The recommended row of a cluster's own, else its cheapest that meets all limits, else its
// cheapest.
const CapacityRow* best_of(const Capacity& capacity, const std::string& cluster) {
  const CapacityRow* best = nullptr;
  const auto cost = [](const CapacityRow& row) {
    return row.cost ? row.cost->p50 : row.gpu_hours.p50;
  };
  const auto rank = [](const CapacityRow& row) {
    return row.recommended ? 0 : row.limits.empty() ? 1 : 2;
  };
  for (const CapacityRow& row : capacity.rows) {
    if (row.cluster != cluster || !row.fits) continue;
    const bool better = best == nullptr || rank(row) < rank(*best) ||
                        (rank(row) == rank(*best) && cost(row) < cost(*best));
    if (better) best = &row;
  }
  return best;
}

}  // namespace

std::string clusters_table(const Capacity& capacity, DeviceKind kind) {
  std::vector<const CapacityRow*> rows;
  std::vector<std::string> seen;
  for (const CapacityRow& row : capacity.rows) {
    if (std::find(seen.begin(), seen.end(), row.cluster) != seen.end()) continue;
    seen.push_back(row.cluster);
    if (const CapacityRow* best = best_of(capacity, row.cluster)) rows.push_back(best);
  }
  if (seen.size() < 2 || rows.empty() || !capacity.tokens_stated) return "";
  const bool priced =
      std::all_of(rows.begin(), rows.end(), [](const auto* row) { return row->cost.has_value(); });
  const auto cost = [priced](const CapacityRow& row) -> const planner::Quantiles& {
    return priced ? static_cast<const planner::Quantiles&>(*row.cost) : row.gpu_hours;
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const auto* a, const auto* b) { return cost(*a).p50 < cost(*b).p50; });
  html::TableRows cells;
  for (const CapacityRow* row : rows) {
    const auto money = [](double amount) { return si_text(amount); };
    cells.push_back(
        {escape(row->label.empty() ? row->cluster : row->label),
         {fmt::format("{} <span class=\"range\">{}–{}</span>", money(cost(*row).p50),
                      money(cost(*row).p10), money(cost(*row).p90)),
          cost(*row).p50},
         row->done ? html::TableCell(row->done->p90)
                   : html::TableCell(number_text(row->days.p90, 3), row->days.p90),
         {fmt::format("{} <span class=\"range\">{}–{}</span>", number_text(row->days.p50, 3),
                      number_text(row->days.p10, 3), number_text(row->days.p90, 3)),
          row->days.p50},
         {count_text(row->gpus), static_cast<double>(row->gpus)},
         row->energy_mwh ? html::TableCell(si_text(*row->energy_mwh * 1e6) + "Wh", *row->energy_mwh)
                         : html::TableCell("–"),
         {percent_text(row->goodput), row->goodput},
         {percent_text(row->mfu), row->mfu},
         html::layout_code(row->layout, row->layout),
         row->limits.empty() ? html::TableCell("all met")
                             : html::TableCell(escape(row->limits.front()))});
  }
  const std::string note = example_note(capacity);
  return html::table(
      fmt::format("Each cluster with its recommended row, else its cheapest that meets all limits; "
                  "cheapest first. Ranges: P10–P90{}",
                  note.empty() ? "" : "; " + note),
      {{"cluster"},
       {priced ? "cost, " + capacity.currency() : fmt::format("{}-hours", device_noun(kind, 1)),
        true},
       {rows.front()->done ? "end (P90)" : "days (P90)", true},
       {"days", true},
       {std::string(device_noun(kind, 2)), true},
       {"energy", true},
       {"goodput", true},
       {"MFU", true},
       {"best layout"},
       {"limits"}},
      cells);
}

}  // namespace meshwright::reports
