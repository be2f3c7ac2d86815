// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them: no exponents, and a comma between thousands.
#pragma once

#include <cstdint>
#include <string>

namespace meshwright {

// "12.34", "0.001234", "1,235"; zeros at the end are kept, so that columns compare. Whole digits
// are never rounded away. "~0" below 1e-4; from 1e15 on "1.235 x 10^15".
std::string significant(double value, int digits = 4);
// The same without zeros at the end: "12.5", for sentences.
std::string number_text(double value, int digits = 4);
// The same with its sign: "+12.5".
std::string signed_number_text(double value, int digits = 4);
// "1,234,567".
std::string count_text(std::int64_t count);

}  // namespace meshwright
