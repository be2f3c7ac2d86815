// SPDX-License-Identifier: Apache-2.0
#include "planner/shared_cluster/training_counts.h"

#include <algorithm>

#include "planner/capacity/failures.h"
#include "planner/shared_cluster/replicas_by_hour.h"
#include "sim/hardware/node_count.h"

namespace meshwright::planner {
namespace {

// The batches of the question, and its schedule, on one count.
std::vector<RowKey> keys_of_count(const CapacityQuestion& question, std::size_t cluster_case,
                                  int gpus) {
  std::vector<RowKey> keys;
  const std::vector<BatchPhase>& schedule = question.options.schedule;
  if (!schedule.empty() && question.with_schedule) {
    keys.push_back({cluster_case, gpus, schedule.back().global_batch_size, {}, true});
  }
  for (const int batch : question.global_batch_sizes) {
    keys.push_back({cluster_case, gpus, batch, {}, false});
  }
  return keys;
}

bool ends_earlier(const CapacityRow& row, const CapacityRow& other) {
  if (row.fits() != other.fits()) return row.fits();
  return row.fits() && row.run.days.p50 < other.run.days.p50;
}

}  // namespace

std::vector<int> round_counts(int most) {
  std::vector<int> counts;
  for (std::int64_t power = 1; power <= most; power *= 2) {
    counts.push_back(static_cast<int>(power));
    if (power >= 2 && power / 2 * 3 <= most) counts.push_back(static_cast<int>(power / 2 * 3));
  }
  std::sort(counts.begin(), counts.end());
  return counts;
}

int hosts_of_spares(int nodes, int host_gpus) {
  return (nodes * kGpusOfAReportedNode + host_gpus - 1) / host_gpus;
}

TrainingCounts::TrainingCounts(const CapacityQuestion& question, std::size_t cluster_case)
    : question_(question),
      cluster_case_(cluster_case),
      host_gpus_(gpus_of_host(question.clusters[cluster_case].cluster)),
      finder_(question) {}

const CapacityRow& TrainingCounts::at(int gpus) {
  const auto known = rows_.find(gpus);
  if (known != rows_.end()) return known->second;
  const std::vector<RowKey> keys = keys_of_count(question_, cluster_case_, gpus);
  std::vector<SearchKey> searches;
  for (const RowKey& key : keys) {
    for (const SearchKey& search : searches_of(question_, key)) searches.push_back(search);
  }
  finder_.find(searches);
  std::vector<CapacityRow> rows;
  for (const RowKey& key : keys) rows.push_back(row_of(question_, key, finder_));
  return rows_[gpus] = *std::min_element(rows.begin(), rows.end(), ends_earlier);
}

int TrainingCounts::spare_hosts(int hosts) const {
  const FailureOptions& failures = question_.options.failures;
  const int nodes = failures.spare_nodes.value_or(
      spare_nodes(hosts * host_gpus_, failures.per_thousand_node_days.value,
                  failures.repair_days.value, failures.spares_target.value));
  return hosts_of_spares(nodes, host_gpus_);
}

// Both the run and its spares grow with the count.
int TrainingCounts::largest_with_spares(int hosts) const {
  int low = 0, high = std::max(0, hosts);  // low is possible
  while (low < high) {
    const int middle = low + (high - low + 1) / 2;
    if (middle + spare_hosts(middle) <= hosts) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

const CapacityRow* TrainingCounts::within(int hosts, bool exact) {
  const Cluster& cluster = question_.clusters[cluster_case_].cluster;
  std::vector<int> counts = round_counts(std::max(0, hosts));
  std::erase_if(counts, [&](int count) { return count + spare_hosts(count) > hosts; });
  const int largest = exact ? largest_with_spares(hosts) : 0;
  if (largest > 0 && (counts.empty() || counts.back() != largest)) counts.push_back(largest);
  reason_ = counts.empty() ? "no host is left beside the service and the spares" : "";
  // The largest counts first; smaller ones only as long as nothing fits.
  const std::size_t compared = exact ? 3 : 2;
  const CapacityRow* best = nullptr;
  for (std::size_t i = 0; i < counts.size() && (best == nullptr || i < compared); ++i) {
    const int gpus = counts[counts.size() - 1 - i] * host_gpus_;
    if (!has_count(cluster, gpus)) continue;
    const CapacityRow& row = at(gpus);
    if (!row.fits()) {
      if (reason_.empty()) reason_ = row.reason;
    } else if (best == nullptr || ends_earlier(row, *best)) {
      best = &row;
    }
  }
  if (best == nullptr && reason_.empty()) reason_ = "no count of whole hosts is possible";
  return best;
}

std::vector<int> TrainingCounts::searched() const {
  std::vector<int> counts;
  for (const auto& entry : rows_) counts.push_back(entry.first);
  return counts;
}

}  // namespace meshwright::planner
