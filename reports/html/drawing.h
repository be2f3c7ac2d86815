// SPDX-License-Identifier: Apache-2.0
// How things look that the page and its viewer both draw: colours and patterns, units and digits of
// numbers, what is too small or too much to be shown. They stand here, and the viewer reads them
// from the page.
#pragma once

#include <array>
#include <string_view>

#include "sim/record/json.h"

namespace meshwright::reports::html {

struct Paint {
  std::string_view name;
  std::string_view colour;
  int pattern;  // 0: plain; 1, 2, 3: so that neighbours differ without colour
};
// Grey where no name is known.
const Paint& paint_of(std::string_view name);

// Colours of series and groups without a meaning of their own, which most colour-blind readers can
// tell apart (Okabe and Ito), with the colour of text on them.
struct Tint {
  std::string_view colour, text;
};
inline constexpr std::array kTints{Tint{"#0072b2", "#fff"}, Tint{"#e69f00", "#000"},
                                   Tint{"#009e73", "#000"}, Tint{"#cc79a7", "#000"},
                                   Tint{"#56b4e9", "#000"}, Tint{"#d55e00", "#000"},
                                   Tint{"#b8a800", "#000"}, Tint{"#7a7a7a", "#fff"}};

inline constexpr double kSeenShare = 1e-4;   // of a step: less is no part of a bar that is seen
inline constexpr std::size_t kMostBars = 5;  // of ranked layouts
inline constexpr double kEndOfHeat = 3.0;    // of the sizes' map, times the fastest

// {"paints": [{"name", "colour", "pattern"}], "tints": [], "accent", "contrast", "limit": colours,
// "scales": {"seconds": {"digits", "units": [[factor, name]]}, ...}, "seen_share", "most_bars",
// "end_of_heat"}.
Json drawing();

}  // namespace meshwright::reports::html
