// SPDX-License-Identifier: Apache-2.0
#include "sim/step/step_interval.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/base/quadrature.h"
#include "sim/base/shipped_spreads.h"
#include "sim/base/spread.h"
#include "sim/kernel_time/gemm_model.h"
#include "sim/kernel_time/remainder.h"

namespace meshwright {
namespace {

using Row = std::array<RegimeSpread, 2>;  // dense, experts

constexpr RegimeSpread spread_of(const shipped::Spread& s) {
  return {s.bias, s.shared, s.own, s.between_layouts, s.between_degrees, s.sets};
}

// The generated table is in the order of the enumeration.
constexpr std::array<Row, kNumIntervalRegimes> kTable = [] {
  std::array<Row, kNumIntervalRegimes> table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    table[i] = {spread_of(shipped::kDense[i]), spread_of(shipped::kExperts[i])};
  }
  return table;
}();

}  // namespace

const RegimeSpread& shipped_spread(IntervalRegime regime, bool experts) {
  return kTable[static_cast<std::size_t>(regime)][experts ? 1 : 0];
}

RegimeSpread step_spread(const Cluster& cluster, bool experts) {
  const bool learnt = cluster.fit_holds() && cluster.fit.learnt_runs > 0;
  if (!learnt) {
    const IntervalRegime regime = interval_regime(cluster);
    RegimeSpread spread = shipped_spread(regime, experts);
    if (regime == IntervalRegime::profiled_cores) {
      spread.own = in_quadrature(spread.own, movement_of_passes(only_device(cluster)));
    }
    return spread;
  }
  const double spread = cluster.fit.relative_spread;
  return {.own = spread, .between_layouts = spread, .sets = 1};
}

double spread_of_parts(const Terms& terms, Seconds step) {
  double variance = 0.0;
  for (const Term& term : terms) {
    const double deviation = term.cost.relative_spread * (term.cost.time / step);
    variance += deviation * deviation;
  }
  return std::sqrt(variance);
}

Seconds least_step_time(Flops step, const Cluster& cluster, Precision precision, int gpus) {
  const Device& device = only_device(cluster);
  if (device.gemm.empty()) return {};
  const KernelFacts& kernels = cluster.framework.kernels;
  const double narrow = is_narrow(precision) ? kernels.narrow_gemm_time_factor : 1.0;
  const double factor = std::min(1.0, cluster.gemm_time_factor() * narrow);
  const double rate = fastest_rate(device, precision).value() / factor;
  return seconds(step.value() / (rate * gpus));
}

StepInterval step_interval(Seconds step, const RegimeSpread& spread, double of_parts,
                           Seconds least) {
  const double half =
      kIntervalDeviations * std::max(in_quadrature(spread.shared, spread.own), of_parts);
  return {std::max(step * std::min(1.0, std::exp(spread.bias - half)), std::min(least, step)),
          step * std::max(1.0, std::exp(spread.bias + half))};
}

std::string relative_text(const StepInterval& interval, Seconds step) {
  const auto percent = [step](Seconds end) {
    return fmt::format("{:+.0f}", 100.0 * (end / step - 1.0));
  };
  return fmt::format("{} to {} %", percent(interval.low), percent(interval.high));
}

std::optional<Cluster> with_named_software(Cluster cluster) {
  const IntervalRegime unnamed = interval_regime(cluster);
  cluster.framework_assumed = false;
  if (interval_regime(cluster) == unnamed) return std::nullopt;
  return cluster;
}

}  // namespace meshwright
