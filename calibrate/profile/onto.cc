// SPDX-License-Identifier: Apache-2.0
#include "calibrate/profile/onto.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel_time/compute.h"

namespace meshwright::calibrate {
namespace {

// Clocks above the datasheet's exist, by a few per cent.
constexpr double kAboveDatasheet = 1.05;

}  // namespace

std::string cannot_be(const Cluster& base, const Cluster& measured) {
  const Device &there = only_device(base), &here = only_device(measured);
  if (there.kind != here.kind) {
    return fmt::format("{} has devices of kind {}, \"{}\" is a {}", base.name, name_of(there.kind),
                       here.name, name_of(here.kind));
  }
  if (there.num_multiprocessors != here.num_multiprocessors) {
    return fmt::format("{} has \"{}\" with {} multiprocessors, \"{}\" has {}", base.name,
                       there.name, there.num_multiprocessors, here.name, here.num_multiprocessors);
  }
  if (measured.gpus_per_node > base.gpus_per_node) {
    return fmt::format("{} has {} devices a node, {} were measured", base.name, base.gpus_per_node,
                       measured.gpus_per_node);
  }
  return "";
}

Cluster put_onto(Cluster base, const Cluster& measured) {
  base.num_nodes = std::max(base.num_nodes, measured.num_nodes);
  base.source = fmt::format("{} onto {}. Beside what was measured: {}", measured.source, base.name,
                            base.source);
  only_device(base).source =
      fmt::format("{}. Beside what was measured: {}, {}", only_device(measured).source,
                  only_device(base).name, only_device(base).source);
  only_device(base).name = only_device(measured).name;
  only_device(base).memory = only_device(measured).memory;
  return base;
}

std::vector<std::string> faster_than_peak(const Device& device) {
  std::vector<std::string> words;
  for (const GemmModel& model : device.gemm) {
    FlopsPerSecond best;
    for (const GemmPoint& p : model.points) {
      best = std::max(best, gemm_flops({p.batch, p.m, p.n, p.k}) / p.time);
    }
    if (best <= model.peak * kAboveDatasheet) continue;
    words.push_back(fmt::format("{}: {:.0f} TFLOP/s were measured, the cluster's file says {:.0f}",
                                name_of(model.precision), best.value() / 1e12,
                                model.peak.value() / 1e12));
  }
  return words;
}

}  // namespace meshwright::calibrate
