// SPDX-License-Identifier: Apache-2.0
#include "reports/sections/service_latency.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "reports/html/blocks.h"
#include "reports/html/elements.h"
#include "reports/sections/section_parts.h"
#include "reports/sections/service_charts.h"
#include "reports/sections/service_text.h"
#include "reports/text/text.h"

namespace meshwright::reports {
namespace {

std::string knee_sentence(const ServingPlanFile& file) {
  const auto words = [&](const char* name, const std::optional<double>& knee) {
    return knee ? fmt::format("{} has its knee at {} {}.", name, number_text(*knee, 3),
                              load_noun(file.load))
                : fmt::format("{} has no knee up to the largest simulated load.", name);
  };
  std::string text =
      words("TTFT", file.details->ttft_knee) + " " + words("TPOT", file.details->tpot_knee);
  if (file.load.kind == LoadKind::open_loop) {
    text += fmt::format(
        " Above {} requests/s the queue grows without end. Plans use at most {} of that, {} "
        "requests/s.",
        number_text(file.details->largest_rate, 3), percent_text(file.details->most_utilization),
        number_text(file.details->largest_rate * file.details->most_utilization, 3));
  }
  return text;
}

std::string loads_table(const ServingPlanFile& file) {
  html::TableRows rows;
  const auto ms = [](Seconds time) {
    return html::TableCell(number_text(time / milliseconds(1), 3), time / milliseconds(1));
  };
  // Users are served at a rate; requests/s are offered.
  const bool closed = file.load.kind == LoadKind::closed_loop;
  for (const planner::ServingLoadPoint& one : file.details->loads) {
    html::TableRow row{html::TableCell(number_text(load_of(one), 3), load_of(one))};
    if (closed) row.emplace_back(number_text(one.request_rate, 3), one.request_rate);
    for (const Percentiles* times : {&one.ttft, &one.tpot}) {
      for (const Seconds time : {times->mean, times->p50, times->p90, times->p99}) {
        row.push_back(ms(time));
      }
    }
    row.emplace_back(number_text(one.output_tokens_per_second, 4), one.output_tokens_per_second);
    row.emplace_back(percent_text(one.busy_share), one.busy_share);
    row.emplace_back(one.meets ? "met" : "missed");
    row.emplace_back(one.asked ? "asked" : "");
    rows.push_back(std::move(row));
  }
  std::vector<html::Heading> headings{{std::string(load_noun(file.load)), true}};
  if (closed) headings.push_back({"served requests/s", true});
  for (const char* name : {"mean TTFT", "p50 TTFT", "p90 TTFT", "p99 TTFT", "mean TPOT", "p50 TPOT",
                           "p90 TPOT", "p99 TPOT", "output tokens/s", "busy"}) {
    headings.push_back({name, true});
  }
  headings.push_back({"limits"});
  headings.push_back({"load"});
  return html::table("The deployment at other loads, simulated. Times in ms", headings, rows);
}

}  // namespace

std::string service_latency_section(const ServingPlanFile& file) {
  if (!file.details || file.details->loads.empty()) return "";
  return html::section("latency", "Latency against load",
                       html::paragraph(knee_sentence(file)) +
                           service_latency_chart(file, ServiceLatency::ttft) +
                           service_latency_chart(file, ServiceLatency::tpot) +
                           html::numbers("Numbers as a table", loads_table(file)));
}

}  // namespace meshwright::reports
