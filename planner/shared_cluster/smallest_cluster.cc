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

// A smaller cluster takes longer: what is late on this one is late on those below it.
bool is_fast_enough(const SharedInputs& in, const SharedRow& row) {
  if (!row.fits()) return false;
  const auto allowed = days_allowed(in.question.options);
  return !allowed || row.days.p90 <= *allowed;
}

// The first rung that is fast enough; the ladder's size: none is.
std::size_t first_fast_enough(const SharedInputs& in, TrainingCounts& counts,
                              const ClusterSizes& sizes, const std::vector<int>& ladder) {
  std::size_t low = 0, high = ladder.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (is_fast_enough(in, shared_row(in, counts, sizes.with(ladder[middle]), false))) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// The first rung from there on that meets all limits; the ladder's size: none does. All GPUs are
// paid for until the training ends: a larger cluster may cost less. It never draws less power.
std::size_t first_within_limits(const SharedInputs& in, TrainingCounts& counts,
                                const ClusterSizes& sizes, const std::vector<int>& ladder,
                                std::size_t from) {
  const auto& megawatts = in.question.options.limits.max_megawatts;
  for (; from < ladder.size(); ++from) {
    const SharedRow row = shared_row(in, counts, sizes.with(ladder[from]), false);
    if (row.keeps_limits()) return from;
    if (megawatts && row.megawatts_high && *row.megawatts_high > *megawatts) return ladder.size();
  }
  return from;
}

// Tries whole hosts between the size that failed and the one that keeps the limits: from the
// smallest up; where there are more than may be tried, from what the GPU-hours say, up or down.
SharedRow refined(const SharedInputs& in, TrainingCounts& counts, const ClusterSizes& sizes,
                  std::pair<int, int> between, int& not_tried) {
  const auto at = [&](int hosts, bool exact) {
    return shared_row(in, counts, sizes.with(hosts), exact);
  };
  SharedRow best = at(between.second, false);
  const int smallest = between.first + 1;
  const auto allowed = days_allowed(in.question.options);
  int first = smallest;
  if (allowed && between.second - smallest > kMostCountsTried) {
    first = std::max(first, least_hosts(between.second, best.days.p90, *allowed));
  }
  int hosts = first, left = kMostCountsTried;
  bool found = first >= between.second;
  for (; !found && hosts < between.second && left > 0; --left) {
    SharedRow row = at(hosts, true);
    found = row.keeps_limits();
    if (found) {
      best = std::move(row);
    } else {
      ++hosts;
    }
  }
  if (!found || hosts > first) {
    not_tried = found ? 0 : between.second - hosts;
    return best;
  }
  for (--hosts; hosts >= smallest && left > 0; --hosts, --left) {
    SharedRow row = at(hosts, true);
    if (!row.keeps_limits()) return best;
    best = std::move(row);
  }
  not_tried = hosts - smallest + 1;
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
  const std::size_t fast = first_fast_enough(in, counts, sizes, ladder);
  const std::size_t rung = first_within_limits(in, counts, sizes, ladder, fast);
  if (rung < ladder.size()) {
    const int failed = rung == 0 ? ladder.front() - 1 : ladder[rung - 1];
    found.row = refined(in, counts, sizes, {failed, ladder[rung]}, found.hosts_not_tried);
  } else if (SharedRow largest = shared_row(in, counts, most_hosts, true); largest.keeps_limits()) {
    const int failed = ladder.empty() ? 0 : ladder.back();
    found.hosts_not_tried = std::max(0, most_hosts - sizes.with(failed) - 1);
    found.row = std::move(largest);
  } else if (fast < ladder.size()) {
    found.nearest = shared_row(in, counts, sizes.with(ladder[fast]), false);
  } else {
    found.nearest = std::move(largest);
  }
  for (auto* row : {&found.row, &found.nearest}) {
    if (*row) (*row)->asked = false;
  }
  return found;
}

}  // namespace meshwright::planner
