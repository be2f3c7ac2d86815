// SPDX-License-Identifier: Apache-2.0
// The inputs that most commands share: --model, --cluster, --job, --gpus and single-job overrides.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/capacity/options_json.h"
#include "reports/origin_json.h"
#include "sim/step/scenario.h"

namespace meshwright::app {

class Command;

struct InputOptions {
  std::string model;
  std::string cluster;
  std::string framework;  // empty: the cluster's
  std::string job;
  int gpus = 0;                 // 0: the whole cluster
  std::vector<int> gpu_counts;  // where a command takes several; gpus is then 0
  int seq_length = 0;
  int global_batch_size = 0;
  std::string precision;
  std::optional<double> train_tokens;
};

struct Inputs : Scenario {
  bool has_cluster = true;
  // What was not asked for: "gpus", "seq_length", "global_batch_size", "precision", "framework".
  std::vector<std::string> defaults{};
  planner::CapacitySection capacity{};  // of the job file
  std::string note{};  // what the cluster's profile has no measurement of; empty: nothing missing
};

enum class GpuCounts { one, several };
void add_input_options(Command& command, InputOptions& options, bool cluster_required,
                       GpuCounts counts = GpuCounts::one);
// Reads the files; documented defaults stand in for an absent job (sim/base/job.h). Without a
// cluster, one node without speeds holds every rank. Fingerprints go into `origin`, if there is
// one.
Inputs load_inputs(const InputOptions& options, reports::Origin* origin = nullptr);
// --job, --seq-length, --precision and --train-tokens.
void add_job_options(Command& command, InputOptions& options);
// The job file `stated` (or null) under a framework, with what the options say instead.
Job job_with_overrides(const InputOptions& options, const Json& stated, const Framework& framework);
// --framework, for commands that read a cluster in another way.
void add_framework_option(Command& command, std::string& framework);

}  // namespace meshwright::app
