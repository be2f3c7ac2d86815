// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/lora.h"

#include <algorithm>

#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

struct LinearName {
  std::string_view name;
  unsigned bits;
};
constexpr unsigned kAllLinearBits = kLoraQkv | kLoraProj | kLoraFc1 | kLoraFc2;
// Beside those of kLoraModuleNames.
constexpr LinearName kOtherNames[] = {{"all", kAllLinearBits},
                                      {"all_linear", kAllLinearBits},
                                      {"attention_qkv", kLoraQkv},
                                      {"attention_dense", kLoraProj},
                                      {"attention_kv", kLoraK | kLoraV},
                                      {"attention", kLoraQkv | kLoraProj},
                                      {"mlp", kLoraFc1 | kLoraFc2},
                                      {"mlp_fc1", kLoraFc1},
                                      {"mlp_fc2", kLoraFc2},
                                      {"q_proj", kLoraQ},
                                      {"k_proj", kLoraK},
                                      {"v_proj", kLoraV},
                                      {"o_proj", kLoraProj},
                                      {"gate_proj", kLoraFc1Gate},
                                      {"up_proj", kLoraFc1Up},
                                      {"down_proj", kLoraFc2},
                                      {"qkv_proj", kLoraQkv},
                                      {"dense_h_to_4h", kLoraFc1},
                                      {"dense_4h_to_h", kLoraFc2},
                                      {"query_key_value", kLoraQkv},
                                      {"self_attention.linear_qkv", kLoraQkv},
                                      {"self_attention.linear_proj", kLoraProj},
                                      {"mlp.linear_fc1", kLoraFc1},
                                      {"mlp.linear_fc2", kLoraFc2}};

unsigned bits_of_linear(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  if (name.starts_with("*.")) name.erase(0, 2);
  for (const auto& [value, known] : kLoraModuleNames) {
    if (known == name) return value;
  }
  for (const LinearName& each : kOtherNames) {
    if (each.name == name) return each.bits;
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

}  // namespace

LoraModules lora_modules_of(const Value& modules) {
  LoraModules found{0};
  for (const std::string& typed : modules.words) {
    for (const std::string& word : split(typed, ',')) {
      if (word.empty()) continue;
      const unsigned bits = bits_of_linear(word);
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
