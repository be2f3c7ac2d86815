// SPDX-License-Identifier: Apache-2.0
// Rows of a plain CSV file (no quoting) by column name.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace meshwright::accuracy {

using Row = std::map<std::string, std::string>;

// Calls `use` for every row. "-" is standard input. Throws InputError when the file cannot be read
// or a row has another number of columns than the first line.
void for_each_row(const std::string& path, const std::function<void(const Row&)>& use);

}  // namespace meshwright::accuracy
