// SPDX-License-Identifier: Apache-2.0
// meshwright trial of what serve --format json writes.
#pragma once

#include <optional>
#include <string>

#include "app/console/call.h"
#include "app/options/rank_options.h"
#include "reports/records/origin.h"
#include "sim/base/numerics.h"
#include "sim/record/json.h"

namespace meshwright::app {

bool is_serving_plan(const Json& plan);

struct ServingTrialQuestion {
  std::string plan, out, profile;  // files; profile: empty, or the plan's
  int top = 0;                     // deployments, best first; 0: the default
  double time_limit = 60.0;
  std::optional<Precision> precision;
  std::uint64_t seed = 1234;
  RankOptions ranks;
};
// `origin`: with the fingerprint of the plan.
int run_serving_trial_command(const Json& plan, ServingTrialQuestion question,
                              const reports::Origin& origin, const Call& call);

}  // namespace meshwright::app
