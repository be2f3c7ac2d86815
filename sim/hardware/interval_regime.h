// SPDX-License-Identifier: Apache-2.0
// How much is known of where a step runs decides how far its prediction may be off. Each regime has
// spreads of its own (sim/step/step_interval.h).
#pragma once

#include <array>
#include <string>

#include "sim/base/enum_names.h"
#include "sim/hardware/cluster.h"

namespace meshwright {

// From best to least known. profiled_cores: a calibrated host whose ranks are cores, which run a
// trial.
enum class IntervalRegime {
  profiled_machine,
  profiled_cores,
  known_chip,
  unknown_software,
  unknown_chip
};
inline constexpr std::array kIntervalRegimeNames{
    EnumName{IntervalRegime::profiled_machine, "profiled_machine"},
    EnumName{IntervalRegime::profiled_cores, "profiled_cores"},
    EnumName{IntervalRegime::known_chip, "known_chip"},
    EnumName{IntervalRegime::unknown_software, "unknown_software"},
    EnumName{IntervalRegime::unknown_chip, "unknown_chip"}};
constexpr std::string_view name_of(IntervalRegime v) { return name_in(kIntervalRegimeNames, v); }
inline constexpr std::size_t kNumIntervalRegimes = kIntervalRegimeNames.size();

// Its products were timed on this very machine: a calibration's points, or a file that says so.
bool is_timed_here(const Device& device);
// Somebody timed products on it, or on a chip of its family.
bool chip_is_known(const Device& device);
// It was calibrated, or runs on it under this software were fitted.
bool machine_is_profiled(const Cluster& cluster);
// Said to run here, and compared with measured runs: those that the shipped spreads come from, or
// this machine's own. Cores run a trial, which is ours.
bool software_is_known(const Cluster& cluster);

// A machine's own runs tell of its chip, too. unknown_chip before unknown_software: the chip's
// spread is that of both.
IntervalRegime interval_regime(const Cluster& cluster);

// Sentence about how to narrow the interval; empty if no way is known.
std::string narrowed_by(const Cluster& cluster);

}  // namespace meshwright
