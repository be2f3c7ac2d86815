// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/what_if_parameter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
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

constexpr std::array<WhatIfParameterText, kNumWhatIfParameters> kTexts{{
    {WhatIfParameter::gemm_efficiency, "gemm_efficiency", "GEMM efficiency", ""},
    {WhatIfParameter::attention_efficiency, "attention_efficiency", "attention efficiency", ""},
    {WhatIfParameter::peak_flops, "peak_flops", "peak FLOP rate", "TFLOP/s"},
    {WhatIfParameter::memory_bandwidth, "memory_bandwidth", "memory bandwidth", "GB/s"},
    {WhatIfParameter::memory_capacity, "memory_capacity", "memory of a device", "GiB"},
    {WhatIfParameter::kernel_launch, "kernel_launch", "kernel launch time", "us"},
    {WhatIfParameter::host_overhead, "host_overhead", "host launch time", "us"},
    {WhatIfParameter::overlap_slowdown, "overlap_slowdown", "slowdown by overlapped communication",
     ""},
    {WhatIfParameter::intra_node_bandwidth, "intra_node_bandwidth", "bandwidth inside a node",
     "GB/s"},
    {WhatIfParameter::intra_node_latency, "intra_node_latency", "latency inside a node", "us"},
    {WhatIfParameter::inter_node_bandwidth, "inter_node_bandwidth", "bandwidth between nodes",
     "GB/s"},
    {WhatIfParameter::inter_node_latency, "inter_node_latency", "latency between nodes", "us"},
    {WhatIfParameter::global_batch_size, "global_batch_size", "global batch", "sequences"},
    {WhatIfParameter::price_per_gpu_hour, "price_per_gpu_hour", "price", "per GPU-hour"},
    {WhatIfParameter::power, "power", "power of a device", "W"},
}};

Seconds smallest_message(const CollectiveCurve& curve) {
  return curve.points.empty() ? seconds(0) : curve.points.front().time;
}

void scale_bandwidth(Link& link, double factor) {
  link.bandwidth *= factor;
  for (CollectiveCurve& curve : link.curves) {
    const Seconds latency = smallest_message(curve);
    for (CollectivePoint& point : curve.points) {
      point.time = latency + (point.time - latency) / factor;
    }
  }
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

void scale_memory_bandwidth(Device& device, double factor) {
  device.memory_bandwidth *= factor;
  for (KernelRate& kernel : device.kernels) kernel.rate *= factor;
}

void scale_host(Cluster& cluster, double factor) {
  only_device(cluster).host_launch *= factor;
  cluster.framework.host_launch *= factor;
  cluster.framework.micro_batch_overhead *= factor;
  cluster.framework.step_overhead *= factor;
  cluster.fit.micro_batch_overhead *= factor;
}

const GemmModel* gemm_of(const Scenario& scenario) {
  if (only_device(scenario.cluster).gemm.empty()) return nullptr;
  return &gemm_model_for(only_device(scenario.cluster), scenario.job.precision);
}

double kernel_spread(const Device& device) {
  constexpr double kUnmeasured = 0.15;  // as kernel_cost() counts a kernel that has no rate
  if (device.kernels.empty()) return kUnmeasured;
  std::vector<double> spreads;
  for (const KernelRate& kernel : device.kernels) spreads.push_back(kernel.relative_spread);
  return mean(spreads);
}

// Of a measured link the median point's.
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

}  // namespace

std::span<const WhatIfParameterText> all_parameters() { return kTexts; }

const WhatIfParameterText& text_of(WhatIfParameter parameter) {
  return kTexts[static_cast<std::size_t>(parameter)];
}

WhatIfParameter parameter_named(const std::string& name) {
  std::vector<std::string> names;
  for (const WhatIfParameterText& text : kTexts) {
    if (text.name == name) return text.parameter;
    names.emplace_back(text.name);
  }
  throw InputError(
      "--what-if", "",
      fmt::format("\"{}\" is no parameter; there are {}", name, fmt::join(names, ", ")),
      did_you_mean(name, names));
}

