// SPDX-License-Identifier: Apache-2.0
// The inputs that most commands share: --model, --cluster, --job, --gpus and single-job overrides.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/capacity/options_json.h"
#include "reports/records/origin.h"
#include "sim/step/scenario.h"

namespace meshwright::app {

class Command;

struct InputOptions {
  std::string model;
  std::string cluster;
  std::string framework;  // empty: the cluster's
  std::string job;
  int gpus = 0;                 // 0: the whole cluster
  int lora = 0;                 // rank of adapters; 0: the job's
  std::vector<int> gpu_counts;  // where a command takes several; gpus is then 0
  int seq_length = 0;
  int global_batch_size = 0;
  std::string precision;
  std::optional<double> train_tokens;
};

struct Inputs : Scenario {
  bool has_cluster = true;
  // Values that the user did not set: "gpus", "seq_length", "global_batch_size", "precision" or
  // "framework".
  std::vector<std::string> defaults{};
  planner::CapacitySection capacity{};  // of the job file
  std::string note{};  // measurements that the cluster's profile lacks; empty: none
};

// The cluster that an answer is about, under the software that was asked for.
struct AskedCluster {
  Cluster cluster{};
  std::vector<std::string> not_measured{};  // measurements that its profile lacks
};
// Without `framework` the software is the cluster's, which its file may only assume; a named one is
// stated. Every command that reads a cluster for predictions reads it here. `most_gpus`:
// load_cluster (app/files/files.h).
AskedCluster load_asked_cluster(const std::string& cluster, const std::string& framework,
                                reports::Origin* origin = nullptr,
                                std::optional<int> most_gpus = {});
// Returns a sentence on measurements that the profile lacks, among them GEMMs in the job's number
// format. It is empty if none is missing.
std::string note_of(const AskedCluster& asked, const Job& job);

// Returns notes for the reader of an answer: missing measurements, the used part of NVLink domains,
// and features of the layout, if there is one, that are unproven on this cluster.
std::vector<std::string> notes_of(const std::string& note, const Scenario& scenario,
                                  const Layout* layout = nullptr);

enum class GpuCounts { one, several };
void add_input_options(Command& command, InputOptions& options, bool cluster_required,
                       GpuCounts counts = GpuCounts::one);
// Reads the files; documented defaults stand in for an absent job (sim/base/job.h). Without a
// cluster, one node without speeds holds every rank. Fingerprints go into `origin`, if there is
// one.
Inputs load_inputs(const InputOptions& options, reports::Origin* origin = nullptr);
// The same with a model and a job file (or null) that were read already.
Inputs load_inputs(const InputOptions& options, Model model, const Json& job,
                   reports::Origin* origin = nullptr);
// --job, --seq-length, --precision, --lora and --train-tokens.
void add_job_options(Command& command, InputOptions& options);
// Tells whether `option` is one that add_input_options adds, or --layout: what `estimate` and
// `volume` of one question share.
bool is_input_option(const std::string& option);
// --framework, for commands that read a cluster in another way.
void add_framework_option(Command& command, std::string& framework);

}  // namespace meshwright::app
