// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "reports/html/elements_json.h"
#include "reports/html/escape.h"
#include "reports/html/page_json.h"
#include "reports/text.h"

namespace meshwright::reports::html {
namespace {

std::vector<std::string> row_of(const Json& point) {
  const std::string gpus = count_text(point["gpus"].get<std::int64_t>());
  if (point["step_time_seconds"].is_null()) {
    return {gpus, "",
            "",   "",
            "",   fmt::format("<span class=\"why\">{}</span>", escape(text_at(point, "reason")))};
  }
  return {gpus,
          significant(number_at(point, "step_time_seconds")),
          si_text(number_at(point, "tokens_per_second"), 4),
          significant(number_at(point, "tokens_per_second_per_gpu")),
          fmt::format("{:.1f}", number_at(point, "efficiency") * 100.0),
          fmt::format("<code>{}</code>", escape(text_at(point, "short_name")))};
}

}  // namespace

std::string scaling(const Json& report) {
  const Json& scaling = report["scaling"];
  if (!scaling.is_object()) return "";
  std::vector<std::vector<std::string>> rows;
  for (const Json& point : scaling["counts"]) rows.push_back(row_of(point));
  return section("scaling", "More or fewer GPUs",
                 fmt::format("<p>{}</p>\n", escape(text_at(scaling, "sentence"))) +
                     figure("scaling",
                            "Tokens per second against GPUs; dashed: as many per GPU as "
                            "in this plan.") +
                     table("Best layout of each number of GPUs",
                           {{"GPUs", true},
                            {"step, s", true},
                            {"tokens/s", true},
                            {"tokens/s/GPU", true},
                            {"of this plan's, %", true},
                            {"layout"}},
                           rows));
}

}  // namespace meshwright::reports::html
