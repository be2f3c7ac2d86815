// SPDX-License-Identifier: Apache-2.0
// A layout in a line. layout_from_text() reads every line that short_name() writes.
#pragma once

#include <string>
#include <vector>

#include "sim/layout/fields.h"

namespace meshwright {

// "tp8 pp4 dp16 mbs2 sp zero1 recompute=selective": the sizes that are not 1 and the switches that
// are on. "recompute=selective:core_attn+mlp" names the modules; "recompute=full:3" is three layers
// of each stage, by method block.
std::string short_name(const Layout& layout);

// The words of that line, each with where a search varies it.
struct LayoutWord {
  SearchLevel level = SearchLevel::not_searched;
  std::string text;
  bool operator==(const LayoutWord&) const = default;
};
std::vector<LayoutWord> words_of(const Layout& layout);

// Without the overlap switches and without what counts as a layer of the pipeline's split, which
// nearly all layouts of a plan share.
std::string brief_name(const Layout& layout);

}  // namespace meshwright
