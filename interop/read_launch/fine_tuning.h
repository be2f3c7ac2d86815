// SPDX-License-Identifier: Apache-2.0
// Fine-tuning of Hugging Face transformers: what axolotl, LLaMA-Factory, TRL, ms-swift and programs
// round the Trainer have in common. Keys are the Trainer's (training_args.py) without dashes:
// "per_device_train_batch_size". Others' spellings are put into these first.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interop/read_launch/launch_reading.h"
#include "interop/read_launch/launch_text.h"
#include "interop/shell/named_file.h"

namespace meshwright::interop {

enum class FineTuner { trainer, trl, axolotl, llama_factory, swift };

// Defaults of a program for keys that its configuration lacks.
struct FineTunerDefaults {
  FineTuner tuner = FineTuner::trainer;
  const char* target = "accelerate";
  const char* name = "the Trainer";  // in sentences
  int micro_batch_size = 8;
  int seq_length = 0;  // 0: none that is known
  bool recomputes = false;
  // fp32: no mixed precision, it computes in the weights' format.
  Precision mixed_precision = Precision::fp32;
  Precision weights = Precision::bf16;  // that are trained
  int lora_rank = 8;
  bool all_linears = false;  // of LoRA's targets; else q and v
  bool adapts = false;       // LoRA, unless told otherwise
};
const FineTunerDefaults& fine_tuner_defaults(FineTuner tuner);
std::string default_of(const FineTunerDefaults& defaults);  // "TRL's default"
// By LaunchRecord::target; of the others the Trainer.
FineTuner fine_tuner_of_target(std::string_view target);
// Recognises the program by the keys of a document; nothing: it is none of these.
std::optional<FineTuner> fine_tuner_of(const LaunchText& text);

// Inputs of a fine-tuning launch besides its keys.
struct FineTuningInputs {
  const LaunchHints* hints = nullptr;
  const ReadNamedFile* read = nullptr;
  std::string file;  // that the keys stand in
};

// A key in the Trainer's spelling, without dashes.
std::string trainer_key(std::string_view key);
// Keys in the Trainer's spelling; values that say "none" are left out.
Values in_trainer_words(const Values& values, FineTuner tuner);
void refuse_reinforcement(LaunchReading& reading);

// Reads all keys, and lists those that it does not understand. Values that the record already has,
// from accelerate's or DeepSpeed's file, stay if the keys do not state them.
void read_fine_tuning(LaunchReading& reading, const FineTunerDefaults& defaults,
                      const FineTuningInputs& inputs);

// Its parts.
void read_adapters(LaunchReading& reading, const FineTunerDefaults& defaults);
void read_sharding(LaunchReading& reading, const FineTuningInputs& inputs);
// Mixed precision, the formats of weights, gradients and moments, the optimizer.
void read_fine_tuning_optimizer(LaunchReading& reading, const FineTunerDefaults& defaults);
void read_fine_tuning_kernels(LaunchReading& reading);

// A file of DeepSpeed or accelerate that a launch names: as it stands beside it, or what is known
// of the one that is shipped under that name. Values of the command come after the file's. Throws
// InputError where it is neither.
void read_sharding_file(const std::string& name, const Value& from, const Values& more,
                        const FineTuningInputs& inputs, LaunchRecord& record);
void read_sharding_text(const std::string& text, const std::string& name, const Values& more,
                        LaunchRecord& record);
// Finds a file by its path, or by the last part alone.
std::optional<std::string> file_beside(const std::string& name, const FineTuningInputs& inputs);

// A switch in any spelling: "yes", "on", "auto".
bool says_yes(const Value& value);
// The last of several keys that stands; nullptr: none does. All count as used.
const Value* find_any(LaunchReading& reading, std::initializer_list<std::string_view> keys);
// The first switch that is on; axolotl's bf16 may be "full".
const Value* switched_on(LaunchReading& reading, std::initializer_list<std::string_view> keys);
// "[q_proj, 'v_proj']", "q_proj,v_proj": the words.
std::vector<std::string> listed_words(const Value& value);
// Listed with its effect, never as a size or an adapter that nobody read.
void list_effect(LaunchReading& reading, const Value& value, const std::string& why,
                 OptionEffect effect);

}  // namespace meshwright::interop
