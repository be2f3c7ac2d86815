// SPDX-License-Identifier: Apache-2.0
// A training run and a service on one cluster of a stated size.
//
// The service comes first: it holds the hosts that its load curve needs. A fixed training uses the
// hosts that are free in every hour. An elastic training uses those of the hour, and restarts from
// a checkpoint whenever its count changes; the global batch stays.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/shared_cluster/service_by_hour.h"
#include "planner/shared_cluster/training_counts.h"

namespace meshwright::planner {

// What a planned change of the count costs the training: the pause and the write of a save, the
// restart of its processes, the load. Nothing has to be detected.
Seconds resize_time(const Disruption& disruption);

// Hours that are lost in each hour, from those that the change at its start takes. What does not
// fit into an hour is lost in the hours after it; the hours repeat.
std::vector<double> lost_by_hour(const std::vector<double>& resize_hours);

// An hour of an elastic training.
struct ElasticHour {
  double days = 0.0;        // of the whole run on the hour's count; 0: it does not train
  double lost_hours = 0.0;  // for changes of the count; at most 1
};
// days = hours / 24 / sum over the hours of (1 - lost) / (24 days); the hours repeat. Nothing: no
// hour trains.
std::optional<double> elastic_days(const std::vector<ElasticHour>& hours);

// Money for a million tokens, prompts and answers: GPU-hours x price / tokens x 10^6.
double cost_per_million_tokens(double gpu_hours, double price, double tokens);

// The quantiles with another median and the same relative width.
Quantiles scaled_quantiles(const Quantiles& quantiles, double factor);

// GPUs of one hour; they add up to the cluster's.
struct SharedHour {
  int service_gpus = 0;  // in whole hosts
  int training_gpus = 0;
  int spare_gpus = 0;  // of the training
  int free_gpus = 0;   // neither serves nor trains
};

// Shares of the cluster's GPU-hours; they add up to 1.
struct SharedShares {
  double service = 0.0, training = 0.0, spare = 0.0, free = 0.0;
};

struct SharedRow {
  std::size_t cluster_case = 0;
  int gpus = 0;          // of the whole cluster
  bool asked = true;     // else found as the smallest
  std::string reason{};  // why both are not possible; empty: they are
  std::vector<SharedHour> hours{};
  TrainingGpus training_gpus = TrainingGpus::fixed;  // that was taken: the faster one
  int resizes = 0;                                   // changes of the training's count in a period
  Seconds lost_to_resizes{};                         // in a period
  CapacityRow training{};  // on the count of most hours; its days are those without changes
  Quantiles days{};        // of the training
  // While the training lasts, of all GPUs.
  std::optional<Quantiles> cost{}, energy_mwh{};
  std::optional<double> megawatts_high{};
  SharedShares shares{};
  double service_load = 0.0;  // mean load of the replicas that are held
  // GPU-hours of the service are those of its hosts.
  std::optional<double> service_cost_per_day{}, million_tokens{};
  std::vector<std::string> broken_limits{};
  [[nodiscard]] bool fits() const { return reason.empty(); }
  [[nodiscard]] bool keeps_limits() const { return fits() && broken_limits.empty(); }
};

// One cluster of a question: what its rows share.
struct SharedInputs {
  const CapacityQuestion& question;
  const ServiceOptions& options;
  const ServiceByHour& service;  // meets its targets
  std::size_t cluster_case = 0;
};

// Hosts of the service in each hour.
std::vector<int> service_hosts(const SharedInputs& in, int host_gpus);

// `hosts`: of the whole cluster. `exact`: the training may also use a count that is not round.
SharedRow shared_row(const SharedInputs& in, TrainingCounts& counts, int hosts, bool exact);

}  // namespace meshwright::planner
