// SPDX-License-Identifier: Apache-2.0
#include "calibrate/sweep.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace meshwright::calibrate {
namespace {

auto key(const GemmVariant& v) {
  return std::make_tuple(v.shape.batch, v.shape.m, v.shape.n, v.shape.k, v.transpose_a,
                         v.transpose_b, v.accumulate);
}

std::vector<int> ranks_per_node(const std::vector<int>& node_of_rank) {
  std::vector<int> count;
  for (const int node : node_of_rank) {
    count.resize(std::max(count.size(), static_cast<std::size_t>(node) + 1));
    ++count[static_cast<std::size_t>(node)];
  }
  return count;
}

// Number of each rank among those of its node.
std::vector<int> local_numbers(const std::vector<int>& node_of_rank) {
  std::vector<int> seen(node_of_rank.size()), local;
  for (const int node : node_of_rank) local.push_back(seen[static_cast<std::size_t>(node)]++);
  return local;
}

GroupPlan inside(const std::vector<int>& node_of_rank, int per_node, int size) {
  const std::vector<int> local = local_numbers(node_of_rank);
  GroupPlan plan{.group_size = size, .tier = Tier::intra_node, .color_of_rank = {}};
  for (std::size_t rank = 0; rank < local.size(); ++rank) {
    const int group = local[rank] / size;
    const bool whole = (group + 1) * size <= per_node;
    plan.color_of_rank.push_back(whole ? node_of_rank[rank] * per_node + group : -1);
  }
  return plan;
}

GroupPlan across(const std::vector<int>& node_of_rank, int per_node, int size) {
  const std::vector<int> local = local_numbers(node_of_rank);
  const bool one_a_node = size <= per_node || per_node == 1;
  GroupPlan plan{.group_size = size, .tier = Tier::inter_node, .color_of_rank = {}};
  for (std::size_t rank = 0; rank < local.size(); ++rank) {
    const int number =
        one_a_node ? (local[rank] == 0 ? node_of_rank[rank] : size) : static_cast<int>(rank);
    plan.color_of_rank.push_back(number < size ? 0 : -1);
  }
  return plan;
}

}  // namespace

std::vector<GemmVariant> general_gemms(int num_multiprocessors) {
  // A core reaches its rate at a few hundred; a GPU needs thousands to fill it.
  const std::int64_t scale = num_multiprocessors > 1 ? 4 : 1;
  std::vector<GemmVariant> gemms;
  for (const std::int64_t m : {128, 512, 2048}) {
    for (const std::int64_t n : {128, 512, 2048}) {
      for (const std::int64_t k : {128, 512, 2048}) {
        gemms.push_back({.shape = {1, m * scale, n * scale, k * scale}});
      }
    }
  }
  for (const std::int64_t m : {1, 8, 32}) gemms.push_back({.shape = {1, m, 1024, 1024}});
  gemms.push_back({.shape = {1, 1024 * scale, 1024 * scale, 1024 * scale}});
  return ordered_gemms(std::move(gemms));
}

std::vector<GemmVariant> ordered_gemms(std::vector<GemmVariant> gemms) {
  std::set<decltype(key(gemms.front()))> seen;
  std::erase_if(gemms, [&](const GemmVariant& v) { return !seen.insert(key(v)).second; });
  std::stable_sort(gemms.begin(), gemms.end(), [](const GemmVariant& a, const GemmVariant& b) {
    return gemm_flops(a.shape) > gemm_flops(b.shape);
  });
  return gemms;
}

std::vector<Bytes> payloads(Bytes largest) {
  std::vector<Bytes> sizes;
  for (Bytes size = kibibytes(1); size <= largest; size *= 2.0) sizes.push_back(size);
  return sizes;
}

std::vector<int> node_numbers(const std::vector<std::string>& host_of_rank) {
  std::vector<std::string> hosts;
  std::vector<int> numbers;
  for (const std::string& host : host_of_rank) {
    const auto found = std::find(hosts.begin(), hosts.end(), host);
    numbers.push_back(static_cast<int>(found - hosts.begin()));
    if (found == hosts.end()) hosts.push_back(host);
  }
  return numbers;
}

std::vector<GroupPlan> group_plans(const std::vector<int>& node_of_rank) {
  const std::vector<int> counts = ranks_per_node(node_of_rank);
  const int per_node = *std::min_element(counts.begin(), counts.end());
  const int nodes = static_cast<int>(counts.size());
  std::vector<GroupPlan> plans;
  for (int size = 2; size <= per_node; ++size) {
    const bool power_of_two = (size & (size - 1)) == 0;
    if (power_of_two || per_node % size == 0) {
      plans.push_back(inside(node_of_rank, per_node, size));
    }
  }
  for (int size = 2; size <= nodes && size <= std::max(per_node, per_node == 1 ? nodes : 0);
       size *= 2) {
    plans.push_back(across(node_of_rank, per_node, size));
  }
  if (per_node > 1) {
    for (int used = 2; used <= nodes; used *= 2) {
      plans.push_back(across(node_of_rank, per_node, used * per_node));
    }
  }
  return plans;
}

}  // namespace meshwright::calibrate
