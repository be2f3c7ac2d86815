// SPDX-License-Identifier: Apache-2.0
// The decision table, and what its what-ifs show in its place: rows and sentences for every cell of
// the grid, written here and only here, so that the viewer places texts and makes none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/records/report.h"

namespace meshwright::reports {

// "1,234" from a thousand on, else three digits.
std::string short_number(double value);

// Returns the table of a capacity answer; empty if it has no rows.
std::string decision_table(const Capacity& capacity, DeviceKind kind);

struct WhatIfControl {
  std::string key{}, label{};
  std::vector<double> values{};
  std::vector<std::string> texts{};
  std::size_t base = 0;  // the place of the row in front
};

// Texts of a what-if: the visible part of each cell; `row` is HTML.
struct WhatIfTexts {
  std::string sentence{}, options{}, row{};
};

// In the order of the record's grid.
struct WhatIfBlock {
  std::vector<WhatIfControl> axes{};
  std::vector<WhatIfTexts> cells{};
};

const Record<WhatIfBlock>& what_if_block_record();

// Nothing where the record has no grid.
std::optional<WhatIfBlock> what_if_block(const Report& report);

}  // namespace meshwright::reports
