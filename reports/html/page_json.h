// SPDX-License-Identifier: Apache-2.0
// The sections of the page, from the report's record. Each reads without script and style; the
// viewer draws charts into the empty figures.
#pragma once

#include <array>
#include <string>

#include "sim/json/records.h"

namespace meshwright::reports::html {

// "GPU" or "core" as the report's devices are, with "s" for more than one.
std::string_view device_noun(const Json& report, std::int64_t count = 1);

std::string first_screen(const Json& report);
std::string step_time(const Json& report);
std::string ranking(const Json& report);
std::string confidence(const Json& report);
std::string red_flags(const Json& report);
std::string capacity(const Json& report);
std::string sensitivity(const Json& report);
std::string topology(const Json& report);
std::string traffic(const Json& report);
std::string memory(const Json& report);
std::string heat_map(const Json& report);
std::string timeline(const Json& report);
std::string validation(const Json& report);
std::string rejections(const Json& report);
std::string calibration(const Json& report);
std::string launch(const Json& report);
std::string scaling(const Json& report);
std::string provenance(const Json& report);
std::string assumptions(const Json& report);
// Of a comparison.
std::string comparison_headline(const Json& comparison);
std::string comparison(const Json& comparison);

// The texts of a layout's row in the ranking, column by column; the viewer shows the same.
std::array<std::string, 11> ranking_texts(const Json& entry);
// Steps of the training that the decision is about; one where nobody stated its tokens.
double train_steps(const Json& report);
// The row of a capacity answer that levers start from: the plan's, else the recommended one. Null
// where there is none.
const Json& front_row(const Json& capacity);
// <section id=...><h2>...: what every part is wrapped in.
std::string section(std::string_view id, std::string_view heading, const std::string& body);
// Where the viewer draws; `fallback` is shown until then.
std::string figure(std::string_view chart, std::string_view description,
                   const std::string& fallback = "");
// Folded away, and open to the keyboard.
std::string details(std::string_view summary, const std::string& body);
// The numbers of a chart: open until the viewer, which draws the chart, folds them away.
std::string numbers(std::string_view summary, const std::string& body);

}  // namespace meshwright::reports::html
