// SPDX-License-Identifier: Apache-2.0
// A run as its launch line or configuration says it: what was read, what was assumed, and what was
// not understood, each with its place.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "interop/read_launch/option_effect.h"
#include "interop/read_launch/place.h"
#include "interop/shell/shell_script.h"
#include "sim/base/job.h"
#include "sim/layout/layout.h"
#include "sim/model/model.h"

namespace meshwright::interop {

struct Fact {
  std::string field;  // "tensor_parallel_size"
  std::string value;
  std::string said;  // "--tensor-model-parallel-size 8"; of an assumption, why
  Place place;
  bool operator==(const Fact&) const = default;
};

struct NotUnderstood {
  std::string said, why;
  Place place;
  OptionEffect effect = OptionEffect::cost;
  std::string key{};       // empty: it is no option
  bool off = false;        // its value leaves things as they are without it
  bool undecided = false;  // it hangs on a condition that is not known
  bool operator==(const NotUnderstood&) const = default;
};

// A variable of the environment that changes how fast a run is, or what it holds in memory.
struct EnvironmentNote {
  std::string name, value;
  std::string effect;  // "every launch waits for the one before: nothing overlaps"
  Place place;
  bool slows = false;  // a first suspect of a slow run
  bool operator==(const EnvironmentNote&) const = default;
};

struct LaunchRecord {
  std::string target;                   // "Megatron-LM"
  std::string framework;                // a name of configs/frameworks; empty: none fits
  std::string model_name;               // of configs/models, where the launch names a model only
  std::optional<int> mtp_num_layers{};  // of the named model, where the launch says them
  std::string model_config;  // a Hugging Face config.json that the launch writes out; else
  Model model;
  Job job;
  Layout layout;
  // Fields that are said or follow; the others are as the framework has them.
  std::vector<std::string> job_fields, layout_fields;
  [[nodiscard]] bool says_job(std::string_view field) const {
    return std::find(job_fields.begin(), job_fields.end(), field) != job_fields.end();
  }
  [[nodiscard]] bool says_layout(std::string_view field) const {
    return std::find(layout_fields.begin(), layout_fields.end(), field) != layout_fields.end();
  }
  int gpus = 0, gpus_per_node = 0;  // 0: not said
  std::string unknown_gpus{};       // the launcher's option whose value is not known; empty: none
  // Data-parallel ranks are what the devices leave; 0 until the device count is known.
  bool data_parallel_size_follows = true;
  int replicas = 1;             // copies of sharded state over the data-parallel ranks
  bool shards_in_node = false;  // copies are the nodes
  // A global batch that was not said is so many micro-batches of each data-parallel rank.
  int micro_batches_a_rank = 0;  // 0: the global batch was said
  // The micro-batch is the global batch over so many of them and the data-parallel ranks.
  int accumulation_of_global = 0;  // 0: the micro-batch was said
  // Chunks of a pipeline rank follow from so many layers of each, once the model is known.
  int layers_per_chunk = 0;       // 0: the chunks are said
  bool rounds_chunks_up = false;  // else down, where the ranks do not divide them
  std::vector<Fact> read, assumed;
  std::vector<NotUnderstood> not_understood;
  std::vector<std::string> harmless;  // options that were not read and change no cost
  std::vector<EnvironmentNote> environment;
  ShellCommand command;                          // the launch line, variables put in
  std::map<std::string, std::string> variables;  // of few names that change how a run works
  bool operator==(const LaunchRecord&) const = default;
};

// Values that the user states in addition to the launch.
struct LaunchHints {
  std::map<std::string, std::string> variables;       // of a script
  std::optional<std::vector<std::string>> arguments;  // of a script
  std::optional<int> vocab_size;                      // or out of the run's log
  std::optional<int> seq_length;
  std::optional<Model> model;  // that the user names
  [[nodiscard]] bool needs_model() const { return !model; }
};

}  // namespace meshwright::interop
