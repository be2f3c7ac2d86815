// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/nccl/cheapest_algorithm.h"

#include <array>

namespace meshwright::calibrate {
namespace {

constexpr std::array kAlgorithms{"tree",      "ring", "collnet_direct", "collnet_chain", "nvls",
                                 "nvls_tree", "pat"};
constexpr std::array kProtocols{"ll", "ll128", "simple"};

}  // namespace

std::string cheapest_algorithm(std::span<const float> table, int protocols) {
  std::size_t best = table.size();
  for (std::size_t i = 0; i < table.size(); ++i) {
    const bool possible = table[i] >= 0.0F;
    if (possible && (best == table.size() || table[i] < table[best])) best = i;
  }
  if (best == table.size()) return "";
  const auto columns = static_cast<std::size_t>(protocols);
  const std::size_t row = best / columns, column = best % columns;
  if (row >= kAlgorithms.size() || column >= kProtocols.size()) return "other";
  return std::string(kAlgorithms[row]) + " " + kProtocols[column];
}

}  // namespace meshwright::calibrate
