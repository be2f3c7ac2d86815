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
// Of one configuration and version of an engine, run again: the mean times of a token of 83
// repeated published configurations differ by 0.64 % (median): 0.64 % x 1.4826 / sqrt(2) = 0.7 %.
inline constexpr double kServingRepeatSpread = 0.007;
// Of the variance of a service's predicted step, the share that all configurations of one model,
// GPU, engine and format have in common; and the degrees of freedom with which the rest is known.
// 19 groups of published points with three and more (886 points, closed form, mean time of a
// token): the median of the groups' means is 0.077 off, a standard deviation of 0.114; the median
// of their own deviations is 0.104. 0.114^2 / (0.114^2 + 0.104^2) = 0.55. The logarithms of the
// variances of the ten groups with 30 points and more scatter by 0.74 = trigamma(d / 2):
// d = 3.6.
inline constexpr double kServingLevelShare = 0.55;
inline constexpr double kServingOwnDegrees = 4.0;
// Relative spread of the time that a late host adds.
inline constexpr double kHostLaunchSpread = 0.2;
inline constexpr double kHostLinkSpread = 0.3;  // its bandwidth is shared with other devices
inline constexpr double kUnknownAttentionSpread = 0.3;  // of a device without a rate of attention

}  // namespace meshwright
