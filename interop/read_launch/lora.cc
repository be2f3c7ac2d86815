// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/lora.h"

#include <algorithm>

#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

struct LinearName {
  std::string_view names;
  unsigned bits;
};
constexpr unsigned kAllLinearBits = kLoraQkv | kLoraProj | kLoraFc1 | kLoraFc2;
// Beside those of kLoraModuleNames.
// Beside those of kLoraModuleNames: NeMo 1, GPT-NeoX and Hugging Face models.
constexpr LinearName kOtherNames[] = {
    {"all", kAllLinearBits},
    {"all_linear", kAllLinearBits},
    {"attention_qkv qkv_proj query_key_value c_attn W_pack Wqkv", kLoraQkv},
    {"attention_dense o_proj out_proj dense wo", kLoraProj},
    {"attention_kv", kLoraK | kLoraV},
    {"attention", kLoraQkv | kLoraProj},
    {"mlp", kLoraFc1 | kLoraFc2},
    {"q_proj query", kLoraQ},
    {"k_proj key", kLoraK},
    {"v_proj value", kLoraV},
    {"gate_proj w1", kLoraFc1Gate},
    {"up_proj w3", kLoraFc1Up},
    {"mlp_fc1 gate_up_proj dense_h_to_4h", kLoraFc1},
    {"mlp_fc2 down_proj w2 dense_4h_to_h", kLoraFc2}};

}  // namespace

unsigned lora_linear(std::string_view typed) {
  const std::size_t behind = typed.find_last_of('.') + 1;
  // "layers.0.q_proj" is of one layer alone.
  if (typed.substr(0, behind).find_first_of("0123456789") != std::string_view::npos) return 0;
  std::string name(typed.substr(behind));
  std::replace(name.begin(), name.end(), '-', '_');
  std::erase(name, '*');
  for (const auto& [value, known] : kLoraModuleNames) {
    if (known == name) return value;
  }
  for (const LinearName& each : kOtherNames) {
    for (const std::string& known : split_words(each.names)) {
      if (known == name) return each.bits;
    }
  }
  return 0;
}

std::string lora_text(const LoraModules& modules) {
  std::string text;
  for (const auto& [value, name] : kLoraModuleNames) {
    if ((modules.bits & value) != 0) append_to_list(text, "+", name);
  }
  return text;
}

LoraModules lora_modules_of(const Value& modules) {
  LoraModules found{0};
  for (const std::string& typed : modules.words) {
    for (const std::string& word : split(typed, ',')) {
      if (word.empty()) continue;
      const unsigned bits = lora_linear(word);
      if (bits == 0) {
        fail_at(modules, fmt::format("LoRA of \"{}\" is not modelled", word),
                "known are linear_qkv, linear_proj, linear_fc1, linear_fc2 and their parts");
      }
      found.bits |= bits;
    }
  }
  if (found.bits == 0) fail_at(modules, "names no linear");
  return found;
}

void read_lora(LaunchReading& r, const LoraKeys& keys, const LoraDefaults& otherwise) {
  Job& job = r.record().job;
  job.lora_rank = otherwise.rank;
  if (!r.integer(job.lora_rank, "lora_rank", keys.rank, {1, 65'536})) {
    r.assume("lora_rank", std::to_string(job.lora_rank), otherwise.why);
  }
  job.lora_target_modules = otherwise.modules;
  if (const Value* modules = r.find(keys.modules)) {
    job.lora_target_modules = lora_modules_of(*modules);
    r.note("lora_target_modules", lora_text(job.lora_target_modules), *modules);
  } else {
    r.assume("lora_target_modules", lora_text(job.lora_target_modules), otherwise.why);
  }
  for (const char* field : {"lora_rank", "lora_target_modules", "frozen_weight_precision"}) {
    r.settle_job(field);
  }
}

void refuse_adapters(const Value& scheme) {
  fail_at(scheme, "adapters of this kind are trained, which is not modelled",
          "LoRA is; a verdict on training all weights would be false");
}

}  // namespace meshwright::interop
