// SPDX-License-Identifier: Apache-2.0
// A table as comma-separated values (RFC 4180): headings carry the unit, numbers all their digits.
#pragma once

#include <string>

#include "reports/tables/table.h"

namespace meshwright::reports {

std::string table_to_csv(const Table& table);

}  // namespace meshwright::reports
