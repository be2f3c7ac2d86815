// SPDX-License-Identifier: Apache-2.0
// Whether a predicted peak fits a device, with the memory that the framework's allocator reserves.
//
//   reserved = peak + allocated (reserved_ratio - 1)
//   no:        peak > (1 + spread) memory
//   yes:       reserved <= (1 - spread) memory
//   uncertain: everything else. A full allocator returns free blocks and tries again; it may run.
#pragma once

#include <array>

#include "sim/base/enum_names.h"
#include "sim/base/units.h"
#include "sim/hardware/framework.h"

namespace meshwright {

enum class MemoryFit { yes, uncertain, no };
inline constexpr std::array kMemoryFitNames{EnumName{MemoryFit::yes, "yes"},
                                            EnumName{MemoryFit::uncertain, "uncertain"},
                                            EnumName{MemoryFit::no, "no"}};
constexpr std::string_view name_of(MemoryFit v) { return name_in(kMemoryFitNames, v); }

// A prediction of memory is no sharper than this share of the device's.
inline constexpr double kMemorySpread = 0.03;

// Peak with what the allocator reserves beside tensors. `allocated`: the peak's part that it has
// given out.
Bytes reserved_peak(Bytes peak, Bytes allocated, const MemoryFacts& facts);
MemoryFit memory_fit(Bytes peak, Bytes reserved, Bytes memory);
// The least share of a device to leave free with which every peak below the rest surely fits.
double sure_headroom(const MemoryFacts& facts);

}  // namespace meshwright
