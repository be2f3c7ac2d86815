// SPDX-License-Identifier: Apache-2.0
// When has a time been measured often enough? Separate from what is measured.
//
// Stops when the median's own uncertainty is small after a minimum time, when the time is used up,
// or at a number of samples. The standard error of a median of n normal samples with standard
// deviation s is sqrt(pi/2) * s / sqrt(n) (Kendall and Stuart, The Advanced Theory of Statistics
// 1).
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "sim/base/enum_names.h"

namespace meshwright::calibrate {

struct StopOptions {
  double target_error = 0.01;  // of the median, relative, one standard error; 0 < x < 1
  double min_seconds = 0.02;   // before steadiness is believed
  double max_seconds = 0.5;    // then what there is has to do, but min_samples are always taken
  int min_samples = 5;         // at least 1
  int max_samples = 200;       // limit of samples per point
};

enum class StopReason { go_on, steady, time_used_up, enough_samples };
inline constexpr std::array kStopReasonNames{
    EnumName{StopReason::go_on, "go_on"}, EnumName{StopReason::steady, "steady"},
    EnumName{StopReason::time_used_up, "time_used_up"},
    EnumName{StopReason::enough_samples, "enough_samples"}};
constexpr std::string_view name_of(StopReason v) { return name_in(kStopReasonNames, v); }

StopReason stop_reason(const StopOptions& options, std::span<const double> samples,
                       double elapsed_seconds);

}  // namespace meshwright::calibrate
