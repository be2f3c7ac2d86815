// SPDX-License-Identifier: Apache-2.0
// What tokens of a service cost, in money and energy.
//
//   money a second        GPUs * price / 3,600
//   $ a million of output money * (1 - s) / (X O) * 10^6;  of input: money * s / (X I) * 10^6
//   all kWh a million of output  GPUs * kW * PUE / (3,600 X O) * 10^6
// s is the share of the service's time that prompts take: of a mean step (aggregated), or of the
// GPUs (disaggregated). GPUs are paid by the hour, used or not. Power: power_at_load at the share
// of the largest rate that is used.
#pragma once

#include <optional>

#include "planner/capacity/options.h"
#include "planner/serving/deployment.h"

namespace meshwright::planner {

struct ServingMoney {
  double per_hour = 0;                                        // all GPUs
  Ranged million_output{}, million_input{}, million_total{};  // currency
};

// What a service does while it is paid for.
struct ServedTokens {
  int gpus = 1;
  double requests_per_second = 0;
  double input = 0, output = 0;  // tokens of a request
  double prompt_share = 0;       // of the time
  double relative_spread = 0;    // of the rate that these GPUs serve
};
ServingMoney serving_money(const ServedTokens& served, const Ranged& price_per_gpu_hour);
// kWh of prompts and answers over a million output tokens; `load`: share of the largest rate.
Ranged serving_energy(const ServedTokens& served, const Ranged& kilowatts_per_gpu,
                      const PowerOptions& power, double load);

// Energy as money is split: prompts take their share of the time.
//   kWh a million of input   total * s / (X I), of output total * (1 - s) / (X O)
struct ServingEnergy {
  Ranged kilowatts{};                                         // all GPUs, with PUE
  Ranged million_input{}, million_output{}, million_total{};  // kWh
};
ServingEnergy split_energy(const ServedTokens& served, const Ranged& kilowatts_per_gpu,
                           const PowerOptions& power, double load);

// Share of the time that prompts take.
double prompt_share(const Deployment& deployment, const ServiceState& state);

}  // namespace meshwright::planner
