// SPDX-License-Identifier: Apache-2.0
#include "app/options/inputs.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "app/files/config_synonym.h"
#include "app/files/files.h"
#include "app/options/command.h"
#include "interop/read_launch/lora.h"
#include "planner/shared_cluster/service_options_json.h"
#include "sim/base/error.h"
#include "sim/base/job.h"
#include "sim/hardware/interval_regime.h"
#include "sim/hardware/node_count.h"
#include "sim/json/records.h"
#include "sim/record/reader.h"
#include "sim/rules/rules.h"

namespace meshwright::app {
namespace {

constexpr int kMostGpuCounts = 32;  // each is a search of its own
// Family of LoRA's runs, where a cluster's file only assumes the software of pre-training.
constexpr const char* kLoraFamily = "accelerate";

}  // namespace

void add_framework_option(Command& command, std::string& framework) {
  command.reads("--framework", framework,
                "Training software: a file, a name from configs/frameworks, or none (unknown). "
                "Default: the cluster's",
                "frameworks");
}

void add_job_options(Command& command, InputOptions& options) {
  command.reads("--job", options.job,
                "Job: a file or a name from configs/jobs. Default: 4096 tokens per sequence, "
                "512 sequences, bf16, Adam",
                "jobs");
  command.options()
      .add_option("--seq-length", options.seq_length,
                  "Tokens per sequence; overrides the job's seq_length")
      ->check(CLI::Range(1, 100'000'000).description(""));
  command.options().add_option(
      "--precision", options.precision,
      "Number format; overrides the job's precision: fp32, tf32, fp16, bf16, fp8 or "
      "fp4");
  command.options()
      .add_option("--lora", options.lora,
                  "Rank of LoRA's adapters beside all linears; overrides the job's lora_rank. "
                  "The default framework is then accelerate")
      ->check(CLI::Range(1, 65'536).description(""));
  must_be_positive(command.options().add_option(
      "--train-tokens", options.train_tokens,
      "Tokens of the whole training; overrides the job's train_tokens"));
}

void add_input_options(Command& command, InputOptions& options, bool cluster_required,
                       GpuCounts counts) {
  command
      .reads("--model", options.model,
             "Model: a meshwright file, a Hugging Face config.json, or a name from "
             "configs/models",
             "models")
      ->required();
  auto* cluster = command.reads(
      "--cluster", options.cluster,
      "Cluster: a file, a measured profile, or a name from configs/clusters", "clusters");
  if (cluster_required) cluster->required();
  add_framework_option(command, options.framework);
  add_job_options(command, options);
  const auto devices = CLI::Range(1, 10'000'000).description("");
  if (counts == GpuCounts::one) {
    command.options()
        .add_option("--gpus", options.gpus, "Devices to use. Default: the whole cluster")
        ->check(devices);
  } else {
    command.options()
        .add_option("--gpus", options.gpu_counts,
                    "Devices to use, or counts to compare, for example 256,512,1024. Default: the "
                    "whole cluster")
        ->delimiter(',')
        ->expected(1, kMostGpuCounts)
        ->check(devices);
  }
  command.options()
      .add_option("--global-batch-size", options.global_batch_size,
                  "Sequences per step; overrides the job's global_batch_size")
      ->check(CLI::Range(1, 100'000'000).description(""));
  if (!cluster_required) {
    command.only_with("--gpus", "--cluster");
    command.only_with("--framework", "--cluster");
  }
}

namespace {

// The job file `stated` (or null) under a framework, with what the options say instead.
Job job_with_overrides(const InputOptions& options, const Json& stated,
                       const Framework& framework) {
  const Job defaults = framework.defaults.job;
  Job job = stated.is_null()
                ? defaults
                : job_from_json(stated, find_config(options.job, "jobs"), "", defaults);
  if (options.seq_length > 0) job.seq_length = options.seq_length;
  if (options.global_batch_size > 0) job.global_batch_size = options.global_batch_size;
  if (options.train_tokens) job.train_tokens = options.train_tokens;
  if (options.lora > 0) {
    job.lora_rank = options.lora;
    if (!stated.contains("lora_target_modules")) {
      job.lora_target_modules.bits = interop::kAllPeftLinears;
    }
  }
  if (options.precision.empty()) return job;
  std::vector<std::string> allowed;
  for (const auto& entry : kPrecisionNames) {
    if (entry.name == options.precision) {
      job.precision = entry.value;
      return job;
    }
    allowed.emplace_back(entry.name);
  }
  throw InputError("--precision", "",
                   "must be one of fp32, tf32, fp16, bf16, fp8 (got \"" + options.precision + "\")",
                   did_you_mean(options.precision, allowed));
}

std::vector<std::string> defaults_in(const InputOptions& options, const Json& job) {
  std::vector<std::string> defaults;
  const auto add = [&](const char* name, bool asked) {
    if (!asked && !job.contains(name)) defaults.emplace_back(name);
  };
  add("gpus", options.gpus > 0 || !options.gpu_counts.empty());
  add("seq_length", options.seq_length > 0);
  add("global_batch_size", options.global_batch_size > 0);
  add("precision", !options.precision.empty());
  add("framework", !options.framework.empty());
  return defaults;
}

}  // namespace

bool is_input_option(const std::string& option) {
  constexpr std::array<std::string_view, 11> kInputOptions{
      "--model",        "--cluster",    "--framework",        "--job",
      "--gpus",         "--seq-length", "--precision",        "--lora",
      "--train-tokens", "--layout",     "--global-batch-size"};
  return std::find(kInputOptions.begin(), kInputOptions.end(), option) != kInputOptions.end();
}

AskedCluster load_asked_cluster(const std::string& cluster, const std::string& framework,
                                reports::Origin* origin, std::optional<int> most_gpus) {
  AskedCluster asked;
  asked.cluster = load_cluster(cluster, &asked.not_measured, origin, most_gpus);
  if (framework.empty()) return asked;
  asked.cluster.framework = load_framework(framework, origin);
  asked.cluster.framework_assumed = false;
  return asked;
}

std::string note_of(const AskedCluster& asked, const Job& job) {
  const Device& device = only_device(asked.cluster);
  std::vector<std::string> not_measured = asked.not_measured;
  const bool has_products =
      std::any_of(device.gemm.begin(), device.gemm.end(),
                  [&](const GemmModel& model) { return model.precision == job.precision; });
  const std::string products = fmt::format("products in {}", name_of(job.precision));
  const bool named =
      std::find(not_measured.begin(), not_measured.end(), products) != not_measured.end();
  if (is_timed_here(device) && !has_products && !named) not_measured.push_back(products);
  if (not_measured.empty()) return "";
  return fmt::format("Not measured on {}, modelled instead: {}.", asked.cluster.name,
                     fmt::join(not_measured, ", "));
}

std::vector<std::string> notes_of(const std::string& note, const Scenario& scenario,
                                  const Layout* layout) {
  std::vector<std::string> notes;
  if (!note.empty()) notes.push_back(note);
  const std::string share = used_share_text(scenario.cluster);
  if (!share.empty()) notes.push_back(share);
  if (layout == nullptr) return notes;
  for (std::string& unproven :
       unproven_uses(scenario.model, scenario.job, *layout, devices_of(scenario.cluster))) {
    notes.push_back(std::move(unproven));
  }
  return notes;
}

Inputs load_inputs(const InputOptions& options, Model model, const Json& job,
                   reports::Origin* origin) {
  Inputs inputs;
  inputs.model = std::move(model);
  inputs.has_cluster = !options.cluster.empty();
  AskedCluster asked;
  int most_gpus = options.gpus;
  for (const int gpus : options.gpu_counts) most_gpus = std::max(most_gpus, gpus);
  if (inputs.has_cluster) {
    asked = load_asked_cluster(options.cluster, options.framework, origin, most_gpus);
  }
  const bool tunes = options.lora > 0 || (job.contains("lora_rank") && job["lora_rank"] != 0);
  if (tunes && options.framework.empty() && asked.cluster.framework_assumed) {
    asked.cluster.framework = load_framework(config_synonym(kLoraFamily, "frameworks"), origin);
  }
  inputs.cluster = asked.cluster;
  inputs.job = job_with_overrides(options, job, inputs.cluster.framework);
  inputs.capacity = planner::capacity_section(job, find_config(options.job, "jobs"));
  // Only capacity answers it; a wrong one is refused everywhere.
  static_cast<void>(planner::service_section(job, find_config(options.job, "jobs")));
  if (inputs.has_cluster) inputs.note = note_of(asked, inputs.job);
  if (options.gpus > 0) inputs.cluster = scaled_to(inputs.cluster, options.gpus);
  inputs.defaults = defaults_in(options, job);
  return inputs;
}

Inputs load_inputs(const InputOptions& options, reports::Origin* origin) {
  Model model = load_model(options.model, origin);
  const Json job = options.job.empty() ? Json() : read_job(options.job, origin);
  return load_inputs(options, std::move(model), job, origin);
}

}  // namespace meshwright::app
