// SPDX-License-Identifier: Apache-2.0
// Commands that fine-tune with Hugging Face's Trainer: a program and its options, or axolotl,
// LLaMA-Factory and TRL with the YAML that they name. The sharding is in files of DeepSpeed or
// accelerate, or in here-documents of the script that write them.
#include <algorithm>
#include <array>

#include "interop/read_launch/command_values.h"
#include "interop/read_launch/environment.h"
#include "interop/read_launch/fine_tuning.h"
#include "interop/read_launch/launch_format.h"
#include "interop/read_launch/read_launch.h"
#include "interop/read_launch/stated_values.h"
#include "interop/read_launch/trainer.h"
#include "interop/read_launch/trainer_command.h"
#include "interop/shell/base_name.h"
#include "interop/shell/shell_script.h"
#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

bool is_trainer_option(std::string_view word) {
  for (const char* option :
       {"--deepspeed", "--deepspeed_config", "--config_file", "--per_device_train_batch_size",
        "--gradient_accumulation_steps", "--accelerate_config", "--finetuning_type",
        "--use_deepspeed", "--use_fsdp", "--model_name_or_path", "--use_peft"}) {
    if (word == option) return true;
  }
  return false;
}

bool starts_fine_tuning(const ShellCommand& command) {
  return names_a_program(command, {"axolotl", "axolotl.cli.train", "axolotl.cli.main", "trl",
                                   "llamafactory-cli", "llamafactory.launcher", "accelerate"});
}

bool is_of_tool(const ShellCommand& command) {
  return command.words.size() > 1 && starts_fine_tuning(command) &&
         std::none_of(command.words.begin(), command.words.end(), [](const MarkedText& word) {
           return word.text() == "preprocess" || word.text() == "axolotl.cli.preprocess" ||
                  word.text() == "export" || word.text() == "merge-lora";
         });
}

const ShellCommand* fine_tuning_command(const ShellScript& script, const std::string& file,
                                        LaunchRecord& record) {
  const ShellCommand* best = launch_command(script, is_trainer_option, file, record);
  if (best != nullptr) return best;
  for (const ShellCommand& command : script.commands) {
    if (best == nullptr && is_of_tool(command)) best = &command;
  }
  return best;
}

// Name of the started program: "scripts/run_dpo.py" is "run_dpo".
std::string program_of(const ShellCommand& command) {
  for (const MarkedText& word : command.words) {
    const std::string& text = word.text();
    if (!text.ends_with(".py")) continue;
    const std::string name = base_name(text);
    return name.substr(0, name.size() - 3);
  }
  return "";
}

void refuse_preference_program(const ShellCommand& command, const std::string& file) {
  std::string words = lower_case(program_of(command));
  std::replace_if(
      words.begin(), words.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, ' ');
  for (const std::string& word : split_words(words)) {
    for (const char* name : {"dpo", "grpo", "ppo", "kto", "orpo", "cpo", "rloo", "simpo", "gkd",
                             "reward", "ipo", "rlhf"}) {
      if (word != name) continue;
      throw InputError(Place{file, command.words.front().line(), 0}.text(), "",
                       program_of(command) +
                           ".py: preference or reinforcement training, which is "
                           "not modelled",
                       "ask about its training step by hand: meshwright estimate");
    }
  }
}

FineTuner tuner_of(const ShellCommand& command) {
  if (names_a_program(command, {"axolotl", "axolotl.cli.train", "axolotl.cli.main"})) {
    return FineTuner::axolotl;
  }
  const auto has = [&](std::string_view option) {
    return std::any_of(command.words.begin(), command.words.end(), [&](const MarkedText& word) {
      return word.text() == option || word.text().starts_with(std::string(option) + "=");
    });
  };
  if (names_a_program(command, {"llamafactory-cli", "llamafactory.launcher"}) ||
      has("--finetuning_type") || has("--cutoff_len")) {
    return FineTuner::llama_factory;
  }
  if (names_a_program(command, {"swift"})) return FineTuner::swift;
  const std::string program = program_of(command);
  const bool of_trl = names_a_program(command, {"trl"}) || program == "sft" ||
                      program == "run_sft" || has("--use_peft");
  return of_trl ? FineTuner::trl : FineTuner::trainer;
}

}  // namespace

void set_sequence_beside(LaunchRecord& record, const LaunchHints& hints, const std::string& file) {
  if (!record.says_job("seq_length") && !hints.seq_length) {
    throw InputError(file, "", "does not say how long sequences are",
                     "state it with --seq-length N");
  }
  take_stated_length(record, hints);
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
  const ShellCommand* command = fine_tuning_command(script, file, record);
  if (command == nullptr) {
    throw InputError(file, "", "has no command with options of Hugging Face's Trainer",
                     "read are axolotl, llamafactory-cli, trl sft, accelerate launch, torchrun and "
                     "deepspeed");
  }
  refuse_preference_program(*command, file);
  const FineTuner tuner = tuner_of(*command);
  // A file that the script writes counts as one that stands beside it.
  const ReadNamedFile beside = [&](const std::string& name) -> std::optional<std::string> {
    auto found = read ? read(name) : std::nullopt;
    for (const HereDocument& document : script.here_documents) {
      const bool named = document.file.text() == name;
      const bool may_be = document.file.empty() || document.file.unknown();
      const bool shards = contains(document.text.text(), "zero_optimization");
      if (!found && (named || (may_be && shards))) found = document.text.text();
    }
    return found;
  };
  const FineTuningInputs inputs{&hints, &beside, file};
  read_accelerate_part(*command, script, inputs, record);
  Values options = options_of_program(*command, script, tuner, inputs);
  read_start(*command, script, file, record);  // overrules accelerate's file
  list_unknown_words(*command, script, file, record);
  read_environment_counts(script, record);
  read_visible_devices(*command, script, file, record);
  LaunchReading of_program(options, record);
  read_fine_tuning(of_program, fine_tuner_defaults(tuner), inputs);
  return record;
}

namespace {

bool is_trainer_script(const LaunchText& text) {
  if (!is_script(text)) return false;
  for (const char* words :
       {"--deepspeed", "--per_device_train_batch_size", "--gradient_accumulation_steps",
        "--model_name_or_path", "accelerate launch", "axolotl train", "axolotl.cli.train",
        "llamafactory-cli train", "llamafactory.launcher", "trl sft", "--finetuning_type"}) {
    if (contains(text.text, words)) return true;
  }
  return false;
}

}  // namespace

extern const LaunchFormat kTrainerScriptFormat;
constexpr LaunchFormat kTrainerScriptFormat{
    is_trainer_script,
    [](const LaunchText& t, const LaunchHints& hints, const ReadNamedFile& read) {
      return read_trainer_script(t.text, t.file, hints, read);
    }};

}  // namespace meshwright::interop
