// SPDX-License-Identifier: Apache-2.0
#include "app/runs/launched_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <utility>

#include "app/files/config_synonym.h"
#include "app/files/files.h"
#include "app/options/inputs.h"
#include "app/runs/launch_statements.h"
#include "app/runs/log_check.h"
#include "interop/huggingface.h"
#include "interop/logs/log_pattern.h"
#include "interop/read_launch/read_launch.h"
#include "planner/accuracy/measured_set_json.h"
#include "planner/search/space.h"
#include "sim/base/error.h"
#include "sim/base/statistics.h"
#include "sim/base/text.h"
#include "sim/hardware/device_noun.h"
#include "sim/json/input_records.h"
#include "sim/json/records.h"

namespace meshwright::app {
namespace {

namespace fs = std::filesystem;

std::map<std::string, std::string> variables_of(const std::vector<std::string>& typed) {
  std::map<std::string, std::string> variables;
  for (const std::string& text : typed) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw InputError("--set", "", fmt::format("must be NAME=VALUE (got \"{}\")", text));
    }
    variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return variables;
}

void assume(interop::LaunchRecord& launch, const std::string& field, const std::string& value,
            const std::string& why) {
  launch.assumed.push_back({field, value, why, {}});
}

// Returns the job that the launch states; the framework's defaults fill the rest.
Job job_of(const interop::LaunchRecord& launch, const Framework& framework) {
  Job job =
      job_record().overlay(framework.defaults.job, launch.job, launch.job_fields, "the launch");
  if (!launch.job.train_tokens) job.train_tokens.reset();
  if (!launch.job.fp8_recipe) job.fp8_recipe.reset();
  return job;
}

Layout layout_of(const interop::LaunchRecord& launch, const Framework& framework) {
  return layout_record().overlay(framework.defaults.layout, launch.layout, launch.layout_fields,
                                 "the launch");
}

int gpus_of(const LaunchedRunOptions& options, interop::LaunchRecord& launch,
            const std::optional<interop::TrainingLog>& log, const Cluster& cluster) {
  if (options.gpus > 0) return options.gpus;
  if (log && log->world_size) return *log->world_size;
  if (launch.gpus > 0) return launch.gpus;
  if (!launch.data_parallel_size_follows) {
    const int gpus = world_size(launch.layout);
    assume(launch, "gpus", std::to_string(gpus),
           "product of the sizes in the launch; --gpus overrides it");
    return gpus;
  }
  if (!launch.unknown_gpus.empty()) {
    throw InputError(options.from.empty() ? options.log : options.from, "",
                     fmt::format("the number of devices is not known: {}", launch.unknown_gpus),
                     "state it with --gpus N, or the variable with --set NAME=VALUE");
  }
  assume(launch, "gpus", std::to_string(cluster.num_gpus()),
         "all of the cluster: neither launch nor log states the number; --gpus sets it");
  return cluster.num_gpus();
}

// The data-parallel size that the devices leave.
void set_data_parallel_size(Layout& layout, const interop::LaunchRecord& launch, int gpus,
                            const std::string& file) {
  const int others =
      layout.tensor_parallel_size * layout.pipeline_parallel_size * layout.context_parallel_size;
  if (!launch.data_parallel_size_follows) {
    if (world_size(layout) == gpus) return;
    throw InputError(
        file, "",
        fmt::format("its sizes multiply to {} devices, but {} are used", world_size(layout), gpus),
        fmt::format("use --gpus {} for the launch's own number", world_size(layout)));
  }
  if (gpus % others != 0) {
    throw InputError(
        file, "",
        fmt::format("{} devices are not divisible by tensor {} x pipeline {} x context {} = {}",
                    gpus, layout.tensor_parallel_size, layout.pipeline_parallel_size,
                    layout.context_parallel_size, others),
        "use --gpus N to set the number of devices");
  }
  layout.data_parallel_size = gpus / others;
}

// Shards that a launch says by how many copies there are.
void set_shards(Layout& layout, const interop::LaunchRecord& launch, const std::string& file) {
  if (launch.shards_in_node && launch.gpus_per_node > 0 && layout.zero_stage > 0 &&
      layout.data_parallel_size > launch.gpus_per_node) {
    layout.zero_shard_size = launch.gpus_per_node;
  }
  // Megatron-LM asks for a distributed optimizer beside offload, also where one rank has it all.
  const bool alone = gradient_group_size(layout) == 1;
  if (alone && layout.optimizer_offload && layout.zero_stage == 1) layout.zero_stage = 0;
  if (launch.replicas <= 1 || layout.zero_stage == 0) return;
  const int ranks = gradient_group_size(layout);
  if (ranks % launch.replicas != 0) {
    throw InputError(
        file, "",
        fmt::format("{} replicas do not divide {} data and context ranks", launch.replicas, ranks));
  }
  layout.zero_shard_size = ranks / launch.replicas;
}

void set_global_batch(LaunchedRun& run) {
  const int accumulation = run.launch.accumulation_of_global;
  if (accumulation > 0) {
    run.layout.micro_batch_size = std::max(
        1, run.scenario.job.global_batch_size / (accumulation * run.layout.data_parallel_size));
  }
  const int micro_batches = run.launch.micro_batches_a_rank;
  if (micro_batches == 0) return;
  const int global = micro_batches * run.layout.micro_batch_size * run.layout.data_parallel_size;
  run.scenario.job.global_batch_size = global;
  for (interop::Fact& fact : run.launch.assumed) {
    if (fact.field == "global_batch_size") fact.value = std::to_string(global);
  }
}

// Sizes that neither launch nor user says: what the program takes then is an assumption.
void assume_default_sizes(LaunchedRun& run) {
  const interop::LaunchRecord& launch = run.launch;
  const auto default_of = [&](const char* field, int value) {
    assume(run.launch, field, std::to_string(value), "default: the launch does not set it");
  };
  const bool has_batch = launch.micro_batches_a_rank > 0 || launch.says_job("global_batch_size");
  if (!has_batch) default_of("global_batch_size", run.scenario.job.global_batch_size);
  if (!launch.says_job("seq_length")) {
    default_of("seq_length", run.scenario.job.seq_length);
  }
  if (!launch.says_layout("micro_batch_size") && launch.accumulation_of_global == 0) {
    default_of("micro_batch_size", run.layout.micro_batch_size);
  }
}

// Chunks that a launch says by the layers of each.
void set_chunks(LaunchedRun& run) {
  const int each = run.launch.layers_per_chunk;
  if (each == 0) return;
  const int ranks = run.layout.pipeline_parallel_size;
  const int stages = (run.scenario.model.num_layers + each - 1) / each;
  const int chunks = run.launch.rounds_chunks_up ? (stages + ranks - 1) / ranks : stages / ranks;
  run.layout.virtual_pipeline_parallel_size = std::max(2, chunks);
}

Seconds upper_median_of(const std::vector<Seconds>& times) {
  std::vector<double> values;
  for (const Seconds time : times) values.push_back(time.value());
  return seconds(upper_median(std::move(values)));
}

void measure(LaunchedRun& run) {
  const interop::TrainingLog& log = *run.log;
  const Job& job = run.scenario.job;
  run.steps = interop::measured_steps(
      log, {job.seq_length, job.global_batch_size, run.scenario.cluster.num_gpus()});
  run.measured.out_of_memory = log.out_of_memory && !run.steps;
  if (run.steps) run.log_refused = why_steps_are_anothers(*run.steps, run.scenario, run.layout);
  if (!run.log_refused.empty()) {
    run.steps.reset();
    return;
  }
  if (run.steps) {
    run.measured.step_time = run.steps->median;
    run.measured.p10 = run.steps->p10;
    run.measured.p90 = run.steps->p90;
    const int seen = run.steps->global_batch_size;
    // nanotron prints three digits.
    if (seen > 0 && std::abs(seen - job.global_batch_size) > job.global_batch_size / 100) {
      assume(
          run.launch, "global_batch_size", std::to_string(seen),
          fmt::format("most steps of the log have it; the launch has {}", job.global_batch_size));
      run.scenario.job.global_batch_size = seen;
    }
  }
  run.measured.peak_memory = run.memory_is_reserved ? log.peak_reserved : log.peak_allocated;
  for (const auto& [name, values] : log.timers) run.measured.timers[name] = upper_median_of(values);
}

[[noreturn]] void fail_without_match(const interop::LogPattern& pattern, const std::string& file,
                                     const std::string& text) {
  const std::string nearest = pattern.nearest_line(text);
  throw InputError("--log-pattern", "",
                   fmt::format("matches no line of {} with a time above 0", file),
                   nearest.empty() ? "no line has a word of the pattern"
                                   : fmt::format("the nearest line is: {}", nearest));
}

interop::TrainingLog read_log_of(const LaunchedRunOptions& options, const std::string& text) {
  std::optional<interop::LogPattern> pattern;
  if (!options.log_pattern.empty()) pattern.emplace(options.log_pattern);
  interop::TrainingLog log = interop::read_training_log(text, pattern ? &*pattern : nullptr);
  if (!log.steps.empty() || log.out_of_memory) return log;
  if (pattern) fail_without_match(*pattern, options.log, text);
  throw InputError(
      options.log, "", "found no training steps in this log",
      fmt::format("supported logs: {}. For others, --log-pattern describes a step's line, for "
                  "example 'step {{step}} .* {{seconds}}s'",
                  interop::software_whose_logs_are_read()));
}

void read_launch_of(const LaunchedRunOptions& options, const std::string& log_text,
                    const std::optional<Model>& named, LaunchedRun& run, reports::Origin& origin) {
  interop::LaunchHints& hints = run.hints;
  hints.variables = variables_of(options.variables);
  if (run.log) hints.vocab_size = run.log->vocab_size;
  if (options.vocab_size > 0) hints.vocab_size = options.vocab_size;
  if (options.seq_length > 0) hints.seq_length = options.seq_length;
  if (!options.arguments.empty()) hints.arguments = split_words(options.arguments);
  hints.model = named;
  if (!options.from.empty()) {
    const auto read = [&](const std::string& name) -> std::optional<std::string> {
      const fs::path beside = fs::path(options.from).parent_path() / name;
      std::error_code none;
      if (!fs::is_regular_file(beside, none)) return std::nullopt;
      return run.files.named[name] = read_text_input("launch's file", beside.string(), &origin);
    };
    run.files.file = options.from;
    run.files.text = read_text_input("launch", options.from, &origin);
    run.launch = interop::read_launch(run.files.text, options.from, hints, read);
    return;
  }
  if (log_text.empty() || !interop::log_says_launch(log_text)) {
    throw InputError("--from", "", "is required: the log does not contain the launch",
                     "give the script, command line or configuration that started the run");
  }
  run.launch = interop::read_launch(log_text, options.log, hints);
}

// The model that the launch itself says.
Model model_of(const interop::LaunchRecord& launch, const std::string& from,
               reports::Origin& origin) {
  if (!launch.model_name.empty()) {
    const std::string shipped = config_synonym(launch.model_name, "models");
    if (shipped.empty()) {
      throw InputError(from, "", fmt::format("no shipped model has the name {}", launch.model_name),
                       "use --model with its config.json");
    }
    return load_model(shipped, &origin);
  }
  if (!launch.model_config.empty()) {
    Model model = interop::model_from_huggingface(Json::parse(launch.model_config), from);
    model.name = "the launched model";
    return model;
  }
  if (launch.model.num_layers > 0) return launch.model;
  throw InputError(from, "", "does not state the model", "use --model");
}

}  // namespace