bool changes_time(WhatIfParameter parameter) {
  switch (parameter) {
    case WhatIfParameter::peak_flops:  // gemm_efficiency and attention_efficiency together
    case WhatIfParameter::memory_capacity:
    case WhatIfParameter::global_batch_size:
    case WhatIfParameter::price_per_gpu_hour:
    case WhatIfParameter::power:
      return false;
    default:
      return true;
  }
}

double value_of(WhatIfParameter parameter, const Scenario& scenario) {
  const Cluster& cluster = scenario.cluster;
  const Device& device = only_device(cluster);
  const GemmModel* gemm = gemm_of(scenario);
  switch (parameter) {
    case WhatIfParameter::gemm_efficiency:
      return gemm == nullptr ? 0.0 : gemm->sustained_fraction;
    case WhatIfParameter::attention_efficiency:
      return device.attention.empty() ? 0.0 : device.attention.front().forward_fraction;
    case WhatIfParameter::peak_flops:
      return gemm == nullptr ? 0.0 : gemm->peak.value() / kTera;
    case WhatIfParameter::memory_bandwidth:
      return device.memory_bandwidth / gigabytes_per_second(1);
    case WhatIfParameter::memory_capacity:
      return in_gibibytes(device.memory);
    case WhatIfParameter::kernel_launch:
      return device.kernel_launch.value() / kMicro;
    case WhatIfParameter::host_overhead:
      return std::max(device.host_launch, cluster.framework.host_launch).value() / kMicro;
    case WhatIfParameter::overlap_slowdown:
      return device.overlap_slowdown;
    case WhatIfParameter::intra_node_bandwidth:
      return cluster.intra_node.bandwidth / gigabytes_per_second(1);
    case WhatIfParameter::intra_node_latency:
      return cluster.intra_node.latency.value() / kMicro;
    case WhatIfParameter::inter_node_bandwidth:
      return cluster.inter_node.bandwidth / gigabytes_per_second(1);
    case WhatIfParameter::inter_node_latency:
      return cluster.inter_node.latency.value() / kMicro;
    case WhatIfParameter::global_batch_size:
      return scenario.job.global_batch_size;
    case WhatIfParameter::price_per_gpu_hour:
      return cluster.price_per_gpu_hour.value_or(0.0);
    case WhatIfParameter::power:
      return device.power_watts.value_or(0.0);
  }
  return 0.0;
}

double relative_spread(WhatIfParameter parameter, const Scenario& scenario) {
  const Device& device = only_device(scenario.cluster);
  const GemmModel* gemm = gemm_of(scenario);
  switch (parameter) {
    case WhatIfParameter::gemm_efficiency:
    case WhatIfParameter::peak_flops:
      return gemm == nullptr ? 0.0 : gemm->relative_spread;
    case WhatIfParameter::attention_efficiency:
      return device.attention.empty() ? 0.0 : device.attention.front().relative_spread;
    case WhatIfParameter::memory_bandwidth:
      return kernel_spread(device);
    case WhatIfParameter::kernel_launch:
    case WhatIfParameter::host_overhead:
      return kLaunchSpread;
    case WhatIfParameter::overlap_slowdown:
      return device.overlap_slowdown < 1.0 ? kOverlapSpread : 0.0;  // 1: one core does both
    case WhatIfParameter::intra_node_bandwidth:
    case WhatIfParameter::intra_node_latency:
      return link_spread(scenario.cluster.intra_node);
    case WhatIfParameter::inter_node_bandwidth:
    case WhatIfParameter::inter_node_latency:
      return link_spread(scenario.cluster.inter_node);
    case WhatIfParameter::memory_capacity:
    case WhatIfParameter::global_batch_size:
    case WhatIfParameter::price_per_gpu_hour:
    case WhatIfParameter::power:
      break;
  }
  return 0.0;
}

