// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them: four significant digits and a unit, SI and binary prefixes never
// mixed up. Traffic is decimal (GB), memory binary (GiB).
#pragma once

#include <cstdint>
#include <string>

#include "sim/base/units.h"

namespace meshwright::reports {

// "12.34", "0.001234", "1234", "1.234e+07"; trailing zeros are kept, so that columns compare.
std::string significant(double value, int digits = 4);
// "1,234,567".
std::string count_text(std::int64_t count);
// "812.3 ms", "1.234 s".
std::string seconds_text(Seconds time);
// "3.2 hours", "24.1 days".
std::string duration_text(Seconds time);
// "1.234 GB", of traffic.
std::string traffic_text(Bytes amount);
// "61.2 GiB", of memory.
std::string memory_text(Bytes amount);
// 0.412 is "41.2 %".
std::string percent_text(double share);
// 300e9 is "300 G", for tokens and parameters.
std::string si_text(double value, int digits = 3);

}  // namespace meshwright::reports
