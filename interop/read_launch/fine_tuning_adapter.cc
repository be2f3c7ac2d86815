// SPDX-License-Identifier: Apache-2.0
// What of a model is trained: LoRA and QLoRA by PEFT's words; other ways are refused or listed.
#include <algorithm>
#include <array>

#include "interop/read_launch/fine_tuning.h"
#include "interop/read_launch/lora.h"

namespace meshwright::interop {
namespace {

// A regular expression: "...(mlp|self_attn).(up|down|gate|q|k|v|o)_proj".
unsigned modules_of_expression(const std::string& text) {
  unsigned bits = 0;
  for (const auto& [part, bit] : {std::pair{"q", kLoraQ},
                                  {"k", kLoraK},
                                  {"v", kLoraV},
                                  {"o", kLoraProj},
                                  {"gate", kLoraFc1Gate},
                                  {"up", kLoraFc1Up},
                                  {"down", kLoraFc2}}) {
    for (const char* end : {"|", ")"}) {
      const std::string inside = std::string(part) + end;
      for (const char* begin : {"(", "|"}) {
        if (contains(text, begin + inside)) bits |= bit;
      }
    }
    if (contains(text, std::string(part) + "_proj")) bits |= bit;
  }
  return bits;
}

bool means_all(const std::string& word) {
  const std::string name = lower_case(word);
  return name == "all" || name == "all-linear" || name == "all_linear";
}

bool is_expression(const Value& value) {
  return value.words.size() == 1 && value.words.front().find_first_of("(|*\\") != std::string::npos;
}

unsigned adapted_modules(LaunchReading& r, const Value& value) {
  if (is_expression(value)) {
    const unsigned bits = modules_of_expression(value.words.front());
    if (bits == 0) fail_at(value, "no linear that is known matches it");
    return bits;
  }
  unsigned bits = 0;
  std::string others;
  for (const std::string& word : listed_words(value)) {
    const unsigned known = means_all(word) ? kAllPeftLinears : lora_linear(word);
    bits |= known;
    if (known == 0) append_to_list(others, ", ", word);
  }
  if (!others.empty()) {
    list_effect(r, value, fmt::format("adapters of {} are not counted", others),
                OptionEffect::memory);
  }
  if (bits == 0) fail_at(value, "none of these linears is known here");
  return bits;
}

void read_adapted_linears(LaunchReading& r, const FineTunerDefaults& d) {
  Job& job = r.record().job;
  const Value* linear = r.find("lora_target_linear");
  const Value* target = r.find("lora_target");
  unsigned bits = 0;
  const Value* from = nullptr;
  if (target != nullptr && !target->words.empty()) {
    bits = adapted_modules(r, *target);
    from = target;
  }
  if (linear != nullptr && says_yes(*linear)) {
    bits = kAllPeftLinears;
    from = linear;
  }
  if (from != nullptr) {
    r.note("lora_target_modules", lora_text({bits}), *from);
  } else {
    bits = d.all_linears ? kAllPeftLinears : kLoraQ | kLoraV;
    r.assume("lora_target_modules", lora_text({bits}),
             d.all_linears ? fmt::format("{}'s default", d.name) : "PEFT's default for Llama");
  }
  job.lora_target_modules.bits = bits;
  r.settle_job("lora_target_modules");
}

// The switch or word that asks for adapters; nullptr: all weights are trained.
const Value* adapter_asked(LaunchReading& r, const FineTunerDefaults& d) {
  const Value* kind = r.find("finetuning_type");
  if (kind == nullptr) kind = r.find("adapter");
  if (kind != nullptr) {
    const std::string word = lower_case(word_of(*kind));
    if (word == "full") return nullptr;
    if (word == "lora" || word == "qlora") return kind;
    fail_at(*kind, "trains neither all weights nor LoRA's adapters, which is not modelled",
            "lora, qlora and full are read");
  }
  const Value* on = r.find("use_lora");
  if (on != nullptr) return says_yes(*on) ? on : nullptr;
  const Value* rank = r.find("lora_rank");
  // TRL has a rank ready, whose switch is use_peft.
  const bool by_rank = d.tuner == FineTuner::trainer || d.tuner == FineTuner::axolotl;
  return by_rank ? rank : nullptr;
}

// Reads the format of frozen weights, and returns the value that states it.
const Value* quantized(LaunchReading& r, Precision& stored) {
  const Value* found = nullptr;
  const auto set = [&](Precision precision, const Value* value) {
    stored = precision;
    found = value;
  };
  const Value* kind = r.find("adapter");
  if (kind != nullptr && same_letters(word_of(*kind), "qlora")) set(Precision::fp4, kind);
  for (const auto& [key, precision] : {std::pair{"load_in_8bit", Precision::fp8},
                                       {"load_in_4bit", Precision::fp4},
                                       {"gptq", Precision::fp4}}) {
    const Value* value = r.find(key);
    if (value != nullptr && says_yes(*value)) set(precision, value);
  }
  for (const char* key : {"quantization_bit", "bits"}) {
    const Value* value = r.find(key);
    if (value == nullptr) continue;
    const int bits = integer_of(*value, {2, 32});
    if (bits != 4 && bits != 8 && bits < 16)
      fail_at(*value, "weights of 4, 8 and 16 bits are read");
    if (bits < 16) set(bits == 4 ? Precision::fp4 : Precision::fp8, value);
  }
  const Value* type = r.find("peft.weight_dtype");
  if (type != nullptr) {
    const bool narrow = contains(lower_case(word_of(*type)), "4");
    set(narrow ? Precision::fp4 : Precision::fp8, type);
  }
  return found;
}

void refuse_other_training(LaunchReading& r) {
  for (const char* key : {"use_galore", "use_apollo", "use_badam", "use_llama_pro", "use_mca",
                          "freeze_language_model", "use_oft"}) {
    const Value* value = r.find(key);
    if (value != nullptr && says_yes(*value)) {
      fail_at(*value, "changes what is trained or kept in a way that is not modelled",
              "leave it out to ask about plain training");
    }
  }
  for (const char* key : {"mixture_of_depths", "unfrozen_parameters", "lisa_n_layers",
                          "galore_rank", "optim_target_modules", "freeze_trainable_layers"}) {
    const Value* value = r.find(key);
    if (value == nullptr) continue;
    fail_at(*value, "changes what is trained or kept in a way that is not modelled",
            "leave it out to ask about plain training");
  }
}

void list_adapter_options(LaunchReading& r) {
  for (const auto& [key, why] :
       {std::pair{"use_dora", "DoRA adds magnitudes and norms of whole weights to LoRA"},
        {"relora", "ReLoRA merges adapters now and then"},
        {"shift_attn", "shifted sparse attention costs less than full attention"},
        {"s2_attention", "shifted sparse attention costs less than full attention"},
        {"freeze_vision_tower", "images and their encoder are not modelled"},
        {"freeze_vit", "images and their encoder are not modelled"},
        {"freeze_aligner", "images and their encoder are not modelled"},
        {"freeze_multi_modal_projector", "images and their encoder are not modelled"}}) {
    const Value* value = r.find(key);
    if (value != nullptr && says_yes(*value)) list_effect(r, *value, why, OptionEffect::cost);
  }
  for (const char* key : {"modules_to_save", "lora_target_parameters"}) {
    const Value* value = r.find(key);
    if (value == nullptr || value->words.empty()) continue;
    list_effect(r, *value, "what it trains beside the adapters is not counted",
                OptionEffect::memory);
  }
  for (const char* key : {"vision_tower", "pretrain_mm_mlp_adapter", "image_max_pixels",
                          "video_max_pixels", "image_folder"}) {
    const Value* value = r.find(key);
    if (value == nullptr) continue;
    list_effect(r, *value, "images and their encoder are not modelled", OptionEffect::cost);
  }
  for (const char* key : {"peft_layers_to_transform", "layers_to_transform",
                          "peft_trainable_token_indices", "relora_steps", "jagged_restart_steps"}) {
    const Value* value = r.find(key);
    if (value != nullptr) {
      list_effect(r, *value, "adapters are counted in all layers, throughout",
                  OptionEffect::memory);
    }
  }
}

}  // namespace

void read_adapters(LaunchReading& r, const FineTunerDefaults& d) {
  refuse_other_training(r);
  list_adapter_options(r);
  Job& job = r.record().job;
  Precision stored = Precision::bf16;
  const Value* narrow = quantized(r, stored);
  const Value* adapter = adapter_asked(r, d);
  // LLaMA-Factory's second version trains all weights unless peft_config says otherwise.
  const bool second = r.values().has("train_dataset") || r.values().has("model_class");
  if (adapter == nullptr && d.adapts && !second && r.find("finetuning_type") == nullptr) {
    job.lora_rank = d.lora_rank;
    r.assume("finetuning_type", "lora", fmt::format("{}'s default", d.name));
  }
  if (adapter != nullptr) job.lora_rank = d.lora_rank;
  const Value* rank = r.find("lora_rank");
  if (job.lora_rank == 0) {
    if (narrow != nullptr) {
      fail_at(*narrow, "narrow weights are not trained without adapters, and none are asked for",
              "adapter: lora, use_peft, finetuning_type: lora");
    }
    return;
  }
  if (adapter != nullptr && adapter != rank) r.note("adapter", "lora", *adapter);
  if (rank != nullptr) {
    job.lora_rank = integer_of(*rank, {1, 65'536});
    r.note("lora_rank", std::to_string(job.lora_rank), *rank);
  } else {
    r.assume("lora_rank", std::to_string(job.lora_rank), fmt::format("{}'s default", d.name));
  }
  r.settle_job("lora_rank");
  read_adapted_linears(r, d);
  if (narrow == nullptr) return;
  job.frozen_weight_precision = stored;
  r.note("frozen_weight_precision", stored == Precision::fp4 ? "nf4" : "fp8", *narrow);
  r.settle_job("frozen_weight_precision");
}

}  // namespace meshwright::interop