Provenance provenance_of(WhatIfParameter parameter, const Scenario& scenario) {
  const auto link = [](const Link& l) {
    return l.curves.empty() ? l.provenance : Provenance::measured;
  };
  const Device& device = only_device(scenario.cluster);
  const GemmModel* gemm = gemm_of(scenario);
  switch (parameter) {
    case WhatIfParameter::gemm_efficiency:
      return gemm == nullptr ? Provenance::assumed : gemm->provenance;
    case WhatIfParameter::attention_efficiency:
      return device.attention.empty() ? Provenance::assumed : device.attention.front().provenance;
    case WhatIfParameter::memory_bandwidth:
    case WhatIfParameter::kernel_launch:
    case WhatIfParameter::host_overhead:
      return device.memory_provenance;
    case WhatIfParameter::overlap_slowdown:
      return Provenance::assumed;
    case WhatIfParameter::intra_node_bandwidth:
    case WhatIfParameter::intra_node_latency:
      return link(scenario.cluster.intra_node);
    case WhatIfParameter::inter_node_bandwidth:
    case WhatIfParameter::inter_node_latency:
      return link(scenario.cluster.inter_node);
    default:
      return Provenance::datasheet;  // peak, memory and power; batch and price are the user's
  }
}

double largest_factor(WhatIfParameter parameter, const Scenario& scenario) {
  const Cluster& cluster = scenario.cluster;
  const Device& device = only_device(cluster);
  switch (parameter) {
    case WhatIfParameter::gemm_efficiency:
      return to_the_peak(value_of(parameter, scenario));
    case WhatIfParameter::attention_efficiency:
      return to_the_peak(fastest_attention(device));
    case WhatIfParameter::memory_bandwidth:
      return to_the_peak(device.memory_bandwidth_fraction);
    case WhatIfParameter::overlap_slowdown:
      return to_the_peak(device.overlap_slowdown);
    case WhatIfParameter::intra_node_bandwidth:
      return to_the_peak(cluster.intra_node.bandwidth_fraction);
    case WhatIfParameter::inter_node_bandwidth:
      return to_the_peak(cluster.inter_node.bandwidth_fraction);
    default:
      return std::numeric_limits<double>::infinity();
  }
}

Scenario scaled(Scenario scenario, WhatIfParameter parameter, double factor) {
  Cluster& cluster = scenario.cluster;
  Device& device = only_device(cluster);
  switch (parameter) {
    case WhatIfParameter::gemm_efficiency:
      scale_gemm_efficiency(device, factor);
      break;
    case WhatIfParameter::attention_efficiency:
      scale_attention(device, factor);
      break;
    case WhatIfParameter::peak_flops:
      scale_peak(device, factor);
      break;
    case WhatIfParameter::memory_bandwidth:
      scale_memory_bandwidth(device, factor);
      break;
    case WhatIfParameter::memory_capacity:
      device.memory *= factor;
      break;
    case WhatIfParameter::kernel_launch:
      device.kernel_launch *= factor;
      break;
    case WhatIfParameter::host_overhead:
      scale_host(cluster, factor);
      break;
    case WhatIfParameter::overlap_slowdown:
      device.overlap_slowdown = std::min(1.0, device.overlap_slowdown * factor);
      break;
    case WhatIfParameter::intra_node_bandwidth:
      scale_bandwidth(cluster.intra_node, factor);
      break;
    case WhatIfParameter::intra_node_latency:
      scale_latency(cluster.intra_node, factor);
      break;
    case WhatIfParameter::inter_node_bandwidth:
      scale_bandwidth(cluster.inter_node, factor);
      break;
    case WhatIfParameter::inter_node_latency:
      scale_latency(cluster.inter_node, factor);
      break;
    case WhatIfParameter::global_batch_size:
      scenario.job.global_batch_size =
          std::max(1, static_cast<int>(std::lround(scenario.job.global_batch_size * factor)));
      break;
    case WhatIfParameter::price_per_gpu_hour:
      if (cluster.price_per_gpu_hour) *cluster.price_per_gpu_hour *= factor;
      break;
    case WhatIfParameter::power:
      if (device.power_watts) *device.power_watts *= factor;
      break;
  }
  return scenario;
}

}  // namespace meshwright::planner
