// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/node_count.h"

#include <fmt/format.h>

#include "sim/hardware/device_noun.h"

namespace meshwright {
namespace {

std::optional<NodeFill> fill_of_domains(const Cluster& cluster, std::int64_t gpus) {
  const std::int64_t domain = cluster.domain_size(), tray = cluster.gpus_per_tray;
  if (gpus <= tray) return NodeFill{static_cast<int>(gpus), 1};
  if (gpus % tray != 0) return std::nullopt;
  const std::int64_t trays = gpus / tray, least = (gpus + domain - 1) / domain;
  for (std::int64_t n = least; n == least || n * domain <= 2 * gpus; ++n) {
    if (trays % n == 0) return NodeFill{static_cast<int>(gpus / n), static_cast<int>(n)};
  }
  return std::nullopt;
}

// Whole domains are always a fill, so the way to one is at most a domain long.
int nearest_count(const Cluster& cluster, int gpus, int step) {
  do {
    gpus += step;
  } while (gpus > 0 && !node_fill(cluster, gpus));
  return gpus;
}

std::string count_text(const Cluster& cluster, int gpus) {
  const NodeFill fill = node_fill(cluster, gpus).value_or(NodeFill{});
  return fmt::format("{} ({} x {})", gpus, fill.num_nodes, fill.gpus_per_node);
}

}  // namespace

std::optional<NodeFill> node_fill(const Cluster& cluster, std::int64_t gpus) {
  if (gpus < 1) return std::nullopt;
  if (cluster.gpus_per_tray > 0) return fill_of_domains(cluster, gpus);
  const int node = cluster.gpus_per_node;
  if (gpus <= node) return NodeFill{static_cast<int>(gpus), 1};
  if (gpus % node != 0) return std::nullopt;
  return NodeFill{node, static_cast<int>(gpus / node)};
}

bool has_count(const Cluster& cluster, std::int64_t gpus) {
  const auto fill = node_fill(cluster, gpus);
  if (!fill) return false;
  return fill->num_nodes == 1 || gpus <= cluster.num_gpus() ||
         cluster.inter_node.bandwidth.value() > 0.0;
}

UnevenCount uneven_count(const Cluster& cluster, int gpus) {
  const int below = nearest_count(cluster, gpus, -1), above = nearest_count(cluster, gpus, 1);
  if (cluster.gpus_per_tray == 0) {
    return {
        fmt::format("{} devices are no whole number of nodes of {}", gpus, cluster.gpus_per_node),
        fmt::format("use {} or {}", below, above)};
  }
  return {fmt::format("{} devices do not fill NVLink domains of {} evenly with whole trays of {}",
                      gpus, cluster.domain_size(), cluster.gpus_per_tray),
          fmt::format("use {} or {} (domains x devices)", count_text(cluster, below),
                      count_text(cluster, above))};
}

std::string used_share_text(const Cluster& cluster) {
  const int used = cluster.gpus_per_node, all = cluster.domain_size();
  if (used >= all) return "";
  return fmt::format("{} of {} NVLink domain's {} {} are used.", used,
                     cluster.num_nodes > 1 ? "each" : "the", all, device_noun(cluster, all));
}

}  // namespace meshwright
