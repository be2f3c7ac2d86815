// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "planner/search/training_cost.h"
#include "reports/html/elements_json.h"
#include "reports/html/escape.h"
#include "reports/html/page_json.h"
#include "reports/text.h"

namespace meshwright::reports::html {
namespace {

// Of the whole training; empty where the record says none. Energy is in kWh there.
TableCell amount_cell(const Json& point, const char* key, const char* unit) {
  if (!part_at(point, key).is_number()) return {""};
  const double scale = *unit == '\0' ? 1.0 : 1e3;
  return {si_text(number_at(point, key) * scale) + unit, number_at(point, key)};
}

TableRow row_of(const Json& point) {
  const std::string gpus = count_text(point["gpus"].get<std::int64_t>());
  if (!point.contains("step_time_seconds")) {
    return {
        gpus, "", "",
        "",   "", "",
        "",   "", fmt::format("<span class=\"why\">{}</span>", escape(text_at(point, "reason")))};
  }
  return {gpus,
          significant(number_at(point, "step_time_seconds")),
          fmt::format("{} – {}", significant(number_at(point, "step_time_low_seconds")),
                      significant(number_at(point, "step_time_high_seconds"))),
          {si_text(number_at(point, "tokens_per_second_per_gpu") * number_at(point, "gpus"), 4),
           number_at(point, "tokens_per_second_per_gpu") * number_at(point, "gpus")},
          significant(number_at(point, "tokens_per_second_per_gpu")),
          fmt::format("{:.1f}", number_at(point, "efficiency") * 100.0),
          amount_cell(point, "cost", ""),
          amount_cell(point, "device_energy_kwh", "Wh"),
          layout_code(point)};
}

}  // namespace

std::string scaling(const Json& report) {
  const Json& scaling = report["scaling"];
  if (!scaling.is_object()) return "";
  const std::string noun(device_noun(report));
  const std::string nouns(device_noun(report, 2));
  TableRows rows;
  bool priced = false;
  for (const Json& point : scaling["points"]) {
    rows.push_back(row_of(point));
    priced = priced || part_at(point, "cost").is_number();
  }
  return section(
      "scaling", "More or fewer " + nouns,
      fmt::format("<p>{}</p>\n", escape(text_at(scaling, "sentence"))) +
          figure("scaling",
                 fmt::format("Tokens per second against {1}; dashed: as many per {0} as on the "
                             "fewest {1}.",
                             noun, nouns)) +
          table(fmt::format("Best layout of each number of {}; efficiency: tokens/s/{} beside the "
                            "first row's",
                            nouns, noun),
                {{nouns, true},
                 {"step, s", true},
                 {"90 % range, s", true},
                 {"tokens/s", true},
                 {"tokens/s/" + noun, true},
                 {"efficiency, %", true},
                 {"cost", true},
                 {"energy", true},
                 {"layout"}},
                rows) +
          (priced ? paragraph(fmt::format("{}.", planner::kCostOfSteps)) : ""));
}

}  // namespace meshwright::reports::html
