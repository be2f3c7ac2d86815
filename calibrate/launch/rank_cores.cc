// SPDX-License-Identifier: Apache-2.0
#include "calibrate/launch/rank_cores.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "calibrate/launch/launch.h"
#include "calibrate/launch/rank_hosts.h"

namespace meshwright::calibrate {
namespace {

double cores_per_rank(const HostCores& host) {
  return static_cast<double>(host.cores) / static_cast<double>(host.ranks);
}

std::string counted_words(int count, const char* thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

}  // namespace

std::vector<HostCores> cores_of_hosts(const std::vector<RankCores>& ranks) {
  std::vector<HostCores> hosts;
  std::set<std::pair<std::string, double>> counted;
  for (const RankCores& rank : ranks) {
    auto host = std::find_if(hosts.begin(), hosts.end(),
                             [&](const HostCores& h) { return h.host == rank.host; });
    if (host == hosts.end()) host = hosts.insert(hosts.end(), {rank.host, 0, 0});
    ++host->ranks;
    if (counted.emplace(rank.host, rank.set).second) host->cores += rank.cores;
  }
  return hosts;
}

std::string few_cores_words(const std::vector<HostCores>& hosts) {
  if (hosts.empty() || (hosts.size() == 1 && hosts.front().ranks == 1)) return "";
  const HostCores& worst = *std::min_element(
      hosts.begin(), hosts.end(),
      [](const HostCores& a, const HostCores& b) { return cores_per_rank(a) < cores_per_rank(b); });
  if (worst.cores >= kCoresPerGpuRank * worst.ranks) return "";
  return fmt::format(
      "{} has {} for {}. NCCL's proxy threads and kernel launches need {} cores per rank; with "
      "fewer, transfers and small kernels are measured too slow. Use --cpus-per-task under srun, "
      "--bind-to none under mpirun",
      worst.host, counted_words(worst.cores, "core"), counted_words(worst.ranks, "GPU rank"),
      kCoresPerGpuRank);
}

std::vector<RankCores> cores_of_ranks(Communicator& world) {
  const std::set<std::string> mine = names_of_usable_cores();
  const std::string names = fmt::format("{}", fmt::join(mine, " "));
  const std::vector<std::string> hosts = hosts_of(world);
  const std::vector<double> counts = gathered(world, static_cast<double>(mine.size()));
  const std::vector<double> sets =
      gathered(world, static_cast<double>(std::hash<std::string>{}(names)));
  std::vector<RankCores> ranks;
  for (std::size_t r = 0; r < hosts.size(); ++r) {
    ranks.push_back({hosts[r], static_cast<int>(counts[r]), sets[r]});
  }
  return ranks;
}

}  // namespace meshwright::calibrate
