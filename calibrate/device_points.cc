// SPDX-License-Identifier: Apache-2.0
#include "calibrate/device_points.h"

#include <algorithm>
#include <string>

#include "calibrate/bench/kernel_bench.h"

namespace meshwright::calibrate {
namespace {

// Larger than any cache that one core may have to itself; a short budget does with less.
constexpr Bytes kLargeCopy = mebibytes(256), kSmallestCopy = mebibytes(64);
constexpr double kLargeCopyBudget = 30.0;  // seconds
constexpr double kFullWidth = 4.0;         // bytes of a number

}  // namespace

std::vector<MeasuredPoint> memory_points(const SweepLimits& limits) {
  const Bytes affordable = std::clamp(kLargeCopy * (limits.budget_seconds / kLargeCopyBudget),
                                      kSmallestCopy, kLargeCopy);
  const Bytes size = std::min(affordable, limits.bench_memory() / 2.0);
  // Host and device memory of a CPU core are the same, and a core runs what it launches.
  const bool apart = limits.device == DeviceKind::gpu;
  std::vector<MeasuredPoint> points{{.subject = timed::KernelLaunch{}, .amount = bytes(12)}};
  if (apart) points.push_back({.subject = timed::HostLaunch{}, .amount = bytes(12)});
  points.push_back({.subject = timed::MemoryCopy{}, .amount = size * 2.0});
  for (const HostDirection direction :
       {HostDirection::to_device, HostDirection::to_host, HostDirection::both}) {
    if (direction != HostDirection::to_device && !apart) continue;
    points.push_back({.subject = timed::HostLink{direction}, .amount = size});
  }
  return points;
}

std::vector<MeasuredPoint> kernel_points(const Workload& workload, const SweepLimits& limits) {
  std::vector<KernelSizes> sizes = workload.kernels;
  if (sizes.empty()) {
    sizes = {KernelSizes{},
             KernelSizes{.positions = 512, .hidden = 1024, .ffn = 4096, .heads = 16}};
  }
  const auto& names = workload.kernel_names;
  std::vector<MeasuredPoint> points;
  for (const KernelSizes& size : sizes) {
    for (const KernelCase& c : kernel_cases(size)) {
      if (c.traffic > limits.bench_memory()) continue;
      if (!names.empty() && names.find(c.kernel) == names.end()) continue;
      points.push_back(
          {.subject = timed::Kernel{std::string(c.kernel), c.launches, size}, .amount = c.traffic});
    }
  }
  return points;
}

std::vector<MeasuredPoint> serving_points(const Workload& workload, bool between_ranks,
                                          const SweepLimits& limits) {
  std::vector<MeasuredPoint> points;
  for (const EngineStepShape& shape : workload.engine_steps) {
    points.push_back({.subject = timed::EngineStep{shape},
                      .amount = bytes(kFullWidth * static_cast<double>(shape.vocab))});
  }
  for (const PagedAttentionShape& shape : workload.paged_attentions) {
    const Bytes read = paged_attention_bytes(shape, kFullWidth);
    if (read > limits.bench_memory()) continue;
    points.push_back({.subject = timed::PagedAttention{shape}, .amount = read});
  }
  if (!between_ranks) return points;
  for (const CacheCopyShape& shape : workload.cache_copies) {
    const Bytes sent = cache_copy_bytes(shape, kFullWidth);
    if (sent > std::min(limits.bench_memory(), limits.largest_payload)) continue;
    points.push_back({.subject = timed::CacheCopy{shape}, .amount = sent});
  }
  return points;
}

}  // namespace meshwright::calibrate
