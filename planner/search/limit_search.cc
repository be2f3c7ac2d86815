// SPDX-License-Identifier: Apache-2.0
#include "planner/search/limit_search.h"

#include <algorithm>
#include <cstdlib>

#include "sim/hardware/node_count.h"

namespace meshwright::planner {
namespace {

constexpr int kStepsOfAWhole = 50;  // 2 %

bool are_near(LimitPair pair, int step) {
  const int gap = std::abs(pair.works - pair.failed);
  return gap <= step || gap <= std::max(pair.works, pair.failed) / kStepsOfAWhole;
}

bool is_between(int value, LimitPair pair) {
  return value > std::min(pair.failed, pair.works) && value < std::max(pair.failed, pair.works);
}

}  // namespace

std::optional<int> value_between(LimitPair pair, int step) {
  if (are_near(pair, step)) return std::nullopt;
  const int middle = pair.failed + (pair.works - pair.failed) / 2;
  for (const int value : {middle / step * step, middle / step * step + step}) {
    if (is_between(value, pair)) return value;
  }
  return std::nullopt;
}

std::optional<int> count_between(LimitPair pair, const Cluster& cluster) {
  if (are_near(pair, cluster.domain_size())) return std::nullopt;
  const int unit = cluster.gpus_per_tray > 0 ? cluster.gpus_per_tray : cluster.gpus_per_node;
  const auto middle = value_between(pair, unit);
  if (!middle) return std::nullopt;
  for (int away = 0; is_between(*middle - away, pair) || is_between(*middle + away, pair);
       away += unit) {
    for (const int count : {*middle - away, *middle + away}) {
      if (is_between(count, pair) && has_count(cluster, count)) return count;
    }
  }
  return std::nullopt;
}

LimitPair narrowed(LimitPair pair, const std::function<std::optional<int>(LimitPair)>& between,
                   const std::function<bool(int)>& works) {
  while (const auto value = between(pair)) (works(*value) ? pair.works : pair.failed) = *value;
  return pair;
}

}  // namespace meshwright::planner