Layout launched_layout(const interop::LaunchRecord& launch, const Framework& framework, int gpus,
                       const std::string& file) {
  Layout layout = layout_of(launch, framework);
  set_data_parallel_size(layout, launch, gpus, file);
  set_shards(layout, launch, file);
  planner::StatedLayout stated{layout, launch.layout_fields};
  // A launch that names one of these switches leaves the other one off.
  if (stated.says("overlap_grad_reduce") || stated.says("overlap_param_gather")) {
    stated.fields.insert(stated.fields.end(), {"overlap_grad_reduce", "overlap_param_gather"});
  }
  return planner::with_default_overlaps(stated, framework.limits);
}

void settle_launch(LaunchedRun& run, const std::string& file) {
  const Cluster& cluster = run.scenario.cluster;
  run.scenario.job = job_of(run.launch, cluster.framework);
  run.layout = launched_layout(run.launch, cluster.framework, cluster.num_gpus(), file);
  if (!run.launch.says_layout("moe_token_dispatcher_type")) {
    run.layout = with_proven_dispatcher(run.layout, cluster);
  }
  set_chunks(run);
  set_global_batch(run);
}

LaunchedRun load_launched_run(const LaunchedRunOptions& options, reports::Origin& origin) {
  LaunchedRun run;
  std::string log_text;
  if (!options.log_pattern.empty() && options.log.empty()) {
    throw InputError("--log-pattern", "", "needs --log");
  }
  if (!options.log.empty()) {
    log_text = read_text_input("log", options.log, &origin);
    run.log = read_log_of(options, log_text);
  }
  std::optional<Model> named;
  reports::Origin of_model;  // listed behind the launch
  if (!options.model.empty()) named = load_model(options.model, &of_model);
  read_launch_of(options, log_text, named, run, origin);
  const bool has_file = !options.from.empty();
  refuse_unused_statements(run, has_file ? run.files.text : log_text,
                           has_file ? options.from : options.log);
  origin.inputs.insert(origin.inputs.end(), of_model.inputs.begin(), of_model.inputs.end());
  const std::string& from = options.from.empty() ? options.log : options.from;
  run.scenario.model = named ? *named : model_of(run.launch, from, origin);
  if (run.scenario.model.image_encoder_hidden_size > 0) {
    assume(run.launch, "model", "its text alone",
           "the weights, gradients and work of its encoder of images are not counted");
  }
  if (run.launch.mtp_num_layers) run.scenario.model.mtp_num_layers = *run.launch.mtp_num_layers;
  refuse_other_vocabulary(options, run.scenario.model);
  const AskedCluster asked = load_asked_cluster(
      options.cluster, options.framework.empty() ? run.launch.framework : options.framework,
      &origin, std::max(options.gpus, run.launch.gpus));
  const Cluster& cluster = asked.cluster;
  run.scenario.cluster = scaled_to(cluster, gpus_of(options, run.launch, run.log, cluster));
  settle_launch(run, from);
  assume_default_sizes(run);
  run.notes = notes_of(note_of(asked, run.scenario.job), run.scenario, &run.layout);
  run.memory_is_reserved = cluster.framework.memory.reports_reserved;
  if (run.log) run.log_refused = why_log_is_anothers(*run.log, run.scenario, run.layout);
  if (run.log && run.log_refused.empty()) measure(run);
  if (!run.log_refused.empty()) run.log_refused += what_log_says(*run.log);
  return run;
}

Json measurements_of(const LaunchedRun& run, const std::string& cluster, const std::string& from) {
  const Cluster& made = run.scenario.cluster;
  const int gpus = made.num_gpus();
  planner::StatedRun stated;
  stated.id = from;
  stated.group = fmt::format("{} on {} {}", run.scenario.model.name, gpus, device_noun(made, gpus));
  stated.model = to_json(run.scenario.model);
  stated.cluster = cluster;
  if (!made.framework.name.empty()) stated.framework = made.framework.name;
  stated.gpus = gpus;
  stated.job = to_json(run.scenario.job);
  stated.layout = to_json(run.layout);
  stated.measured = {run.measured.out_of_memory ? planner::RunStatus::oom : planner::RunStatus::ok,
                     run.measured.step_time, run.measured.peak_memory};
  return planner::measured_set_record().write(
      {from, fmt::format("{} and its log", from), "", {std::move(stated)}});
}

}  // namespace meshwright::app
