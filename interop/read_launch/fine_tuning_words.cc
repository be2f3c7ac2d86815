// SPDX-License-Identifier: Apache-2.0
// Spellings of fine-tuning options, and what their values may look like.
#include <algorithm>
#include <array>
#include <cctype>

#include "interop/read_launch/fine_tuning.h"

namespace meshwright::interop {
namespace {

struct TrainerWord {
  std::string_view key;
  std::string_view spellings;
};
// axolotl's words (utils/schemas/config.py), LLaMA-Factory's (hparams/), TRL's (ModelConfig), and
// those of programs round the Trainer.
constexpr std::array kTrainerWords{
    TrainerWord{"model_name_or_path",
                "base_model model_name model model_path model_id model_id_or_path "
                "base_model_name_or_path pretrained_model_name_or_path"},
    TrainerWord{"per_device_train_batch_size", "micro_batch_size per_gpu_train_batch_size"},
    TrainerWord{"seq_length",
                "cutoff_len sequence_len max_length max_seq_length max_seq_len model_max_length "
                "block_size max_len sequence_length"},
    TrainerWord{"optim", "optimizer"},
    TrainerWord{"lora_rank", "lora_r peft_lora_r lora_dim"},
    TrainerWord{"lora_target",
                "lora_target_modules target_modules lora_modules peft_target_modules"},
    TrainerWord{"use_dora", "peft_use_dora"},
    TrainerWord{"modules_to_save", "lora_modules_to_save additional_target"},
    TrainerWord{"use_lora", "use_peft lora_enable use_peft_lora lora enable_lora"},
    TrainerWord{"finetuning_type", "train_type sft_type tuner_type finetuning_mode"},
    TrainerWord{"quantization_bit", "quant_bits"},
    TrainerWord{"load_in_4bit",
                "use_4bit use_4bit_quantization use_4bit_quantisation q_lora qlora "
                "use_qlora"},
    TrainerWord{"load_in_8bit", "use_8bit use_8bit_quantization"},
    TrainerWord{"dtype", "torch_dtype model_dtype"},
    TrainerWord{"context_parallel_size", "sequence_parallel_degree sequence_parallel_size cp_size"},
    TrainerWord{"tensor_parallel_size", "tp_size"},
    TrainerWord{"packing", "sample_packing"},
    TrainerWord{"use_liger_kernel", "enable_liger_kernel use_liger"},
    TrainerWord{"deepspeed", "deepspeed_config deepspeed_config_file"},
    TrainerWord{"torch_compile", "compile"}};

}  // namespace

std::string trainer_key(std::string_view key) {
  std::string plain(key.substr(std::min(key.find_first_not_of('-'), key.size())));
  std::replace(plain.begin(), plain.end(), '-', '_');
  for (const TrainerWord& word : kTrainerWords) {
    for (const std::string& spelling : split_words(word.spellings)) {
      if (plain == spelling) return std::string(word.key);
    }
  }
  return plain;
}

namespace {

bool means_none(const Value& value) {
  if (value.words.size() > 1 || !value.unknown.empty()) return false;
  // An empty list; a switch of a command is on.
  if (value.words.empty()) return !value.said.starts_with('-');
  const std::string word = lower_case(value.words.front());
  return word.empty() || word == "null" || word == "none" || word == "~";
}

// LLaMA-Factory's second version has sections (src/llamafactory/v1/config).
void in_old_words(Value& value) {
  const bool fsdp = value.key == "dist_config.name" && value.words.size() == 1 &&
                    value.words.front().starts_with("fsdp");
  if (fsdp) {
    value.key = "fsdp_version";
    value.words = {value.words.front() == "fsdp" ? "1" : "2"};
  } else if (value.key == "dist_config.config_file") {
    value.key = "deepspeed";
  } else if (value.key == "peft_config.name") {
    value.key = "finetuning_type";
  } else if (value.key == "peft_config.r") {
    value.key = "lora_rank";
  } else if (value.key.starts_with("peft_config.")) {
    value.key = trainer_key(value.key.substr(12));
  }
}

}  // namespace

Values in_trainer_words(const Values& values, FineTuner tuner) {
  Values all;
  for (Value value : values.all()) {
    if (means_none(value)) continue;
    value.key = trainer_key(value.key);
    // "--deepspeed --deepspeed_config x.json": the switch says no file.
    if (value.key == "deepspeed" && value.words.empty()) continue;
    // accelerate's prefix, which axolotl of before 2025-07 and the Trainer have as well.
    if (value.key.starts_with("fsdp_config.fsdp_")) value.key.erase(12, 5);
    if (value.key == "fsdp_config.version") value.key = "fsdp_version";
    if (tuner == FineTuner::llama_factory) in_old_words(value);
    all.add(std::move(value));
  }
  return all;
}

bool says_yes(const Value& value) {
  if (value.words.empty()) return flag_of(value);
  const std::string word = lower_case(word_of(value));
  for (const char* yes : {"true", "1", "yes", "on", "y", "auto"}) {
    if (word == yes) return true;
  }
  for (const char* no : {"false", "0", "no", "off", "n", ""}) {
    if (word == no) return false;
  }
  fail_at(value, "must be true or false");
}

const Value* find_any(LaunchReading& r, std::initializer_list<std::string_view> keys) {
  const Value* found = nullptr;
  for (const std::string_view key : keys) {
    const Value* value = r.find(key);
    if (value != nullptr) found = value;
  }
  return found;
}

const Value* switched_on(LaunchReading& r, std::initializer_list<std::string_view> keys) {
  const Value* on = nullptr;
  for (const std::string_view key : keys) {
    const Value* value = r.find(key);
    if (value == nullptr || on != nullptr) continue;
    const bool full = value->words.size() == 1 && same_letters(value->words.front(), "full");
    if (full || says_yes(*value)) on = value;
  }
  return on;
}

std::vector<std::string> listed_words(const Value& value) {
  std::vector<std::string> words;
  std::string word;
  for (const std::string& each : value.words) {
    for (const char c : each + ",") {
      const bool between = c == ',' || c == ' ' || c == '[' || c == ']' || c == '"' || c == '\'';
      if (!between) {
        word += c;
      } else if (!word.empty()) {
        words.push_back(std::exchange(word, ""));
      }
    }
  }
  return words;
}

void list_effect(LaunchReading& r, const Value& value, const std::string& why,
                 OptionEffect effect) {
  r.record().not_understood.push_back(
      {.said = value.said, .why = why, .place = value.place, .effect = effect});
}

}  // namespace meshwright::interop
