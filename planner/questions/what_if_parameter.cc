// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/what_if_parameter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "sim/base/error.h"
#include "sim/base/statistics.h"
#include "sim/kernel_time/gemm_model.h"
#include "sim/record/reader.h"

namespace meshwright::planner {
namespace {

constexpr double kTera = 1e12;
constexpr double kMicro = 1e-6;
// Launch times and overheads are stated without a spread; evaluate() counts 20 % for the host too.
constexpr double kLaunchSpread = 0.2;
// The slowdown by communication is 3 to 40 % over the devices and shapes that were measured, 18.9 %
// on average (arXiv 2507.03114): about half of the average to either side.
constexpr double kOverlapSpread = 0.5;

Seconds smallest_message(const CollectiveCurve& curve) {
  return curve.points.empty() ? seconds(0) : curve.points.front().time;
}

void scale_latency(Link& link, double factor) {
  link.base_latency *= factor;
  link.latency *= factor;
  link.ramp_latency *= factor;
  for (CollectiveCurve& curve : link.curves) {
    const Seconds more = smallest_message(curve) * (factor - 1.0);
    for (CollectivePoint& point : curve.points) point.time += more;
  }
}

void scale_points(GemmModel& gemm, Seconds launch, double factor) {
  for (GemmPoint& point : gemm.points) {
    const Seconds work = std::max(seconds(0), point.time - launch);
    point.time = point.time - work + work / factor;
  }
}

void scale_gemm_efficiency(Device& device, double factor) {
  for (GemmModel& gemm : device.gemm) {
    gemm.sustained_fraction *= factor;
    scale_points(gemm, device.kernel_launch, factor);
  }
}

void scale_peak(Device& device, double factor) {
  for (GemmModel& gemm : device.gemm) {
    gemm.peak *= factor;
    scale_points(gemm, device.kernel_launch, factor);
  }
}

void scale_attention(Device& device, double factor) {
  for (AttentionRate& rate : device.attention) {
    rate.forward_fraction *= factor;
    rate.backward_fraction *= factor;
  }
}

void scale_host(Cluster& cluster, double factor) {
  only_device(cluster).host_launch *= factor;
  cluster.framework.host_launch *= factor;
  cluster.framework.micro_batch_overhead *= factor;
  cluster.framework.step_overhead *= factor;
  cluster.fit.micro_batch_overhead *= factor;
}

template <typename M>
M of_gemm(const Scenario& s, M GemmModel::*member, M where_there_is_none) {
  const Device& device = only_device(s.cluster);
  return device.gemm.empty() ? where_there_is_none
                             : gemm_model_for(device, s.job.precision).*member;
}

template <typename M>
M of_attention(const Scenario& s, M AttentionRate::*member, M where_there_is_none) {
  const Device& device = only_device(s.cluster);
  return device.attention.empty() ? where_there_is_none : device.attention.front().*member;
}

double gemm_efficiency(const Scenario& s) {
  return of_gemm(s, &GemmModel::sustained_fraction, 0.0);
}
double gemm_spread(const Scenario& s) { return of_gemm(s, &GemmModel::relative_spread, 0.0); }

double kernel_spread(const Device& device) {
  constexpr double kUnmeasured = 0.15;  // as kernel_cost() counts a kernel that has no rate
  if (device.kernels.empty()) return kUnmeasured;
  std::vector<double> spreads;
  for (const KernelRate& kernel : device.kernels) spreads.push_back(kernel.relative_spread);
  return mean(spreads);
}

// Spread of a link; of a measured link, that of the median point.
double link_spread(const Link& link) {
  std::vector<double> spreads;
  for (const CollectiveCurve& curve : link.curves) {
    for (const CollectivePoint& point : curve.points) spreads.push_back(point.relative_spread);
  }
  return spreads.empty() ? link.relative_spread : upper_median(std::move(spreads));
}

// 1 over what is reached of a peak today.
double to_the_peak(double share) {
  return share > 0.0 ? std::max(1.0, 1.0 / share) : std::numeric_limits<double>::infinity();
}

double fastest_attention(const Device& device) {
  double most = 0.0;
  for (const AttentionRate& rate : device.attention) {
    most = std::max({most, rate.forward_fraction, rate.backward_fraction});
  }
  return most;
}

double launch_spread(const Scenario& /*s*/) { return kLaunchSpread; }

Provenance memory_provenance(const Scenario& s) { return only_device(s.cluster).memory_provenance; }

void scale_stated(std::optional<double>& value, double factor) {
  if (value) *value *= factor;
}

struct ParameterRow {
  WhatIfParameterText text;
  bool changes_time = true;
  double (*value)(const Scenario& s);
  double (*relative_spread)(const Scenario& s) = [](const Scenario&) { return 0.0; };
  // The peak, memory and power are the datasheet's; batch and price are the user's.
  Provenance (*provenance)(const Scenario& s) = [](const Scenario&) {
    return Provenance::datasheet;
  };
  double (*largest_factor)(const Scenario& s) = [](const Scenario&) {
    return std::numeric_limits<double>::infinity();
  };
  void (*scale)(Scenario& s, double factor);
};

template <Link Cluster::*link>
Provenance link_provenance(const Scenario& s) {
  const Link& of = s.cluster.*link;
  return of.curves.empty() ? of.provenance : Provenance::measured;
}

template <Link Cluster::*link>
constexpr ParameterRow bandwidth_row(const WhatIfParameterText& text) {
  return {
      .text = text,
      .value =
          [](const Scenario& s) { return (s.cluster.*link).bandwidth / gigabytes_per_second(1); },
      .relative_spread = [](const Scenario& s) { return link_spread(s.cluster.*link); },
      .provenance = link_provenance<link>,
      .largest_factor =
          [](const Scenario& s) { return to_the_peak((s.cluster.*link).bandwidth_fraction); },
      .scale = [](Scenario& s, double factor) { scale_bandwidth(s.cluster.*link, factor); }};
}

template <Link Cluster::*link>
constexpr ParameterRow latency_row(const WhatIfParameterText& text) {
  return {.text = text,
          .value = [](const Scenario& s) { return (s.cluster.*link).latency.value() / kMicro; },
          .relative_spread = [](const Scenario& s) { return link_spread(s.cluster.*link); },
          .provenance = link_provenance<link>,
          .scale = [](Scenario& s, double factor) { scale_latency(s.cluster.*link, factor); }};
}

// In the order of the enumeration.
constexpr std::array<ParameterRow, kNumWhatIfParameters> kParameterRows{{
    {.text = {WhatIfParameter::gemm_efficiency, "gemm_efficiency", "GEMM efficiency", "", true},
     .value = gemm_efficiency,
     .relative_spread = gemm_spread,
     .provenance =
         [](const Scenario& s) { return of_gemm(s, &GemmModel::provenance, Provenance::assumed); },
     .largest_factor = [](const Scenario& s) { return to_the_peak(gemm_efficiency(s)); },
     .scale = [](Scenario& s,
                 double factor) { scale_gemm_efficiency(only_device(s.cluster), factor); }},
    {.text = {WhatIfParameter::attention_efficiency, "attention_efficiency", "attention efficiency",
              "", true},
     .value =
         [](const Scenario& s) { return of_attention(s, &AttentionRate::forward_fraction, 0.0); },
     .relative_spread =
         [](const Scenario& s) { return of_attention(s, &AttentionRate::relative_spread, 0.0); },
     .provenance =
         [](const Scenario& s) {
           return of_attention(s, &AttentionRate::provenance, Provenance::assumed);
         },
     .largest_factor =
         [](const Scenario& s) { return to_the_peak(fastest_attention(only_device(s.cluster))); },
     .scale = [](Scenario& s, double factor) { scale_attention(only_device(s.cluster), factor); }},
    // Changes what gemm_efficiency and attention_efficiency change, together.
    {.text = {WhatIfParameter::peak_flops, "peak_flops", "peak FLOP rate", "TFLOP/s"},
     .changes_time = false,
     .value =
         [](const Scenario& s) {
           return of_gemm(s, &GemmModel::peak, FlopsPerSecond()).value() / kTera;
         },
     .relative_spread = gemm_spread,
     .scale = [](Scenario& s, double factor) { scale_peak(only_device(s.cluster), factor); }},
    {.text = {WhatIfParameter::memory_bandwidth, "memory_bandwidth", "memory bandwidth", "GB/s"},
     .value =
         [](const Scenario& s) {
           return only_device(s.cluster).memory_bandwidth / gigabytes_per_second(1);
         },
     .relative_spread = [](const Scenario& s) { return kernel_spread(only_device(s.cluster)); },
     .provenance = memory_provenance,
     .largest_factor =
         [](const Scenario& s) {
           return to_the_peak(only_device(s.cluster).memory_bandwidth_fraction);
         },
     .scale = [](Scenario& s,
                 double factor) { scale_memory_bandwidth(only_device(s.cluster), factor); }},
    {.text = {WhatIfParameter::memory_capacity, "memory_capacity", "memory per device", "GiB"},
     .changes_time = false,
     .value = [](const Scenario& s) { return in_gibibytes(only_device(s.cluster).memory); },
     .scale = [](Scenario& s, double factor) { only_device(s.cluster).memory *= factor; }},
    {.text = {WhatIfParameter::kernel_launch, "kernel_launch", "kernel launch time", "us"},
     .value =
         [](const Scenario& s) { return only_device(s.cluster).kernel_launch.value() / kMicro; },
     .relative_spread = launch_spread,
     .provenance = memory_provenance,
     .scale = [](Scenario& s, double factor) { only_device(s.cluster).kernel_launch *= factor; }},
    {.text = {WhatIfParameter::host_overhead, "host_overhead", "host launch time", "us"},
     .value =
         [](const Scenario& s) {
           return std::max(only_device(s.cluster).host_launch, s.cluster.framework.host_launch)
                      .value() /
                  kMicro;
         },
     .relative_spread = launch_spread,
     .provenance = memory_provenance,
     .scale = [](Scenario& s, double factor) { scale_host(s.cluster, factor); }},
    {.text = {WhatIfParameter::overlap_slowdown, "overlap_slowdown",
              "slowdown from overlapped communication", ""},
     .value = [](const Scenario& s) { return only_device(s.cluster).overlap_slowdown; },
     .relative_spread =
         [](const Scenario& s) {
           const bool one_core_does_both = only_device(s.cluster).overlap_slowdown >= 1.0;
           return one_core_does_both ? 0.0 : kOverlapSpread;
         },
     .provenance = [](const Scenario&) { return Provenance::assumed; },
     .largest_factor =
         [](const Scenario& s) { return to_the_peak(only_device(s.cluster).overlap_slowdown); },
     .scale =
         [](Scenario& s, double factor) {
           double& slowdown = only_device(s.cluster).overlap_slowdown;
           slowdown = std::min(1.0, slowdown * factor);
         }},
    bandwidth_row<&Cluster::intra_node>({WhatIfParameter::intra_node_bandwidth,
                                         "intra_node_bandwidth", "bandwidth inside a node",
                                         "GB/s"}),
    latency_row<&Cluster::intra_node>(
        {WhatIfParameter::intra_node_latency, "intra_node_latency", "latency inside a node", "us"}),
    bandwidth_row<&Cluster::inter_node>({WhatIfParameter::inter_node_bandwidth,
                                         "inter_node_bandwidth", "bandwidth between nodes",
                                         "GB/s"}),
    latency_row<&Cluster::inter_node>(
        {WhatIfParameter::inter_node_latency, "inter_node_latency", "latency between nodes", "us"}),
    {.text = {WhatIfParameter::global_batch_size, "global_batch_size", "global batch", "sequences"},
     .changes_time = false,
     .value = [](const Scenario& s) { return static_cast<double>(s.job.global_batch_size); },
     .scale =
         [](Scenario& s, double factor) {
           s.job.global_batch_size =
               std::max(1, static_cast<int>(std::lround(s.job.global_batch_size * factor)));
         }},
    {.text = {WhatIfParameter::price_per_gpu_hour, "price_per_gpu_hour", "price", "per GPU-hour"},
     .changes_time = false,
     .value = [](const Scenario& s) { return s.cluster.price_per_gpu_hour.value_or(0.0); },
     .scale = [](Scenario& s,
                 double factor) { scale_stated(s.cluster.price_per_gpu_hour, factor); }},
    {.text = {WhatIfParameter::power, "power", "power of a device", "W"},
     .changes_time = false,
     .value = [](const Scenario& s) { return only_device(s.cluster).power_watts.value_or(0.0); },
     .scale = [](Scenario& s,
                 double factor) { scale_stated(only_device(s.cluster).power_watts, factor); }},
}};

constexpr bool parameters_in_order() {
  for (std::size_t i = 0; i < kParameterRows.size(); ++i) {
    if (static_cast<std::size_t>(kParameterRows[i].text.parameter) != i) return false;
  }
  return true;
}
static_assert(parameters_in_order());

const ParameterRow& parameter_row(WhatIfParameter parameter) {
  return kParameterRows[static_cast<std::size_t>(parameter)];
}

constexpr auto kTexts = [] {
  std::array<WhatIfParameterText, kNumWhatIfParameters> texts{};
  std::transform(kParameterRows.begin(), kParameterRows.end(), texts.begin(),
                 [](const ParameterRow& row) { return row.text; });
  return texts;
}();

}  // namespace

void scale_bandwidth(Link& link, double factor) {
  link.bandwidth *= factor;
  for (CollectiveCurve& curve : link.curves) scale_bandwidth(curve.points, factor);
}

void scale_memory_bandwidth(Device& device, double factor) {
  device.memory_bandwidth *= factor;
  for (KernelRate& kernel : device.kernels) {
    kernel.rate *= factor;
    for (KernelPoint& point : kernel.points) point.rate *= factor;
  }
}

std::span<const WhatIfParameterText> all_parameters() { return kTexts; }

const WhatIfParameterText& text_of(WhatIfParameter parameter) {
  return parameter_row(parameter).text;
}

WhatIfParameter parameter_named(const std::string& name) {
  std::vector<std::string> names;
  for (const WhatIfParameterText& text : kTexts) {
    if (text.name == name) return text.parameter;
    names.emplace_back(text.name);
  }
  throw InputError(
      "--what-if", "",
      fmt::format("unknown input \"{}\"; expected one of {}", name, fmt::join(names, ", ")),
      did_you_mean(name, names));
}

bool changes_time(WhatIfParameter parameter) { return parameter_row(parameter).changes_time; }

double value_of(WhatIfParameter parameter, const Scenario& scenario) {
  return parameter_row(parameter).value(scenario);
}

double relative_spread(WhatIfParameter parameter, const Scenario& scenario) {
  return parameter_row(parameter).relative_spread(scenario);
}

Provenance provenance_of(WhatIfParameter parameter, const Scenario& scenario) {
  return parameter_row(parameter).provenance(scenario);
}

double largest_factor(WhatIfParameter parameter, const Scenario& scenario) {
  return parameter_row(parameter).largest_factor(scenario);
}

Scenario scaled(Scenario scenario, WhatIfParameter parameter, double factor) {
  parameter_row(parameter).scale(scenario, factor);
  return scenario;
}

}  // namespace meshwright::planner
