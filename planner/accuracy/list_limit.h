// SPDX-License-Identifier: Apache-2.0
// The most entries that a list of a file may have.
#pragma once

#include <fmt/format.h>

#include "sim/record/record.h"

namespace meshwright::planner {

// Stands before the row of `key`, so that a longer list is refused unread.
template <typename T>
void limit_list(Record<T>& record, const char* key, std::size_t most) {
  record.check([key, most](const T&, ObjectReader& reader) {
    const std::size_t size = reader.has(key) ? reader.required_array(key).size() : 0;
    if (size <= most) return;
    reader.fail(key, fmt::format("holds {} {}; at most {} are read", size, key, most));
  });
}

}  // namespace meshwright::planner
