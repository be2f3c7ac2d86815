// SPDX-License-Identifier: Apache-2.0
// The command that starts Hugging Face's Trainer (training_args.py), with the file of DeepSpeed or
// accelerate that it names, or a here-document of the script that writes one.
#include <algorithm>
#include <array>

#include "interop/read_launch/command_values.h"
#include "interop/read_launch/document.h"
#include "interop/read_launch/environment.h"
#include "interop/read_launch/launch_format.h"
#include "interop/read_launch/read_launch.h"
#include "interop/read_launch/trainer.h"
#include "interop/shell/shell_script.h"
#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/record/parse.h"

namespace meshwright::interop {
namespace {

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

// Of transformers: eager stores the scores, sdpa and FlashAttention do not.
void read_attention_implementation(LaunchReading& r) {
  for (const char* key : {"--attn_implementation", "--attn_impl", "--flash_attn",
                          "--use_flash_attn", "--use_flash_attention_2"}) {
    const Value* value = r.find(key);
    if (value == nullptr) continue;
    const std::string word = value->words.empty() ? "true" : lower_case(word_of(*value));
    const bool eager = word == "eager" || word == "false" || word == "disabled";
    r.record().job.attention_kernel = eager ? AttentionKernel::unfused : AttentionKernel::flash;
    r.note("attention_kernel", eager ? "unfused" : "flash", *value);
    r.settle_job("attention_kernel");
  }
}

// What the command says where the JSON says "auto".
void read_trainer(LaunchReading& r) {
  LaunchRecord& record = r.record();
  const bool has_global = record.says_job("global_batch_size");
  int micro = 0;
  int accumulation = 0;
  if (r.integer(micro, "micro_batch_size", "--per_device_train_batch_size", kCounts)) {
    record.layout.micro_batch_size = micro;
    r.settle_layout("micro_batch_size");
    if (record.micro_batches_a_rank == 0 && !has_global) record.micro_batches_a_rank = 1;
  }
  if (r.integer(accumulation, "gradient_accumulation_steps", "--gradient_accumulation_steps",
                kCounts) &&
      !has_global) {
    record.micro_batches_a_rank = accumulation;
  }
  for (const char* key : {"--model_max_length", "--max_seq_length", "--max_seq_len", "--block_size",
                          "--cutoff_len", "--max_length", "--seq_length"}) {
    if (r.integer(record.job.seq_length, "seq_length", key, kCounts)) r.settle_job("seq_length");
  }
  if (r.is_on("--gradient_checkpointing")) r.recompute_switch("--gradient_checkpointing");
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
  read_attention_implementation(r);
  for (const char* key : kHarmlessTrainer) r.values().pass_over(key);
}

bool is_trainer_option(std::string_view word) {
  return word == "--deepspeed" || word == "--deepspeed_config" || word == "--config_file" ||
         word == "--per_device_train_batch_size" || word == "--gradient_accumulation_steps";
}

// A file that the command names: beside the script, or written by it.
struct NamedFile {
  std::string name, text;
  bool is_json = false;
};

bool says_sharding(const std::string& text) {
  return contains(text, "zero_optimization") || contains(text, "distributed_type:");
}

NamedFile named_file(const std::string& name, const ShellScript& script, const std::string& file,
                     const ReadNamedFile& read) {
  NamedFile found{name, "", false};
  const auto beside = name.empty() || !read ? std::nullopt : read(name);
  if (beside) found.text = *beside;
  for (const HereDocument& document : script.here_documents) {
    if (beside || !says_sharding(document.text.text())) continue;
    const bool named = document.file.text() == name;
    if (named || found.text.empty()) found = {file, document.text.text(), false};
    if (named) break;
  }
  if (found.text.empty()) {
    throw InputError(file, "",
                     name.empty() ? "names no file of DeepSpeed or accelerate that is known"
                                  : name + " is not there to be read",
                     "keep it beside the script, by the name that the script has");
  }
  found.is_json = looks_like_json(found.text);
  return found;
}

void read_named_file(const NamedFile& named, LaunchRecord& record) {
  Values values = named.is_json ? values_of_json(named.text, named.name)
                                : values_of_yaml(named.text, named.name);
  LaunchReading reading(values, record);
  if (named.is_json) {
    read_deepspeed_json(reading);
    reading.list_unused("no key of DeepSpeed that is known here");
  } else {
    read_accelerate_yaml(reading);
    reading.list_unused("no key of accelerate that is known here");
  }
}

// The options of the program, and of accelerate the file that it is configured by.
Values options_of_command(const ShellCommand& command, const ShellScript& script,
                          const std::string& file, std::string& named) {
  Values options;
  const std::size_t program = first_program_word(command);
  for (Value& option : options_of(command, 0, script, file)) {
    const bool of_accelerate =
        option.key.starts_with("--fsdp_") || option.key.starts_with("--parallelism_config_") ||
        option.key.starts_with("--offload_") || option.key.starts_with("--use_") ||
        option.key == "--mixed_precision" || option.key == "--zero_stage" ||
        option.key == "--dynamo_backend";
    if (of_accelerate && option.place.line > 0) options.add(option);
    const bool names_it = option.key == "--deepspeed" || option.key == "--deepspeed_config" ||
                          option.key == "--config_file";
    if (names_it && !option.words.empty() && option.unknown.empty()) named = option.words.front();
  }
  for (Value& option : options_of(command, program, script, file)) {
    option.used = option.key == "--deepspeed" || option.key == "--deepspeed_config" ||
                  option.key == "--config_file";
    options.add(std::move(option));
  }
  return options;
}

}  // namespace

void set_sequence_beside(LaunchRecord& record, const LaunchHints& hints, const std::string& file) {
  if (hints.seq_length) {
    record.job.seq_length = *hints.seq_length;
    record.assumed.push_back(
        {"seq_length", std::to_string(*hints.seq_length), "named beside the launch", {}});
  } else if (!record.says_job("seq_length")) {
    throw InputError(file, "", "does not say how long sequences are",
                     "state it with --seq-length N");
  }
  record.job_fields.emplace_back("seq_length");
}

void assume_batch(LaunchRecord& record, const std::string& why) {
  if (!record.says_layout("micro_batch_size") && record.accumulation_of_global == 0) {
    record.layout.micro_batch_size = 1;
    record.layout_fields.emplace_back("micro_batch_size");
    record.assumed.push_back({"micro_batch_size", "1", why, {}});
  }
  if (record.says_job("global_batch_size") || record.micro_batches_a_rank > 0) return;
  record.micro_batches_a_rank = 1;
  record.assumed.push_back({"global_batch_size",
                            "micro-batch x data-parallel ranks",
                            why + "; one micro-batch a rank",
                            {}});
}

void assume_recompute(LaunchReading& r, bool on, const std::string& why) {
  r.record().layout.recompute_granularity =
      on ? RecomputeGranularity::full : RecomputeGranularity::none;
  r.settle_layout("recompute_granularity");
  r.assume("recompute_granularity", on ? "full" : "none", why);
}

LaunchRecord read_trainer_script(std::string_view text, const std::string& file,
                                 const LaunchHints& hints, const ReadNamedFile& read) {
  const ShellScript script = read_shell_script(text, file, shell_inputs(hints, read));
  LaunchRecord record;
  const ShellCommand* command = launch_command(script, is_trainer_option, file, record);
  if (command == nullptr) {
    throw InputError(file, "", "has no command with --deepspeed FILE or --config_file FILE");
  }
  for (const MarkedText& word : command->words) record.command.push_back(word.text());
  std::string name;
  Values options = options_of_command(*command, script, file, name);
  read_named_file(named_file(name, script, file, read), record);
  read_launcher(*command, script, file, record);  // overrules the file
  read_environment(script, *command, file, record);
  LaunchReading of_command(options, record);
  read_trainer(of_command);
  assume_batch(record, "neither the command nor its file says it");
  set_sequence_beside(record, hints, file);
  of_command.list_unused("no option that is known here");
  return record;
}

namespace {

bool is_trainer_script(const LaunchText& text) {
  return is_script(text) && (contains(text.text, "--deepspeed") ||
                             contains(text.text, "--per_device_train_batch_size") ||
                             contains(text.text, "accelerate launch"));
}

}  // namespace

extern const LaunchFormat kTrainerScriptFormat;
constexpr LaunchFormat kTrainerScriptFormat{
    is_trainer_script,
    [](const LaunchText& t, const LaunchHints& hints, const ReadNamedFile& read) {
      return read_trainer_script(t.text, t.file, hints, read);
    }};

}  // namespace meshwright::interop
