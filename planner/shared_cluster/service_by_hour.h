// SPDX-License-Identifier: Apache-2.0
// A service with a load curve: its replicas in every hour.
//
// The layout is searched once, at the peak of the curve. Replicas of that layout follow the rate of
// the hour. With a percentile the replicas of each hour are simulated at the largest rate of the
// hour, and one is added until the targets are met.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/serving/serving_search.h"
#include "planner/shared_cluster/service_options.h"

namespace meshwright::planner {

struct ServiceHour {
  double requests_per_second = 0.0;       // mean of the hour
  double peak_requests_per_second = 0.0;  // largest of the hour
  int replicas = 0;                       // that the largest rate needs
  int held_replicas = 0;                  // that have GPUs: also those that start, or stay
  // On `replicas`, at the largest rate: means, and at the percentile where one is asked.
  std::optional<Seconds> ttft{}, tpot{}, ttft_at_percentile{}, tpot_at_percentile{};
  double load = 0.0;  // mean rate over the largest rate of the held replicas
};

struct ServiceByHour {
  std::string reason{};  // why no deployment meets the targets; empty: one does
  std::optional<double> times_over_target{};  // of the nearest one, where none does
  ServingChoice peak{};                       // the deployment at the peak
  int gpus_of_replica = 0;
  double rate_of_replica = 0.0;  // requests a second within the targets, of means
  int lead_hours = 0;            // before a replica's first request
  std::vector<ServiceHour> hours{};
  [[nodiscard]] bool meets() const { return reason.empty(); }
  [[nodiscard]] int most_held() const;
};

// `question` has the load's lengths, the targets and the space; its rate is set here.
ServiceByHour service_by_hour(ServingQuestion question, const ServiceOptions& options);

}  // namespace meshwright::planner
