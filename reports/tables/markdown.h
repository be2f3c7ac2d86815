// SPDX-License-Identifier: Apache-2.0
// A table as GitHub-flavoured Markdown. Text of the user's stays text.
#pragma once

#include <string>

#include "reports/tables/table.h"

namespace meshwright::reports {

std::string table_to_markdown(const Table& table);

}  // namespace meshwright::reports
