// SPDX-License-Identifier: Apache-2.0
// The first screen of a service plan: how many GPUs, which layout, at which latency, for how much,
// how sure, and why not fewer.
#include <fmt/format.h>

#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/sections/service_page.h"
#include "reports/sections/service_text.h"
#include "reports/text/serving_validation_text.h"
#include "reports/text/text.h"

namespace meshwright::reports {
namespace {

using html::escape;

constexpr std::size_t kFirstRows = 4;  // deployments of the first screen

std::string service_top_line(const ServingPlanFile& file, std::string_view hash) {
  std::string limits;
  const auto add = [&](const char* name, const std::optional<Seconds>& limit) {
    if (limit) {
      limits += fmt::format("{}{} {}", limits.empty() ? "" : ", ", name, latency_text(*limit));
    }
  };
  add("TTFT", file.limits.ttft);
  add("TPOT", file.limits.tpot);
  add("E2E", file.limits.e2e);
  if (!limits.empty()) limits = "limits: " + limits + ", " + percentile_text(file.percentile);
  std::string tags;
  for (const std::string& tag : service_tags(file)) {
    tags += fmt::format("<span class=\"tag\">{}</span> ", escape(tag));
  }
  return fmt::format(
      "<div class=\"top\"><h1>{}</h1><span>{}</span> {}<span>record {} · open for decision</span>"
      "</div>\n",
      escape(service_subject(file)), escape(limits), tags, escape(hash.substr(0, 8)));
}

std::string service_reasons(const ServingPlanFile& file) {
  std::string out;
  const auto add = [&out](const char* label, const std::string& text) {
    if (!text.empty()) out += fmt::format("<b>{}:</b> {} ", label, escape(text));
  };
  add("Why not fewer", file.why_not_fewer);
  add("How sure", file.how_sure);
  if (file.validation) add("Trials", served_sentence(file.validation->validation));
  return out.empty() ? "" : fmt::format("<p class=\"how\" id=\"why\">{}</p>\n", out);
}

std::string service_tile(std::string_view label, const std::string& value, const std::string& below,
                         bool warns = false) {
  return fmt::format("<div class=\"tile{}\"><dt>{}</dt><dd><b>{}</b><span>{}</span></dd></div>\n",
                     warns ? " warn" : "", escape(label), escape(value), escape(below));
}

std::string interval_words(const planner::Ranged& value) {
  return fmt::format("{} ({}–{})", number_text(value.value, 3), number_text(value.low, 3),
                     number_text(value.high, 3));
}

std::string gpus_tile(const ServingPlanFile& file, const planner::ServingChoice& best) {
  std::string below = planner::short_name(best.deployment);
  if (best.gpus_low > 0 && best.gpus_high > 0) {
    below += fmt::format("; 90 % interval: {}–{}", count_text(best.gpus_low),
                         count_text(best.gpus_high));
  }
  return service_tile("deployment",
                      fmt::format("{} {}", count_text(best.gpus), service_noun(file, best.gpus)),
                      below);
}

std::string latency_tile(const ServingPlanFile& file, std::string_view name,
                         const planner::LatencyRange& time, const std::optional<Seconds>& limit) {
  std::string below =
      fmt::format("90 % interval: {}–{}", latency_text(time.low), latency_text(time.high));
  if (limit) below += "; limit " + latency_text(*limit);
  return service_tile(fmt::format("{} ({})", name, percentile_text(file.percentile)),
                      latency_text(time.value), below, limit && time.value > *limit);
}

std::string cost_tile_of(const ServingPlanFile& file, const planner::ServingChoice& best) {
  if (!best.money) {
    return service_tile("cost per million tokens", "–", "no price is known for this cluster");
  }
  const planner::ServingMoney& money = *best.money;
  // The top line has the date of example prices.
  std::string prices;
  if (file.prices && !file.prices->example) {
    prices = fmt::format("; prices of {}", file.prices->date);
  }
  return service_tile(
      "cost per million tokens",
      fmt::format("{} {}", number_text(money.million_total.value, 3), file.currency),
      fmt::format("90 % interval: {}–{}; input {}, output {}; {} {} an hour{}",
                  number_text(money.million_total.low, 3), number_text(money.million_total.high, 3),
                  interval_words(money.million_input), interval_words(money.million_output),
                  number_text(money.per_hour), file.currency, prices));
}

std::string energy_tile(const ServingPlanFile& file) {
  if (!file.details || !file.details->energy) return "";
  const planner::ServingEnergy& energy = *file.details->energy;
  return service_tile(
      "energy per million tokens", number_text(energy.million_total.value, 3) + " kWh",
      fmt::format("90 % interval: {}–{}; input {}, output {}; {} kW with PUE",
                  number_text(energy.million_total.low, 3),
                  number_text(energy.million_total.high, 3), interval_words(energy.million_input),
                  interval_words(energy.million_output), interval_words(energy.kilowatts)));
}

std::string service_tiles(const ServingPlanFile& file) {
  if (file.plan.choices.empty() || !file.details) return "";
  const planner::ServingChoice& best = file.plan.choices.front();
  return "<dl class=\"tiles\" id=\"tiles\">\n" + gpus_tile(file, best) +
         latency_tile(file, "TTFT", file.details->ttft, file.limits.ttft) +
         latency_tile(file, "TPOT", file.details->tpot, file.limits.tpot) +
         cost_tile_of(file, best) + energy_tile(file) + "</dl>\n";
}

html::TableRow first_row(const planner::ServingChoice& one) {
  const auto ms = [](Seconds time) {
    return html::TableCell(number_text(time / milliseconds(1), 3), time / milliseconds(1));
  };
  const planner::ServiceTimes times = planner::limited_times(one);
  const auto number = [](double value) { return html::TableCell(number_text(value, 3), value); };
  return {
      html::TableCell(count_text(one.gpus), one.gpus),
      html::layout_code(planner::short_name(one.deployment), planner::short_name(one.deployment)),
      ms(times.ttft),
      ms(times.tpot),
      number(one.tokens_per_second_per_gpu),
      number(one.tokens_per_second_per_user),
      one.money ? number(one.money->million_total.value) : html::TableCell("–"),
      one.meets ? "met" : "missed",
      one.simulated ? "" : "closed form"};
}

// The first deployments beside each other.
std::string first_rows(const ServingPlanFile& file) {
  if (file.plan.choices.empty()) return "";
  html::TableRows rows;
  for (const planner::ServingChoice& one : file.plan.choices) {
    if (rows.size() == kFirstRows) break;
    rows.push_back(first_row(one));
  }
  const std::string at = percentile_text(file.percentile);
  return "<div id=\"decision-table\" data-fixed>" +
         html::table("First deployments, best first",
                     {{service_noun(file, 2), true},
                      {"deployment"},
                      {at + " TTFT, ms", true},
                      {at + " TPOT, ms", true},
                      {"output tokens/s per " + service_noun(file), true},
                      {"mean tokens/s per user", true},
                      {file.currency + " per million tokens", true},
                      {"limits"},
                      {"note"}},
                     rows) +
         "</div>\n";
}

// A plan of an earlier version has the table alone.
std::string missing_details(const ServingPlanFile& file) {
  if (file.plan.choices.empty() || file.details) return "";
  return "<p class=\"how\">This plan has no details of its first deployment. Run its command again "
         "with this version of meshwright.</p>\n";
}

constexpr std::string_view kServiceSignatures =
    "<div class=\"signatures\" id=\"signatures\"><div>decision: approve / approve if / "
    "decline</div><div>chair, date</div><div>finance: price and quote number</div><div>operations: "
    "engine version and limits</div></div>\n";

}  // namespace

std::string service_header(const ServingPlanFile& file, std::string_view hash) {
  return "<header>\n" + service_top_line(file, hash) +
         fmt::format("<p class=\"verdict\" id=\"verdict\">{}</p>\n", escape(file.verdict)) +
         service_reasons(file) + missing_details(file) + service_tiles(file) + first_rows(file) +
         std::string(kServiceSignatures) + "</header>\n";
}

}  // namespace meshwright::reports
