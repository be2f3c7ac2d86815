// SPDX-License-Identifier: Apache-2.0
// What a capacity question says on the command line, and in the part "capacity" of a job file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/options/inputs.h"
#include "app/options/space_options.h"
#include "planner/capacity/capacity_study.h"
#include "planner/shared_cluster/service_options.h"

namespace meshwright::app {

struct Call;

// Money and limits, which `plan` takes, too.
struct MoneyOptions {
  std::string prices;
  std::optional<double> price;
  std::optional<double> failure_rate;  // per 1,000 node-days
  // Seconds of a restart and of a save's pause, GB/s of a node's storage, PUE.
  std::optional<double> restart_time, save_time, storage, pue;
  std::optional<int> spare_nodes;
  std::optional<double> step_factor, day_worth, lead_time_days;
  std::string start, deadline;  // a day; days, or a day
  std::optional<double> budget, max_megawatts;
};

struct CapacityTexts {
  InputOptions inputs;  // of every cluster: model, framework, job and its overrides
  std::vector<std::string> clusters;
  std::vector<int> gpus;
  std::vector<std::string> global_batch_sizes;  // sequences, or "schedule": the job's
  MoneyOptions money;
  std::optional<int> max_gpus;
  std::vector<std::string> what_ifs, layouts;
  std::string headroom;
  SpaceOptions space;
  bool fixed_batch = false;
  bool fixed_gpus = false;
  bool rows_only = false;
};

void add_capacity_options(Command& command, CapacityTexts& texts);
void add_money_options(Command& command, MoneyOptions& money);

// A capacity question, and the service of its job file where there is one.
struct CapacityRequest {
  planner::CapacityQuestion question{};
  std::optional<planner::ServiceOptions> service{};
  std::string job_file{};
};
// Throws InputError that names the flag. With a service the GPU counts are sizes of the whole
// cluster; default: that of the first cluster.
CapacityRequest capacity_request_of(const CapacityTexts& texts, reports::Origin& origin);

// Returns the capacity question of a plan, whose cluster, job and search are known. GPU counts are
// those of the plan, or half, all and twice its own. Returns nothing if the job states no
// train_tokens.
std::optional<planner::CapacityQuestion> capacity_question_of(const Inputs& inputs,
                                                              const InputOptions& asked,
                                                              const MoneyOptions& money,
                                                              const planner::SearchOptions& search,
                                                              reports::Origin& origin);

// `meshwright capacity` with those words of this call that it takes, without what the record's
// entries state themselves.
std::string capacity_command(const Call& call);

}  // namespace meshwright::app
