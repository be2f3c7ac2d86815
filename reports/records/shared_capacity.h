// SPDX-License-Identifier: Apache-2.0
// What meshwright capacity answers for a job file that holds a training and a service: GPUs by
// hour, what is left, cost, and the smallest cluster that does both.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/shared_cluster/shared_capacity.h"
#include "reports/records/capacity.h"

namespace meshwright::reports {

inline constexpr std::string_view kSharedCapacitySchema = "meshwright.shared_capacity/1";

// The service on one of the clusters.
struct SharedServiceFacts {
  std::string cluster{};       // as it was asked for
  std::string cluster_name{};  // as its file says
  std::string device{};
  bool meets = false;
  std::string reason{};                       // why it does not; empty: it does
  std::optional<double> times_over_target{};  // of the nearest deployment
  // Where it meets the targets.
  std::string replica{};     // its layout
  std::string deployment{};  // at the peak
  int gpus_of_replica = 0, gpus_of_host = 0;
  double rate_of_replica = 0.0;  // requests a second
  int lead_hours = 0;
  std::vector<planner::ServiceHour> hours{};
  // The smallest cluster.
  std::optional<int> smallest_gpus{};
  int most_gpus = 0, hosts_not_tried = 0;
  std::vector<int> searched_gpus{};  // counts of the training
};

// The training and the service on a cluster of one size.
struct SharedRowFacts {
  std::string id{};  // cluster/gpus
  std::string cluster{};
  int gpus = 0;
  bool asked = false, recommended = false, fits = false;
  std::string reason{};               // why both are not possible; empty: they are
  std::vector<std::string> limits{};  // that fail
  // Where both are possible.
  planner::TrainingGpus rule = planner::TrainingGpus::fixed;
  int training_gpus = 0;  // in most hours
  int global_batch = 0;
  std::string layout{};  // brief name
  StepRange step{};
  double mfu = 0.0, goodput = 0.0;  // likewise
  int resizes = 0;
  Seconds lost_to_resizes{};
  planner::Quantiles days{};
  std::optional<DateQuantiles> done{};
  std::optional<planner::Quantiles> cost{}, energy_mwh{};
  std::optional<double> power_mw_high{};
  planner::SharedShares shares{};
  double service_load = 0.0;
  std::optional<double> service_cost_per_day{}, million_tokens{};
  std::vector<planner::SharedHour> hours{};
};

struct SharedCapacity {
  double train_tokens = 0.0;
  DeviceKind device_kind = DeviceKind::gpu;
  std::optional<std::string> start{};
  int period_hours = planner::kHoursOfADay;
  std::string headline{};  // the decision in one line
  std::string verdict{};
  std::optional<std::string> recommended{}, closest{};  // ids of rows
  LimitFacts limits{};
  std::optional<PriceFacts> prices{};
  std::string currency{};
  std::vector<SharedServiceFacts> services{};  // one a cluster
  std::vector<SharedRowFacts> rows{};
  std::vector<std::string> rules{};        // by which GPUs are shared
  std::vector<std::string> assumptions{};  // values that the job does not state
  std::vector<std::string> not_included{};

  [[nodiscard]] const SharedRowFacts* front() const;
  [[nodiscard]] const SharedServiceFacts* service_of(const SharedRowFacts& row) const;
};

struct SharedCapacityFile {
  Origin origin{};
  Model model{};
  Job job{};
  planner::ServiceOptions service{};
  std::vector<std::string> notes{};
  SharedCapacity shared_capacity{};
};

const Record<SharedCapacity>& shared_capacity_record();
const Record<SharedCapacityFile>& shared_capacity_file_record();

SharedCapacity shared_capacity_of(const planner::SharedAnswer& answer);
SharedCapacityFile shared_capacity_file_of(const planner::SharedAnswer& answer,
                                           const Origin& origin);

}  // namespace meshwright::reports
