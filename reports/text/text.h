// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them: four significant digits and a unit, SI and binary prefixes never
// mixed up. Traffic is decimal (GB), memory binary (GiB).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/base/number_text.h"
#include "sim/base/units.h"

namespace meshwright::reports {

// Units of a number, largest first: the largest that leaves a number of at least one is taken, the
// last where all are too large. Charts use the same (html/drawing.h).
struct TextScale {
  double factor;
  std::string_view unit;
};
inline constexpr std::array kSecondsScales{TextScale{1.0, "s"}, TextScale{1e-3, "ms"},
                                           TextScale{1e-6, "µs"}, TextScale{1e-9, "ns"}};
inline constexpr std::array kTrafficScales{TextScale{1e12, "TB"}, TextScale{1e9, "GB"},
                                           TextScale{1e6, "MB"}, TextScale{1e3, "kB"},
                                           TextScale{1.0, "B"}};
inline constexpr std::array kMemoryScales{TextScale{1073741824.0, "GiB"},
                                          TextScale{1048576.0, "MiB"}, TextScale{1024.0, "KiB"},
                                          TextScale{1.0, "B"}};
inline constexpr int kSecondsDigits = 4;
inline constexpr int kTrafficDigits = 4;
inline constexpr int kMemoryDigits = 3;

// Stands once beside every MFU that people read.
inline constexpr std::string_view kMfuConvention =
    "MFU is the model's FLOPs over the devices' dense peak for the number format. Causal attention "
    "counts half; recomputation does not count.";

using meshwright::count_text;
using meshwright::significant;
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
// "bandwidth between nodes, GB/s".
std::string with_unit(std::string_view label, std::string_view unit);
// 3.3e6 is "3.3 million": in words from a million on.
std::string large_number_text(double value);

// "take" for several, "takes" for one.
std::string verb_for(std::int64_t count, std::string_view plural);

// The text as one word of a POSIX shell, in single quotes where it needs any.
std::string shell_word(std::string_view text);

// "tensor_parallel_communication" as people say it.
std::string spoken(std::string_view name);

}  // namespace meshwright::reports
