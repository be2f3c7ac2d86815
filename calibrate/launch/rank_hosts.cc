// SPDX-License-Identifier: Apache-2.0
#include "calibrate/launch/rank_hosts.h"

namespace meshwright::calibrate {

std::vector<std::string> hosts_of(Communicator& world) {
  constexpr std::size_t kLength = 256;
  std::string mine = world.host();
  mine.resize(kLength);
  mine.back() = '\0';
  std::vector<char> all(kLength * static_cast<std::size_t>(world.size()));
  world.host_gather(mine.data(), all.data(), kLength);
  std::vector<std::string> hosts;
  for (std::size_t at = 0; at < all.size(); at += kLength) hosts.emplace_back(all.data() + at);
  return hosts;
}

std::vector<double> gathered(Communicator& world, double mine) {
  std::vector<double> all(static_cast<std::size_t>(world.size()));
  world.host_gather(&mine, all.data(), sizeof mine);
  return all;
}

}  // namespace meshwright::calibrate
