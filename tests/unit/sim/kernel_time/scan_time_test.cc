// SPDX-License-Identifier: Apache-2.0
// Kimi delta attention's chunked scan, as measured (AISimulate 0.13 tables, SGLang 0.5.16 and
// 0.5.20, chunk_kda; 8 to 96 heads of 128), against the rule: bytes at the memory's rate, and at so
// many a second a multiprocessor. Each chip is also left out: its rate a multiprocessor is then the
// median of the others' means.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "sim/json/records.h"
#include "sim/kernel_time/compute.h"
#include "sim/operators/operators.h"
#include "tests/paths.h"

namespace meshwright {
namespace {

struct Measured {
  const char* chip;
  int heads, tokens;
  double microseconds;
};
constexpr Measured kMeasured[] = {
    {"h100-sxm-80gb", 8, 4096, 290.45},
    {"h100-sxm-80gb", 8, 8192, 575.88},
    {"h100-sxm-80gb", 8, 32768, 1510.8},
    {"h100-sxm-80gb", 8, 131072, 5866.6},
    {"h100-sxm-80gb", 16, 4096, 466},
    {"h100-sxm-80gb", 16, 8192, 736.92},
    {"h100-sxm-80gb", 16, 65536, 5532.1},
    {"h100-sxm-80gb", 16, 131072, 11038},
    {"h100-sxm-80gb", 32, 4096, 788.29},
    {"h100-sxm-80gb", 32, 8192, 1523.7},
    {"h100-sxm-80gb", 32, 32768, 5986.7},
    {"h100-sxm-80gb", 32, 65536, 11075},
    {"h100-sxm-80gb", 32, 131072, 22063},
    {"h100-sxm-80gb", 64, 131072, 42932},
    {"h200-sxm-141gb", 8, 4096, 274.92},
    {"h200-sxm-141gb", 8, 8192, 543.96},
    {"h200-sxm-141gb", 8, 32768, 1371.3},
    {"h200-sxm-141gb", 8, 131072, 5300.1},
    {"h200-sxm-141gb", 16, 4096, 425.55},
    {"h200-sxm-141gb", 16, 8192, 654.74},
    {"h200-sxm-141gb", 16, 65536, 4906.6},
    {"h200-sxm-141gb", 16, 131072, 9778.6},
    {"h200-sxm-141gb", 32, 4096, 704.98},
    {"h200-sxm-141gb", 32, 8192, 1357.6},
    {"h200-sxm-141gb", 32, 32768, 5315.9},
    {"h200-sxm-141gb", 32, 65536, 9736.8},
    {"h200-sxm-141gb", 32, 131072, 19438},
    {"h200-sxm-141gb", 64, 131072, 38499},
    {"b200-sxm-180gb", 12, 4096, 204.35},
    {"b200-sxm-180gb", 12, 32768, 1269},
    {"b200-sxm-180gb", 12, 131072, 5405.6},
    {"b200-sxm-180gb", 24, 8192, 651.25},
    {"b200-sxm-180gb", 24, 32768, 3319.1},
    {"b200-sxm-180gb", 24, 65536, 4874.9},
    {"b200-sxm-180gb", 24, 131072, 9628},
    {"b200-sxm-180gb", 48, 4096, 655.59},
    {"b200-sxm-180gb", 48, 32768, 4732.9},
    {"b200-sxm-180gb", 48, 65536, 9459.9},
    {"b200-sxm-180gb", 96, 4096, 1298.8},
    {"b200-sxm-180gb", 96, 8192, 2504.1},
    {"b200-sxm-180gb", 96, 32768, 9599.7},
    {"gb200", 8, 4096, 244.32},
    {"gb200", 8, 8192, 525.01},
    {"gb200", 8, 32768, 1179.4},
    {"gb200", 8, 131072, 4570.5},
    {"gb200", 16, 4096, 392.2},
    {"gb200", 16, 8192, 553.47},
    {"gb200", 16, 65536, 4064.7},
    {"gb200", 16, 131072, 8110.5},
    {"gb200", 32, 4096, 580.82},
    {"gb200", 32, 8192, 1128.1},
    {"gb200", 32, 32768, 4292.7},
    {"gb200", 32, 65536, 7216},
    {"gb200", 32, 131072, 14954},
    {"gb200", 64, 131072, 30870},
};

Device device_of(const std::string& name) {
  const std::string path =
      std::string(MESHWRIGHT_SOURCE_DIR) + "/configs/hardware/" + name + ".json";
  std::ifstream file(path);
  return device_from_json(Json::parse(file), path);
}

Bytes traffic_of(const Measured& one) {
  Model model;
  model.num_layers = 1;
  model.hidden_size = 2048;
  model.num_attention_heads = model.num_query_groups = 16;
  model.kv_channels = 128;
  model.hybrid_layer_pattern = "M";
  model.kimi_delta = KimiDelta{.kda_num_heads = one.heads};
  for (const Operator& op : layer_operators(model, layer_kind(model, 0), Numerics{},
                                            TokenShape{1, one.tokens, one.tokens}, Layout{})) {
    if (op.kernel == kernel::kKimiDelta) return op.forward_bytes;
  }
  return {};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double of_memory(const Measured& one, const Device& device) {
  return traffic_of(one).value() /
             (device.memory_bandwidth.value() * device.memory_bandwidth_fraction) +
         device.kernel_launch.value();
}

TEST(KimiDeltaTime, IsWithin15PercentOfMostMeasuredScans) {
  std::vector<double> errors;
  for (const Measured& one : kMeasured) {
    const Cost cost = kernel_cost(kernel::kKimiDelta, traffic_of(one), device_of(one.chip));
    errors.push_back(std::abs(cost.time.value() * 1e6 / one.microseconds - 1.0));
  }
  EXPECT_LT(median(errors), 0.15);
}

TEST(KimiDeltaTime, OfAChipFollowsFromTheOthers) {
  std::map<std::string, std::vector<double>> rates;  // bytes a second and multiprocessor
  for (const Measured& one : kMeasured) {
    const Device device = device_of(one.chip);
    const double own = one.microseconds * 1e-6 - of_memory(one, device);
    rates[one.chip].push_back(traffic_of(one).value() / own / device.num_multiprocessors);
  }
  std::vector<double> errors;
  for (const Measured& one : kMeasured) {
    std::vector<double> others;
    for (const auto& [chip, of_chip] : rates) {
      if (chip != one.chip) others.push_back(median(of_chip));
    }
    const Device device = device_of(one.chip);
    const double seconds = of_memory(one, device) +
                           traffic_of(one).value() / median(others) / device.num_multiprocessors;
    errors.push_back(std::abs(seconds * 1e6 / one.microseconds - 1.0));
  }
  RecordProperty("median_error_by_chip_left_out", std::to_string(median(errors)));
  EXPECT_LT(median(errors), 0.15);
}

}  // namespace
}  // namespace meshwright
