// SPDX-License-Identifier: Apache-2.0
#include "calibrate/fit/attention_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "calibrate/fit/least_squares.h"
#include "sim/base/statistics.h"
#include "sim/kernel_time/compute.h"

namespace meshwright::calibrate {
namespace {

// One time says a rate; a rate and how it grows with the sequence want more.
constexpr std::size_t kFewestForRamp = 4;
constexpr double kFirstFraction = 0.5, kFirstRampKeys = 300.0;
constexpr double kLeastAttentionSpread = 0.02;
constexpr double kLeastAttentionFraction = 1e-6, kLargestAttentionFraction = 1.0;

Operator as_operator(const AttentionShape& s) {
  Operator op;
  op.name = "attention.core";
  op.kind = OperatorKind::attention;
  op.batch = s.batch * s.heads;
  op.m = op.n = s.positions;
  op.k = s.head_dim;
  AttentionShape forward = s;
  forward.backward = false;
  op.forward_flops = flops(attention_flops(forward));
  op.backward_flops = 2.5 * op.forward_flops;
  return op;
}

Seconds modelled(const MeasuredPoint& p, const Device& device) {
  const auto& [precision, s] = std::get<timed::Attention>(p.subject);
  const Operator op = as_operator(s);
  return s.backward ? backward_cost(op, precision, device, s.version).input.time
                    : forward_cost(op, precision, device, s.version).time;
}

AttentionRate& rate_of(Device& device, int head_dim, int version) {
  for (AttentionRate& rate : device.attention) {
    if (rate.head_dim == head_dim && rate.version == version) return rate;
  }
  AttentionRate fresh;
  fresh.head_dim = head_dim;
  fresh.version = version;
  device.attention.push_back(fresh);
  return device.attention.back();
}

// The fraction that explains these times best, and the spread of what remains: the geometric mean,
// where the time is inverse to it.
LogFit fitted_fraction(const std::vector<const MeasuredPoint*>& points, Device device,
                       AttentionRate rate, bool backward) {
  double& fraction = backward ? rate.backward_fraction : rate.forward_fraction;
  fraction = kFirstFraction;
  device.attention = {rate};
  std::vector<double> logs;
  for (const MeasuredPoint* p : points) {
    const Seconds launch = device.kernel_launch;
    logs.push_back(
        std::log((modelled(*p, device) - launch) / std::max(p->time() - launch, p->time() * 0.05)));
  }
  return {.parameters = {kFirstFraction * std::exp(mean(logs))},
          .standard_errors = {},
          .relative_spread = population_deviation(logs),
          .points = logs.size(),
          .converged = true};
}

// Forward times over several lengths: the fraction and the keys at which half of it is reached.
LogFit fitted_ramp(const std::vector<const MeasuredPoint*>& points, Device device,
                   AttentionRate rate) {
  std::vector<double> observed;
  for (const MeasuredPoint* p : points) observed.push_back(p->time().value());
  return fit_log_space(
      {kFirstFraction, rate.ramp_keys > 0.0 ? rate.ramp_keys : kFirstRampKeys},
      [&](std::span<const double> parameters, std::size_t i) {
        rate.forward_fraction = parameters[0];
        rate.ramp_keys = parameters[1];
        device.attention = {rate};
        return modelled(*points[i], device).value();
      },
      observed);
}

bool has_several_lengths(const std::vector<const MeasuredPoint*>& points) {
  const auto positions = [](const MeasuredPoint* p) {
    return std::get<timed::Attention>(p->subject).shape.positions;
  };
  return std::any_of(points.begin(), points.end(), [&](const MeasuredPoint* p) {
    return positions(p) != positions(points.front());
  });
}

struct OfOneKernel {
  std::vector<const MeasuredPoint*> forward, backward;
};

Fit fit_one(Device& device, int head_dim, int version, const OfOneKernel& times) {
  AttentionRate rate = rate_of(device, head_dim, version);
  double spread = 0.0;
  if (times.forward.size() >= kFewestForRamp && has_several_lengths(times.forward)) {
    const LogFit fit = fitted_ramp(times.forward, device, rate);
    rate.forward_fraction = fit.parameters[0];
    rate.ramp_keys = fit.parameters[1];
    spread = fit.relative_spread;
  } else if (!times.forward.empty()) {
    const LogFit fit = fitted_fraction(times.forward, device, rate, false);
    rate.forward_fraction = fit.parameters[0];
    spread = fit.relative_spread;
  }
  if (!times.backward.empty()) {
    const LogFit fit = fitted_fraction(times.backward, device, rate, true);
    rate.backward_fraction = fit.parameters[0];
    spread = std::max(spread, fit.relative_spread);
  }
  // Limits a fraction to the range that a cluster file may state; times of another kernel would ask
  // for more.
  for (double* fraction : {&rate.forward_fraction, &rate.backward_fraction}) {
    *fraction = std::clamp(*fraction, kLeastAttentionFraction, kLargestAttentionFraction);
  }
  rate.relative_spread = std::max(kLeastAttentionSpread, spread);
  rate.provenance = Provenance::fitted;
  rate_of(device, head_dim, version) = rate;
  return {.what = fmt::format("attention of width {}{}", head_dim,
                              version > 0 ? fmt::format(", version {}", version) : ""),
          .parameters = {{"forward_fraction", rate.forward_fraction, 0.0},
                         {"backward_fraction", rate.backward_fraction, 0.0},
                         {"ramp_keys", rate.ramp_keys, 0.0}},
          .relative_spread = rate.relative_spread,
          .points = static_cast<int>(times.forward.size() + times.backward.size())};
}

// Kernels that frameworks run, whose times are imported, say more than a library's beside them.
bool has_imported_time(const std::vector<MeasuredPoint>& points, const AttentionShape& shape) {
  return std::any_of(points.begin(), points.end(), [&](const MeasuredPoint& p) {
    const auto* other = p.as<timed::Attention>();
    return other != nullptr && !p.source.empty() && other->shape.head_dim == shape.head_dim &&
           other->shape.version == shape.version && other->shape.backward == shape.backward;
  });
}

}  // namespace

std::vector<Fit> fit_attention(Device& device, const std::vector<MeasuredPoint>& points) {
  std::map<std::pair<int, int>, OfOneKernel> kernels;
  for (const MeasuredPoint& p : points) {
    const auto* attention = p.as<timed::Attention>();
    if (attention == nullptr) continue;
    const AttentionShape& shape = attention->shape;
    if (p.source.empty() && has_imported_time(points, shape)) continue;
    OfOneKernel& times = kernels[{static_cast<int>(shape.head_dim), shape.version}];
    (shape.backward ? times.backward : times.forward).push_back(&p);
  }
  std::vector<Fit> fits;
  if (device.gemm.empty()) return fits;  // fractions of an unknown peak
  for (const auto& [key, times] : kernels) {
    fits.push_back(fit_one(device, key.first, key.second, times));
  }
  return fits;
}

}  // namespace meshwright::calibrate
