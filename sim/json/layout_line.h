// SPDX-License-Identifier: Apache-2.0
// A layout as people write it in a line: "tp=8,pp=4,dp=16,sp,mbs=2,zero=1,recompute=selective",
// long field names, or what short_name() writes: "tp8 pp4 dp16 mbs2 sp zero1 recompute=selective".
#pragma once

#include <string>
#include <vector>

#include "sim/layout/layout.h"

namespace meshwright {

struct LayoutLine {
  Layout layout;
  std::vector<std::string> fields;  // fields that the line sets, by their long names
};
// Throws InputError that names the word and the nearest field.
LayoutLine layout_line_from_text(const std::string& text, const Layout& defaults = {});

}  // namespace meshwright
