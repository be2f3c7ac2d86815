// SPDX-License-Identifier: Apache-2.0
// A service that was run beside what is predicted of it: each of its steps, and the latencies of
// its requests.
//
// The prediction is of the engine that ran: its cache has as many blocks, and it composes a step
// when the one before it is over. Steps are predicted from what each of them really had; latencies
// by the event simulation of the load, for the requests that ran.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/serving/estimate.h"
#include "sim/serving/load.h"
#include "sim/serving/serving_observation.h"

namespace meshwright::planner {

struct ServiceAtHostSpeed {
  double step_error = 0, decode_error = 0, tpot_error = 0, ttft_error = 0;
  // Measured output tokens a second, as if the host had been as fast as in its profile.
  double tokens_per_second = 0;
};

struct ServingComparison {
  std::string name{};  // what ran (name_of_run)
  ServingObservation observation{};
  ServingMetrics predicted{}, measured{};
  // Steps without prompts, and with: medians of their times, and of |predicted / measured - 1|.
  struct Steps {
    int count = 0;
    Seconds predicted{}, measured{};
    double absolute_error = 0;
  };
  Steps decode{}, mixed{};
  Steps handover{};       // of a prompt's cache from pool to pool, from the room for it on
  double step_error = 0;  // median of |predicted / measured - 1| over all steps
  double tpot_error = 0, ttft_error = 0, throughput_error = 0;  // of means; TTFT: of medians
  // The same of predictions for a host of the observation's host_time_ratios; none: it has none.
  std::optional<ServiceAtHostSpeed> at_host_speed{};
  int unlike_steps = 0, unlike_handovers = 0;  // whose bytes are not the ledger's
  [[nodiscard]] bool same_bytes() const { return unlike_steps == 0 && unlike_handovers == 0; }
};

// "1 x tp2 + 2 x tp1": what ran, the prefill pool first.
std::string name_of_run(const ServingObservation& observation);

struct ServicesAtHostSpeed {
  double median_step_error = 0, median_tpot_error = 0, median_ttft_error = 0;
  double median_decode_error = 0, regret = 0;
};

struct ServingValidation {
  std::vector<ServingComparison> services{};
  std::vector<std::string> skipped{};  // those that did not run, with the reason
  double median_step_error = 0, median_tpot_error = 0, median_ttft_error = 0;
  // Of the median steps that only decode: what single steps scatter by is not in it.
  double median_decode_error = 0;
  // Output tokens a second and rank that the service predicted best loses against the best one.
  double regret = 0;
  // The same, corrected for the host's speed; none where a service lacks it.
  std::optional<ServicesAtHostSpeed> at_host_speed{};
};

// The scenario's options are those of each observation.
ServingValidation validate_serving(const ServingScenario& scenario, const ServingLoad& load,
                                   const std::vector<ServingObservation>& observations);

}  // namespace meshwright::planner
