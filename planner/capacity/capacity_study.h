// SPDX-License-Identifier: Apache-2.0
// One cluster, GPU count and global batch: the best layout, and what a training run takes with it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planner/capacity/options.h"
#include "planner/capacity/training_run.h"
#include "planner/search/search.h"
#include "planner/search/space.h"
#include "sim/step/estimate.h"
#include "sim/step/scenario.h"

namespace meshwright::planner {

struct ClusterCase {
  std::string name;  // as it was asked for
  Cluster cluster;
  Job job;              // under the cluster's framework; the rows say its batch
  std::string label{};  // for people; empty: the name
  std::string note{};   // what its profile has no measurement of; empty: nothing missing
  std::string file{};   // as it was typed; empty: the name
};

struct CapacityQuestion {
  Model model{};
  std::string model_file{};  // as it was typed or as the job names it
  std::vector<ClusterCase> clusters{};
  std::vector<int> gpus{};
  std::vector<int> global_batch_sizes{};  // beside the options' schedule, where there is one
  bool with_schedule = true;              // rows of the schedule; a plan is of one batch
  std::optional<double> train_tokens{};   // nothing: rows are of kSampleTokens
  CapacityOptions options{};
  std::vector<std::string> what_ifs{};  // as typed, of every row
  // Nothing is searched where there are any: one for all phases or one a phase. Data-parallel ranks
  // fill the GPUs.
  std::vector<StatedLayout> layouts{};
  std::optional<StatedLayout> reference_layout{};  // of the options' reference run
  // The layout of a plan that this belongs to: it stands in the row of its GPU count.
  std::optional<Estimate> planned{};
  // The one count that was asked for: other counts are compared with it, never recommended.
  std::optional<int> asked_gpus{};
  bool batch_follows = false;  // a count is judged with a batch near the stated one
  bool refines = false;        // counts around a limit are tried
  bool any_gpus = false;       // nobody named the counts: fewer than the least are tried, too
  SearchOptions search{};
  [[nodiscard]] double tokens() const;
  // For texts about all clusters: cpu if all devices are cores.
  [[nodiscard]] DeviceKind device_kind() const;
};
// A round number, so that a question without a training length has the same rows: what counts there
// is the time of a step and tokens a second.
inline constexpr double kSampleTokens = 1e12;

// Steps that are alike, with the layout that is fastest for them.
struct CapacityPhase {
  double tokens = 0.0;
  double steps = 0.0;
  Job job;
  Estimate estimate;
};

struct CapacityRow {
  std::size_t cluster_case = 0;  // of the question's clusters
  int gpus = 0;
  bool scheduled = false;     // with the options' schedule, not with one batch
  bool between = false;       // of a count around a limit, which the question does not name
  int stated_batch_size = 0;  // of the question; the row's may be near it
  int asked_batch_size = 0;   // before a what-if changed it
  int global_batch_size = 0;  // of the phase with most tokens
  int seq_length = 0;
  std::string reason{};  // why there is no run; empty: there is one
  std::vector<CapacityPhase> phases{};
  std::optional<Ranged> price{};
  std::optional<Ranged> kilowatts{};  // a GPU
  TrainingRun run{};
  double memory_share = 0.0;                 // of the device's, on the fullest
  Quantiles tokens_per_second{};             // over the elapsed time
  std::vector<std::string> broken_limits{};  // in words
  double efficiency =
      0.0;  // GPU-hours of the fewest GPUs that fit (same cluster, batch) over these
  [[nodiscard]] bool fits() const { return reason.empty(); }
  [[nodiscard]] bool keeps_limits() const { return fits() && broken_limits.empty(); }
  [[nodiscard]] const CapacityPhase& main_phase() const;
};
// Steps of a phase as the closed forms read them.
RunPhase run_phase_of(const CapacityPhase& phase);

// A layout that was named, on so many GPUs: data-parallel ranks fill them. Nothing where its other
// sizes do not divide them.
std::optional<Layout> filled(StatedLayout stated, int gpus, const FeatureLimits& limits);

// One search: what a row's phase needs to be known for.
struct SearchKey {
  std::size_t cluster_case = 0;
  int gpus = 0;
  int global_batch_size = 0;
  int seq_length = 0;
  std::size_t phase = 0;   // which of the question's layouts, where there are any
  std::string what_ifs{};  // with commas
  auto operator<=>(const SearchKey&) const = default;
};

using CapacityProgress = std::function<void(std::size_t done, std::size_t total)>;

// The fastest layout of each key, or why there is none. Every key is searched once; independent
// searches run side by side.
class LayoutFinder {
 public:
  explicit LayoutFinder(const CapacityQuestion& question);
  ~LayoutFinder();
  // Throws InputError for a what-if that cannot be read.
  void find(const std::vector<SearchKey>& keys, const CapacityProgress& progress = {});
  // For a key that was found.
  [[nodiscard]] const Estimate* layout(const SearchKey& key) const;
  [[nodiscard]] const std::string& reason(const SearchKey& key) const;
  [[nodiscard]] Scenario scenario(const SearchKey& key) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// One row of the grid; `question` may differ from the finder's in its options.
struct RowKey {
  std::size_t cluster_case = 0;
  int gpus = 0;
  int global_batch_size = 0;
  std::string what_ifs{};
  bool scheduled = false;
};
// The searches that a row needs: one a phase.
std::vector<SearchKey> searches_of(const CapacityQuestion& question, const RowKey& key);
// From what was found.
CapacityRow row_of(const CapacityQuestion& question, const RowKey& key, const LayoutFinder& finder);

}  // namespace meshwright::planner
