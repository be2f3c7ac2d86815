// SPDX-License-Identifier: Apache-2.0
// Spreads (one standard deviation, relative) of what nobody has measured on the machine. They are
// assumptions, set by judgement: a calibration replaces those of rates.
#pragma once

namespace meshwright {

// Half of a two-sided 90 % interval of a normal, in standard deviations.
inline constexpr double kIntervalDeviations = 1.645;

inline constexpr double kDatasheetRateSpread = 0.15;  // a rate made from a datasheet's
// Products in fp8 and fp4 under software that was fitted on fp8 runs: what 56 such runs leave
// (Megatron Bridge 3.2 %, MLPerf 5.0 % held out, mean) over the products' share of a step.
inline constexpr double kFittedNarrowSpread = 0.08;
// Tokens of an engine's cache: activations and buffers outside PyTorch differ by version.
inline constexpr double kServingCacheSpread = 0.03;
// Relative spread of the time that a late host adds.
inline constexpr double kHostLaunchSpread = 0.2;
inline constexpr double kHostLinkSpread = 0.3;  // its bandwidth is shared with other devices
inline constexpr double kUnknownAttentionSpread = 0.3;  // of a device without a rate of attention

}  // namespace meshwright
