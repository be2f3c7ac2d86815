// SPDX-License-Identifier: Apache-2.0
// What the page's parts are wrapped in. All of it reads without script and style; the viewer draws
// charts into the empty figures.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace meshwright::reports::html {

// <section id=...><h2>...
std::string section(std::string_view id, std::string_view heading, const std::string& body);
// A section's id, and its word in the navigation.
struct PagePart {
  std::string_view id{}, word{};
};
// Links to those parts that the body has.
std::string navigation(std::span<const PagePart> parts, std::string_view body);
// Where the viewer draws; `fallback` is shown until then.
std::string figure(std::string_view chart, std::string_view description,
                   const std::string& fallback = "");
// Folded away, and open to the keyboard.
std::string details(std::string_view summary, const std::string& body);
// The numbers of a chart: open until the viewer, which draws the chart, folds them away.
std::string numbers(std::string_view summary, const std::string& body);

}  // namespace meshwright::reports::html
