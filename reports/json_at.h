// SPDX-License-Identifier: Apache-2.0
// Members of records that were read from a file, which may lack what their schema promises.
#pragma once

#include <string>
#include <string_view>

#include "sim/json/records.h"

namespace meshwright::reports {

// A member, or null when absent.
const Json& part_at(const Json& json, std::string_view key);
// As text; empty when absent or null.
std::string text_at(const Json& json, std::string_view key);
bool flag_at(const Json& json, std::string_view key);
// As number; 0 when absent or null.
double number_at(const Json& json, std::string_view key);
std::int64_t whole_at(const Json& json, std::string_view key);

}  // namespace meshwright::reports
