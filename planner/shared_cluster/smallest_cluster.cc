// SPDX-License-Identifier: Apache-2.0
#include "planner/shared_cluster/smallest_cluster.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "planner/capacity/limits.h"
#include "planner/shared_cluster/replicas_by_hour.h"

namespace meshwright::planner {
namespace {

// Hosts of the cluster for so many of a training, beside the service's peak.
struct ClusterSizes {
  int of_service = 0;
  const TrainingCounts& counts;
  [[nodiscard]] int with(int training) const {
    return of_service + training + (training > 0 ? counts.spare_hosts(training) : 0);
  }
};

// Hosts of a training to try first, ascending; 0: it trains only where the service leaves hosts.
std::vector<int> training_ladder(const SharedInputs& in, const ClusterSizes& sizes,
                                 int most_hosts) {
  std::vector<int> ladder = round_counts(std::max(0, most_hosts - sizes.of_service));
  std::erase_if(ladder, [&](int hosts) { return sizes.with(hosts) > most_hosts; });
  const bool elastic = in.options.training_gpus == TrainingGpus::elastic;
  if (elastic && sizes.of_service <= most_hosts) ladder.insert(ladder.begin(), 0);
  return ladder;
}

// What a larger cluster does not mend is no sign that a smaller one is too small.
bool is_large_enough(const SharedInputs& in, const SharedRow& row) {
  if (!row.fits()) return false;
  const auto allowed = days_allowed(in.question.options);
  return !allowed || row.days.p90 <= *allowed;
}

// The first rung that is large enough; the ladder's size: none is.
std::size_t first_large_enough(const SharedInputs& in, TrainingCounts& counts,
                               const ClusterSizes& sizes, const std::vector<int>& ladder) {
  std::size_t low = 0, high = ladder.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (is_large_enough(in, shared_row(in, counts, sizes.with(ladder[middle]), false))) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// From the size that failed to the one that is large enough, smallest first.
SharedRow refined(const SharedInputs& in, TrainingCounts& counts, const ClusterSizes& sizes,
                  std::pair<int, int> between, int& not_tried) {
  SharedRow best = shared_row(in, counts, sizes.with(between.second), false);
  const auto allowed = days_allowed(in.question.options);
  int first = between.first + 1;
  const bool fixed = in.options.training_gpus == TrainingGpus::fixed;
  if (allowed && fixed)
    first = std::max(first, least_hosts(between.second, best.days.p90, *allowed));
  int tried = 0;
  for (int hosts = first; hosts < between.second; ++hosts) {
    if (tried == kMostCountsTried) {
      not_tried = between.second - hosts;
      break;
    }
    ++tried;
    SharedRow row = shared_row(in, counts, sizes.with(hosts), true);
    if (is_large_enough(in, row)) return row;
  }
  return best;
}

}  // namespace

int least_hosts(int hosts, double days, double allowed) {
  return std::max(1, static_cast<int>(std::ceil(hosts * days / allowed - 1e-9)));
}

SmallestCluster smallest_cluster(const SharedInputs& in, TrainingCounts& counts, int most_hosts) {
  SmallestCluster found{.most_gpus = most_hosts * counts.host_gpus()};
  if (most_hosts < 1) return found;
  const std::vector<int> serving = service_hosts(in, counts.host_gpus());
  const ClusterSizes sizes{*std::max_element(serving.begin(), serving.end()), counts};
  const std::vector<int> ladder = training_ladder(in, sizes, most_hosts);
  const std::size_t rung = first_large_enough(in, counts, sizes, ladder);
  if (rung == ladder.size()) {
    found.nearest = shared_row(in, counts, most_hosts, false);
  } else {
    const int failed = rung == 0 ? ladder.front() - 1 : ladder[rung - 1];
    found.row = refined(in, counts, sizes, {failed, ladder[rung]}, found.hosts_not_tried);
    if (!found.row->keeps_limits()) {
      found.nearest = std::move(found.row);
      found.row.reset();
    }
  }
  for (auto* row : {&found.row, &found.nearest}) {
    if (*row) (*row)->asked = false;
  }
  return found;
}

}  // namespace meshwright::planner
