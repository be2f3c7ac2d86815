// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/ranks/out_of_memory.h"

#include <fmt/format.h>

#include <array>
#include <vector>

namespace meshwright::calibrate {
namespace {

using Text = std::array<char, 512>;  // ends with a zero byte

}  // namespace

std::string out_of_memory_of_any(HostRanks& ranks, const std::string& own) {
  if (ranks.host_max(own.empty() ? 0.0 : 1.0) == 0.0) return "";
  Text mine{};
  own.copy(mine.data(), mine.size() - 1);
  std::vector<Text> all(static_cast<std::size_t>(ranks.size()));
  ranks.host_gather(mine.data(), all.data(), sizeof mine);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].front() == '\0') continue;
    return fmt::format("out of memory on rank {}: {}", rank, all[rank].data());
  }
  return "";
}

}  // namespace meshwright::calibrate
