// SPDX-License-Identifier: Apache-2.0
// Behind the decision: where the elapsed days go, what the failures cost, what was assumed.
#include <fmt/format.h>

#include <cctype>
#include <cmath>

#include "reports/html/elements_json.h"
#include "reports/html/escape.h"
#include "reports/html/page_json.h"
#include "reports/sections/sections_json.h"
#include "reports/text.h"

namespace meshwright::reports::html {
namespace {

TableRow time_row(const std::string& name, double time, double elapsed) {
  return {
      escape(name),
      {duration_text(seconds(time)), time},
      {elapsed > 0.0 ? percent_text(time / elapsed) : "", elapsed > 0.0 ? time / elapsed : 0.0}};
}

// Productive and lost time, in the words of Google's goodput library; they add up.
std::string time_table(const Json& time) {
  if (!time.is_object()) return "";
  const double elapsed = number_at(time, "elapsed_s");
  TableRows rows{time_row("productive steps", number_at(time, "productive_s"), elapsed)};
  for (const auto& [name, lost] : part_at(time, "lost_s").items()) {
    const double seconds_lost = lost.is_number() ? lost.get<double>() : 0.0;
    if (seconds_lost > 0.0) rows.push_back(time_row(spoken(name), seconds_lost, elapsed));
  }
  rows.push_back(time_row("elapsed", elapsed, elapsed));
  return table("Elapsed time, part by part",
               {{"part"}, {"time", true}, {"share of the elapsed time", true}}, rows);
}

std::string disruption_text(const Json& row) {
  const Json& stops = part_at(row, "interruptions");
  const Json& saves = part_at(row, "checkpoint");
  if (!stops.is_object() || !saves.is_object()) return "";
  return fmt::format(
      "<p>{:.0f} interruptions are expected ({:.0f} to {:.0f}), one every {}; a "
      "checkpoint of {} every {} holds training up for {}; {:.0f} spare nodes.</p>\n",
      number_at(part_at(stops, "expected"), "p50"), number_at(part_at(stops, "expected"), "p10"),
      number_at(part_at(stops, "expected"), "p90"),
      duration_text(seconds(number_at(stops, "mean_time_between_h") * 3600.0)),
      traffic_text(bytes(number_at(saves, "bytes"))),
      duration_text(seconds(number_at(saves, "interval_s"))),
      seconds_text(seconds(number_at(saves, "pause_s"))), number_at(stops, "spare_nodes"));
}

std::string amount_range(const Json& assumption) {
  const double low = number_at(assumption, "low");
  const double high = number_at(assumption, "high");
  const std::string value = significant(number_at(assumption, "value"), 3);
  if (low == high) return value;
  return fmt::format("{} ({} to {})", value, significant(low, 3), significant(high, 3));
}

std::string assumptions_table(const Json& assumptions) {
  TableRows rows;
  for (const Json& a : assumptions) {
    rows.push_back({escape(text_at(a, "label")),
                    {amount_range(a), number_at(a, "value")},
                    escape(text_at(a, "unit")),
                    badge(text_at(a, "basis")),
                    flag_at(a, "in_interval") ? "yes" : "no",
                    escape(text_at(a, "source"))});
  }
  if (rows.empty()) return "";
  return table("What days, cost and energy assume",
               {{"what"}, {"value", true}, {"unit"}, {"basis"}, {"in the range"}, {"source"}},
               rows);
}

TableRow reference_row(const std::string& part, double hours, const std::string& why) {
  return {escape(part), {fmt::format("{} M", number_text(hours / 1e6)), hours}, escape(why)};
}

// "30.84 M are stated": what both sides say of the same thing.
std::string beside_text(const Json& reference, const Json& row) {
  std::string text;
  const auto add = [&](const char* label, const std::string& theirs, const std::string& mine) {
    text += fmt::format("<li>{}: {} stated, {} here</li>\n", label, theirs, mine);
  };
  const double hours = number_at(reference, "stated_gpu_hours");
  add("days", significant(hours / 24.0 / number_at(reference, "gpus"), 3),
      significant(number_at(part_at(row, "days"), "p50"), 3));
  if (part_at(reference, "stated_mfu").is_number()) {
    add("MFU", percent_text(number_at(reference, "stated_mfu")),
        percent_text(number_at(row, "mfu")));
  }
  if (part_at(reference, "stated_goodput").is_number()) {
    add("goodput", percent_text(number_at(reference, "stated_goodput")),
        percent_text(number_at(row, "goodput")));
  }
  if (part_at(reference, "stated_mean_time_between_h").is_number()) {
    add("hours between interruptions",
        significant(number_at(reference, "stated_mean_time_between_h"), 3),
        significant(number_at(part_at(row, "interruptions"), "mean_time_between_h"), 3));
  }
  return "<ul>\n" + text + "</ul>\n";
}

const Json& row_named(const Json& capacity, const std::string& id) {
  static const Json nothing;
  for (const Json& row : part_at(capacity, "rows")) {
    if (text_at(row, "id") == id) return row;
  }
  return nothing;
}

// A run that somebody made, and the difference in parts.
std::string reference_part(const Json& report) {
  const Json& capacity = part_at(report, "capacity");
  const Json& reference = part_at(capacity, "reference");
  if (!reference.is_object()) return "";
  const std::string hours = fmt::format("{}-hours", device_noun(report));
  const double mine = number_at(reference, "gpu_hours");
  const double stated = number_at(reference, "stated_gpu_hours");
  TableRows rows{reference_row("this row, median", mine, "")};
  for (const Json& part : part_at(reference, "parts")) {
    rows.push_back(reference_row(text_at(part, "name"), number_at(part, "gpu_hours"),
                                 text_at(part, "sentence")));
  }
  rows.push_back(reference_row("stated", stated, text_at(reference, "source")));
  std::string text = fmt::format("<h3>Beside {}</h3>\n", escape(text_at(reference, "name")));
  text += beside_text(reference, row_named(capacity, text_at(reference, "row")));
  text += table(hours + " from this row to what is stated: the parts add up",
                {{"part"}, {hours, true}, {"why"}}, rows);
  if (part_at(reference, "schedule_gpu_hours").is_number()) {
    const double more = number_at(reference, "schedule_gpu_hours");
    text += paragraph(fmt::format(
        "Batches by phase are in this row and in the run: the schedule takes {} M {} {} "
        "than the last phase's batch for all tokens.",
        number_text(std::abs(more) / 1e6, 3), hours, more >= 0.0 ? "more" : "less"));
  }
  return text;
}

std::string power_text(const Json& row) {
  if (!part_at(row, "power_mw").is_number()) return "";
  const auto at = [&](const char* key) { return si_text(number_at(row, key) * 1e6) + "W"; };
  return fmt::format(
      "<p>Power: {} on average while it trains, where devices compute {} of a step; {} at most, {} "
      "while it waits for a restart.</p>\n",
      at("power_mw"), percent_text(number_at(row, "load")), at("power_mw_high"),
      at("power_mw_waiting"));
}

std::string as_sentence(std::string text) {
  if (text.empty()) return text;
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text + ".";
}

// Each row's median cost as a product.
std::string costs_list(const Json& rows) {
  Json sentences = Json::array();
  for (const Json& row : rows) {
    const std::string cost = text_at(row, "cost_explanation");
    if (!cost.empty()) sentences.push_back(cost);
  }
  return sentences.empty() ? "" : "<h3>Median cost of each row</h3>\n" + list(sentences);
}

// Steps of one batch and sequence length each, where there are several.
std::string phases_table(const Json& phases) {
  if (phases.size() < 2) return "";
  TableRows rows;
  for (const Json& phase : phases) {
    const double step = number_at(part_at(phase, "step_s"), "mid");
    rows.push_back({{si_text(number_at(phase, "tokens")), number_at(phase, "tokens")},
                    count_text(whole_at(phase, "global_batch")),
                    count_text(whole_at(phase, "seq_length")),
                    count_text(whole_at(phase, "steps")),
                    fmt::format("<code>{}</code>", escape(text_at(phase, "layout"))),
                    {seconds_text(seconds(step)), step}});
  }
  return table("Phases of the training",
               {{"tokens", true},
                {"global batch", true},
                {"tokens per sequence", true},
                {"steps", true},
                {"best layout"},
                {"step", true}},
               rows);
}

}  // namespace

std::string capacity(const Json& report) {
  const Json& capacity = part_at(report, "capacity");
  const Json& row = front_row(capacity);
  if (!row.is_object() || !flag_at(row, "fits")) return "";
  std::string body = paragraph(as_sentence(text_at(capacity, "reason"))) + disruption_text(row) +
                     power_text(row) + time_table(part_at(row, "time")) +
                     phases_table(part_at(row, "phases")) + costs_list(part_at(capacity, "rows"));
  if (!flag_at(capacity, "tokens_stated")) {
    body = fmt::format("<p>Nobody stated a training length: times here are of {} tokens.</p>\n",
                       si_text(number_at(capacity, "train_tokens"))) +
           body;
  }
  body += reference_part(capacity);
  for (const Json& series : part_at(capacity, "scaling")) {
    body += paragraph(text_at(series, "sentence"));
  }
  body += assumptions_table(part_at(capacity, "assumptions"));
  if (!part_at(capacity, "included").empty()) {
    body += "<h3>What the ranges hold</h3>\n" + list(capacity["included"]);
  }
  return section("capacity", "Where the elapsed time goes", body);
}

}  // namespace meshwright::reports::html
