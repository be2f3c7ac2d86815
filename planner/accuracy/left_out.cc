// SPDX-License-Identifier: Apache-2.0
#include "planner/accuracy/left_out.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/statistics.h"
#include "sim/hardware/framework_scalars.h"
#include "sim/hardware/interval_regime.h"

namespace meshwright::planner {
namespace {

bool names(const Framework& framework, std::string_view term) {
  const auto& terms = framework.fit.terms;
  return std::find(terms.begin(), terms.end(), term) != terms.end();
}

// Nothing is known of data sets that are not at hand, so they count as of another cluster.
bool fitted_only_on(const std::string& cluster, const Framework& framework,
                    const ClustersOfSets& clusters) {
  if (framework.fit.sets.empty()) return false;
  return std::all_of(framework.fit.sets.begin(), framework.fit.sets.end(), [&](const auto& set) {
    const auto found = clusters.find(set);
    return found != clusters.end() && found->second == std::set<std::string>{cluster};
  });
}

// Reads a number of a chip; nothing if the chip lacks it.
using Reading = std::function<std::optional<double>(const Device&)>;

std::optional<double> typical(std::span<const Device> others, const Device& device,
                              const Reading& read) {
  std::map<std::string, std::vector<double>> by_architecture;
  for (const Device& other : others) {
    if (other.kind != device.kind || other.architecture == device.architecture) continue;
    const bool timed = std::any_of(other.gemm.begin(), other.gemm.end(), [](const GemmModel& g) {
      return g.provenance <= Provenance::fitted;
    });
    const std::optional<double> value = timed ? read(other) : std::nullopt;
    if (value) by_architecture[other.architecture].push_back(*value);
  }
  std::vector<double> medians;
  for (auto& [name, values] : by_architecture) medians.push_back(median(std::move(values)));
  if (medians.empty()) return std::nullopt;
  return mean(medians);
}

// The products of a chip in this number format, or those that somebody timed.
Reading of_gemm(Precision precision, double GemmModel::*member) {
  return [=](const Device& device) -> std::optional<double> {
    for (const GemmModel& gemm : device.gemm) {
      if (gemm.precision == precision) return gemm.*member;
    }
    return device.gemm.empty() ? std::nullopt : std::optional(device.gemm.front().*member);
  };
}

Reading of_attention(int head_dim, int version, double AttentionRate::*member) {
  return [=](const Device& device) -> std::optional<double> {
    std::optional<double> other_size;
    for (const AttentionRate& rate : device.attention) {
      if (rate.version != version) continue;
      if (rate.head_dim == head_dim) return rate.*member;
      other_size = rate.*member;
    }
    return other_size;
  };
}

void make_typical(GemmModel& gemm, const Device& device, std::span<const Device> others) {
  for (double GemmModel::*member :
       {&GemmModel::sustained_fraction, &GemmModel::ramp_k, &GemmModel::wave_quantization}) {
    if (const auto value = typical(others, device, of_gemm(gemm.precision, member))) {
      gemm.*member = *value;
    }
  }
  gemm.relative_spread = kDatasheetRateSpread;
  gemm.provenance = Provenance::datasheet;
  gemm.points.clear();
}

void make_typical(AttentionRate& rate, const Device& device, std::span<const Device> others) {
  for (double AttentionRate::*member :
       {&AttentionRate::forward_fraction, &AttentionRate::backward_fraction,
        &AttentionRate::ramp_keys, &AttentionRate::forward_tail_waves,
        &AttentionRate::backward_tail_waves}) {
    if (const auto value =
            typical(others, device, of_attention(rate.head_dim, rate.version, member))) {
      rate.*member = *value;
    }
  }
  rate.relative_spread = kUnknownAttentionSpread;
  rate.provenance = Provenance::datasheet;
}

}  // namespace

Framework without_fitted_scalars(Framework f) {
  const Framework neutral;
  for (const FrameworkScalarRow& row : kFrameworkScalars) {
    if (names(f, row.term)) f = with_value(std::move(f), row.scalar, value_of(row.scalar, neutral));
  }
  return f;
}

MeasuredSet without_clusters(MeasuredSet set, const ClustersOfSets& clusters) {
  for (MeasuredRun& run : set.runs) {
    run.cluster.fit = {};
    if (!fitted_only_on(run.cluster.name, run.cluster.framework, clusters)) continue;
    run.cluster.framework = without_fitted_scalars(run.cluster.framework);
    run.cluster.framework_assumed = true;
  }
  return set;
}

MeasuredSet without_framework(MeasuredSet set) {
  for (MeasuredRun& run : set.runs) run.cluster.framework = {};
  return set;
}

Device with_datasheet_rates(Device device, std::span<const Device> others) {
  const Device stated = device;
  for (GemmModel& gemm : device.gemm) make_typical(gemm, stated, others);
  // Rates of older kernels are of another chip's units, and no datasheet has them.
  std::erase_if(device.attention, [](const AttentionRate& rate) { return rate.version > 0; });
  for (AttentionRate& rate : device.attention) make_typical(rate, stated, others);
  device.kernels.clear();
  for (double Device::*member :
       {&Device::memory_bandwidth_fraction, &Device::sustained_clock_fraction}) {
    const auto value =
        typical(others, stated, [=](const Device& d) { return std::optional(d.*member); });
    if (value) device.*member = *value;
  }
  device.memory_provenance = Provenance::datasheet;
  return device;
}

MeasuredSet without_devices(MeasuredSet set, std::span<const Device> others) {
  for (MeasuredRun& run : set.runs) {
    only_device(run.cluster) = with_datasheet_rates(only_device(run.cluster), others);
    run.cluster.fit = {};
  }
  return set;
}

}  // namespace meshwright::planner
