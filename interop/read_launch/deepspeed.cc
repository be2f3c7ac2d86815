// SPDX-License-Identifier: Apache-2.0
// DeepSpeed's JSON (docs/_pages/config-json.md, runtime/config.py, commit edaa722), and the command
// that names it, with the options of Hugging Face's Trainer (training_args.py).
#include <algorithm>
#include <array>

#include "interop/read_launch/command_values.h"
#include "interop/read_launch/document.h"
#include "interop/read_launch/launch_reading.h"
#include "interop/read_launch/read_launch.h"
#include "interop/read_launch/shell_script.h"
#include "sim/base/error.h"

namespace meshwright::interop {
namespace {

constexpr IntRange kCount{1, 1'000'000'000};

// "auto" is Hugging Face's: the command says it.
bool is_auto(const Value* value) {
  return value != nullptr && value->words.size() == 1 && value->words.front() == "auto";
}

int count_at(LaunchReading& r, const char* field, const char* key) {
  const Value* value = r.find(key);
  int count = 0;
  if (value == nullptr || is_auto(value)) return 0;
  count = integer_of(*value, kCount);
  r.note(field, std::to_string(count), *value);
  return count;
}

// train_batch_size = micro x accumulation x data ranks: two of the three, and the ranks, suffice.
void read_batch(LaunchReading& r) {
  LaunchRecord& record = r.record();
  const int global = count_at(r, "global_batch_size", "train_batch_size");
  const int micro = count_at(r, "micro_batch_size", "train_micro_batch_size_per_gpu");
  const int accumulation =
      count_at(r, "gradient_accumulation_steps", "gradient_accumulation_steps");
  if (micro > 0) record.layout.micro_batch_size = micro;
  if (global > 0) record.job.global_batch_size = global;
  if (micro > 0) r.settle_layout("micro_batch_size");
  if (global > 0) r.settle_job("global_batch_size");
  if (global == 0 && (micro > 0 || accumulation > 0)) {
    record.micro_batches_a_rank = std::max(1, accumulation);
  }
  if (micro == 0 && global > 0 && accumulation > 0) record.accumulation_of_global = accumulation;
}

void read_zero(LaunchReading& r) {
  LaunchRecord& record = r.record();
  Layout& l = record.layout;
  const std::string at = "zero_optimization.";
  r.integer(l.zero_stage, "zero_stage", at + "stage", {0, 3});
  const Value* overlap = r.find(at + "overlap_comm");
  l.overlap_grad_reduce = l.zero_stage == 3;
  if (overlap != nullptr && !is_auto(overlap)) {
    r.flag(l.overlap_grad_reduce, "overlap_grad_reduce", at + "overlap_comm");
  } else {
    r.assume("overlap_grad_reduce", l.overlap_grad_reduce ? "true" : "false",
             "DeepSpeed overlaps at stage 3 unless told");
  }
  int shard = -1;
  const Value* mics = r.find(at + "mics_shard_size");
  if (mics != nullptr) shard = integer_of(*mics, {-1, kCount.high});
  if (shard > 0) {
    l.zero_shard_size = shard;
    r.note("zero_shard_size", std::to_string(shard), *mics);
  }
  const Value* optimizer = r.find(at + "offload_optimizer.device");
  if (optimizer != nullptr && word_of(*optimizer) != "none") {
    l.optimizer_offload = true;
    r.note("optimizer_offload", word_of(*optimizer), *optimizer);
  }
  for (const char* key : {"zero_hpz_partition_size", "zero_quantized_weights",
                          "zero_quantized_gradients", "offload_param.device"}) {
    const Value* value = r.find(at + key);
    if (value == nullptr) continue;
    const bool off =
        value->words.size() == 1 && (value->words.front() == "false" ||
                                     value->words.front() == "1" || value->words.front() == "none");
    if (!off) r.not_understood(*value, "it changes cost or memory in a way that is not modelled");
  }
  r.values().pass_over_below(at);
  for (const char* field :
       {"zero_stage", "overlap_grad_reduce", "zero_shard_size", "optimizer_offload"}) {
    r.settle_layout(field);
  }
}

void read_precision(LaunchReading& r) {
  Job& job = r.record().job;
  for (const auto& [key, precision] : {std::pair{"fp16.enabled", Precision::fp16},
                                       {"bf16.enabled", Precision::bf16},
                                       {"bfloat16.enabled", Precision::bf16}}) {
    const Value* value = r.find(key);
    if (value == nullptr || is_auto(value) || !flag_of(*value)) continue;
    job.precision = precision;
    r.note("precision", std::string(name_of(precision)), *value);
    r.settle_job("precision");
  }
}

void read_sizes(LaunchReading& r) {
  Layout& l = r.record().layout;
  const Value* tensor = r.find("tensor_parallel.autotp_size");
  if (tensor != nullptr) {
    l.tensor_parallel_size = std::max(1, integer_of(*tensor, {0, 1'000'000}));
    r.note("tensor_parallel_size", std::to_string(l.tensor_parallel_size), *tensor);
  }
  if (r.integer(l.context_parallel_size, "context_parallel_size", "sequence_parallel_size",
                kCount)) {
    l.cp_comm_type = ContextParallelAlgorithm::a2a;
    r.settle_layout("cp_comm_type");
  }
  if (r.values().has("pipeline.stages") || r.values().has("expert_parallel.autoep_size")) {
    for (const char* key : {"pipeline.stages", "expert_parallel.autoep_size"}) {
      if (const Value* value = r.find(key))
        r.not_understood(*value, "its sizes are made in Python");
    }
  }
  l.sequence_parallel = false;
  for (const char* field : {"tensor_parallel_size", "context_parallel_size", "sequence_parallel"}) {
    r.settle_layout(field);
  }
}

void read_json(LaunchReading& r) {
  LaunchRecord& record = r.record();
  record.target = "DeepSpeed";
  record.framework = "deepspeed-2025";
  record.job.name = "the launched job";
  r.assume("framework", record.framework, "the file does not say which release runs");
  read_batch(r);
  read_zero(r);
  read_precision(r);
  read_sizes(r);
  for (const char* section :
       {"optimizer.", "scheduler.", "activation_checkpointing.", "flops_profiler.", "tensorboard.",
        "wandb.", "csv_monitor.", "comms_logger.", "aio.", "fp16.", "bf16.", "bfloat16.",
        "data_types.", "checkpoint.", "pipeline.", "expert_parallel.", "tensor_parallel.",
        "monitor_config."}) {
    r.values().pass_over_below(section);
  }
  for (const char* key :
       {"gradient_clipping", "steps_per_print", "wall_clock_breakdown", "dump_state",
        "prescale_gradients", "zero_allow_untested_optimizer", "zero_force_ds_cpu_optimizer",
        "memory_breakdown", "communication_data_type", "gradient_predivide_factor"}) {
    r.values().pass_over(key);
  }
}

void set_sequence(LaunchRecord& record, const LaunchHints& hints, const std::string& file) {
  if (hints.seq_length) {
    record.job.seq_length = *hints.seq_length;
    record.assumed.push_back(
        {"seq_length", std::to_string(*hints.seq_length), "named beside the launch", {}});
  } else if (std::find(record.job_fields.begin(), record.job_fields.end(), "seq_length") ==
             record.job_fields.end()) {
    throw InputError(file, "", "does not say how long sequences are",
                     "state it with --seq-length N");
  }
  record.job_fields.emplace_back("seq_length");
}

void assume_recompute(LaunchReading& r, bool on, const std::string& why) {
  r.record().layout.recompute_granularity =
      on ? RecomputeGranularity::full : RecomputeGranularity::none;
  r.settle_layout("recompute_granularity");
  r.assume("recompute_granularity", on ? "full" : "none", why);
}

constexpr std::array kHarmlessTrainer{"--output_dir",
                                      "--learning_rate",
                                      "--num_train_epochs",
                                      "--save_steps",
                                      "--logging_steps",
                                      "--warmup_ratio",
                                      "--warmup_steps",
                                      "--weight_decay",
                                      "--lr_scheduler_type",
                                      "--report_to",
                                      "--evaluation_strategy",
                                      "--save_strategy",
                                      "--save_total_limit",
                                      "--data_path",
                                      "--dataset_name",
                                      "--train_file",
                                      "--validation_file",
                                      "--seed",
                                      "--max_steps",
                                      "--tf32",
                                      "--do_train",
                                      "--do_eval",
                                      "--overwrite_output_dir",
                                      "--per_device_eval_batch_size",
                                      "--local_rank",
                                      "--max_grad_norm",
                                      "--dataloader_num_workers",
                                      "--preprocessing_num_workers",
                                      "--ddp_timeout",
                                      "--save_on_each_node"};

// What the command says where the JSON says "auto".
void read_trainer(LaunchReading& r) {
  LaunchRecord& record = r.record();
  const bool has_global = std::find(record.job_fields.begin(), record.job_fields.end(),
                                    "global_batch_size") != record.job_fields.end();
  int micro = 0;
  int accumulation = 0;
  if (r.integer(micro, "micro_batch_size", "--per_device_train_batch_size", kCount)) {
    record.layout.micro_batch_size = micro;
    r.settle_layout("micro_batch_size");
    if (record.micro_batches_a_rank == 0 && !has_global) record.micro_batches_a_rank = 1;
  }
  if (r.integer(accumulation, "gradient_accumulation_steps", "--gradient_accumulation_steps",
                kCount) &&
      !has_global) {
    record.micro_batches_a_rank = accumulation;
  }
  for (const char* key : {"--model_max_length", "--max_seq_length", "--max_seq_len", "--block_size",
                          "--cutoff_len", "--max_length", "--seq_length"}) {
    if (r.integer(record.job.seq_length, "seq_length", key, kCount)) r.settle_job("seq_length");
  }
  bool recomputes = false;
  if (r.flag(recomputes, "recompute_granularity", "--gradient_checkpointing") && recomputes) {
    record.layout.recompute_granularity = RecomputeGranularity::full;
  }
  r.settle_layout("recompute_granularity");
  for (const auto& [key, precision] :
       {std::pair{"--bf16", Precision::bf16}, {"--fp16", Precision::fp16}}) {
    if (!r.is_on(key)) continue;
    record.job.precision = precision;
    r.note("precision", std::string(name_of(precision)), *r.find(key));
    r.settle_job("precision");
  }
  if (const Value* model = r.find("--model_name_or_path")) {
    record.model_name = word_of(*model);
    r.note("model", record.model_name, *model);
  }
  for (const char* key : kHarmlessTrainer) r.values().pass_over(key);
}

}  // namespace

LaunchRecord read_deepspeed(std::string_view text, const std::string& file,
                            const LaunchHints& hints) {
  Values values = values_of_json(text, file);
  LaunchRecord record;
  LaunchReading reading(values, record);
  read_json(reading);
  set_sequence(record, hints, file);
  assume_recompute(reading, false, "the model switches it on, not this file");
  reading.list_unused("no key of DeepSpeed that is known here");
  return record;
}

LaunchRecord read_deepspeed_script(std::string_view text, const std::string& file,
                                   const LaunchHints& hints, const ReadNamedFile& read) {
  const ShellScript script = read_shell_script(text, file, hints.variables);
  LaunchRecord record;
  const auto is_option = [](std::string_view word) {
    return word == "--deepspeed" || word == "--deepspeed_config" ||
           word == "--per_device_train_batch_size" || word == "--gradient_accumulation_steps";
  };
  const ShellCommand* command = launch_command(script, is_option, file, record);
  if (command == nullptr) throw InputError(file, "", "has no command with --deepspeed FILE");
  for (const MarkedText& word : command->words) record.command.push_back(word.text());
  read_launcher(*command, script, file, record);
  Values options;
  std::string json_file;
  for (Value& option : options_of(*command, first_program_word(*command), script, file)) {
    const bool names_json = (option.key == "--deepspeed" || option.key == "--deepspeed_config");
    if (names_json && !option.words.empty()) {
      if (option.unknown.empty()) json_file = option.words.front();
      option.used = true;
    }
    options.add(std::move(option));
  }
  const auto json = json_file.empty() || !read ? std::nullopt : read(json_file);
  std::string here;
  for (const HereDocument& document : script.here_documents) {
    if (document.text.text().find("zero_optimization") != std::string::npos)
      here = document.text.text();
  }
  if (!json && here.empty()) {
    throw InputError(file, "",
                     json_file.empty() ? "names no JSON of DeepSpeed that is known"
                                       : json_file + " is not there to be read",
                     "keep it beside the script, by the name that the script has");
  }
  Values values = values_of_json(json ? *json : here, json ? json_file : file);
  LaunchReading of_json(values, record);
  read_json(of_json);
  of_json.list_unused("no key of DeepSpeed that is known here");
  LaunchReading of_command(options, record);
  read_trainer(of_command);
  set_sequence(record, hints, file);
  of_command.list_unused("no option that is known here");
  return record;
}

}  // namespace meshwright::interop
