// SPDX-License-Identifier: Apache-2.0
#include "planner/shared_cluster/shared_capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "planner/capacity/limits.h"
#include "planner/shared_cluster/replicas_by_hour.h"

namespace meshwright::planner {
namespace {

constexpr int kTimesTheFile = 4;
constexpr std::int64_t kMostClusterGpus = 10'000'000;  // as --gpus takes

// Sizes that were asked for; a size that is no number of whole hosts is a row with its reason.
std::vector<SharedRow> asked_rows(const SharedInputs& in, TrainingCounts& counts) {
  std::vector<SharedRow> rows;
  const int each = counts.host_gpus();
  for (const int gpus : in.question.gpus) {
    if (gpus % each == 0) {
      rows.push_back(shared_row(in, counts, gpus / each, true));
    } else {
      SharedRow row{.cluster_case = in.cluster_case, .gpus = gpus};
      row.reason = fmt::format("{} GPUs are no whole number of hosts of {}", gpus, each);
      rows.push_back(row);
    }
  }
  return rows;
}

std::vector<SharedRow> refused_rows(const SharedInputs& in) {
  std::vector<SharedRow> rows;
  for (const int gpus : in.question.gpus) {
    SharedRow row{.cluster_case = in.cluster_case, .gpus = gpus};
    row.reason = in.service.reason;
    rows.push_back(row);
  }
  return rows;
}

// The smallest cluster beside the sizes that were asked for; one of these may be smaller than what
// the search found.
void add_smallest(std::vector<SharedRow>& rows, SmallestCluster& smallest) {
  for (const SharedRow& row : rows) {
    if (!row.keeps_limits() || (smallest.row && smallest.row->gpus <= row.gpus)) continue;
    smallest.row = row;
    smallest.nearest.reset();
  }
  const auto& found = smallest.row ? smallest.row : smallest.nearest;
  if (!found) return;
  const bool known = std::any_of(rows.begin(), rows.end(),
                                 [&](const SharedRow& row) { return row.gpus == found->gpus; });
  if (!known) rows.push_back(*found);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const SharedRow& a, const SharedRow& b) { return a.gpus < b.gpus; });
}

// The smallest row of each cluster that keeps all limits; of them the cheapest.
std::optional<std::size_t> recommended_row(const std::vector<SharedRow>& rows) {
  std::vector<std::size_t> smallest;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool first =
        smallest.empty() || rows[smallest.back()].cluster_case != rows[i].cluster_case;
    if (rows[i].keeps_limits() && first) smallest.push_back(i);
  }
  if (smallest.empty()) return std::nullopt;
  const bool priced = std::all_of(smallest.begin(), smallest.end(),
                                  [&](std::size_t i) { return rows[i].cost.has_value(); });
  double days = 0.0;  // of the training that ends last
  for (const std::size_t i : smallest) days = std::max(days, rows[i].days.p50);
  return *std::min_element(smallest.begin(), smallest.end(), [&](std::size_t a, std::size_t b) {
    return priced ? cost_over(rows[a], days) < cost_over(rows[b], days)
                  : rows[a].gpus < rows[b].gpus;
  });
}

// Fewest limits are broken, then fewest days.
std::optional<std::size_t> closest_row(const std::vector<SharedRow>& rows) {
  std::optional<std::size_t> closest;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].fits()) continue;
    const auto is_closer = [&](const SharedRow& a, const SharedRow& b) {
      if (a.broken_limits.size() != b.broken_limits.size()) {
        return a.broken_limits.size() < b.broken_limits.size();
      }
      return a.days.p90 < b.days.p90;
    };
    if (!closest || is_closer(rows[i], rows[*closest])) closest = i;
  }
  return closest;
}

}  // namespace

const SharedRow* SharedAnswer::front() const {
  if (recommended) return &rows[*recommended];
  return closest ? &rows[*closest] : nullptr;
}

double cost_over(const SharedRow& row, double days) {
  return row.cost->p50 + row.service_cost_per_day.value_or(0.0) * (days - row.days.p50);
}

int most_gpus_of(const CapacityQuestion& question, std::size_t cluster_case) {
  const std::int64_t file = question.clusters[cluster_case].cluster.num_gpus();
  int most = static_cast<int>(std::min(file * kTimesTheFile, kMostClusterGpus));
  for (const int gpus : question.gpus) most = std::max(most, gpus);
  if (question.options.limits.max_gpus) most = std::min(most, *question.options.limits.max_gpus);
  return most;
}

SharedAnswer shared_answer(const SharedQuestion& question, const CapacityProgress& progress) {
  SharedAnswer answer{.question = question};
  const CapacityQuestion& training = answer.question.training;
  for (std::size_t i = 0; i < training.clusters.size(); ++i) {
    if (progress) progress(i, training.clusters.size());
    SharedCluster& cluster = answer.clusters.emplace_back();
    cluster.service = service_by_hour(question.serving[i], question.service);
    const SharedInputs in{training, question.service, cluster.service, i};
    std::vector<SharedRow> rows;
    if (cluster.service.meets()) {
      TrainingCounts counts(training, i);
      rows = asked_rows(in, counts);
      cluster.smallest =
          smallest_cluster(in, counts, most_gpus_of(training, i) / counts.host_gpus());
      add_smallest(rows, *cluster.smallest);
      cluster.searched_gpus = counts.searched();
    } else {
      rows = refused_rows(in);
    }
    answer.rows.insert(answer.rows.end(), rows.begin(), rows.end());
  }
  answer.recommended = recommended_row(answer.rows);
  if (!answer.recommended) answer.closest = closest_row(answer.rows);
  return answer;
}

}  // namespace meshwright::planner
