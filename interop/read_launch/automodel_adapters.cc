// SPDX-License-Identifier: Apache-2.0
// nemo_automodel/components/_peft/lora.py, PeftConfig, and module_matcher.py.
#include <algorithm>
#include <array>

#include "interop/read_launch/automodel_parts.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

struct AdaptedLinear {
  std::string_view name;
  unsigned modules;
};
// Hugging Face's names of linears.
constexpr std::array kAdaptedLinears{
    AdaptedLinear{"q_proj", kLoraQ},      AdaptedLinear{"k_proj", kLoraK},
    AdaptedLinear{"v_proj", kLoraV},      AdaptedLinear{"qkv_proj", kLoraQkv},
    AdaptedLinear{"o_proj", kLoraProj},   AdaptedLinear{"gate_proj", kLoraFc1Gate},
    AdaptedLinear{"up_proj", kLoraFc1Up}, AdaptedLinear{"gate_up_proj", kLoraFc1},
    AdaptedLinear{"down_proj", kLoraFc2}};
constexpr unsigned kAdaptsAll =
    kLoraQ | kLoraK | kLoraV | kLoraProj | kLoraFc1Gate | kLoraFc1Up | kLoraFc2;

// "*.q_proj", "*_proj" and "q_proj".
unsigned adapted_by(const std::string& pattern) {
  std::string name =
      pattern.substr(pattern.rfind('.') == std::string::npos ? 0 : pattern.rfind('.') + 1);
  std::erase(name, '*');
  if (name == "_proj" || name.empty()) return kAdaptsAll;
  for (const AdaptedLinear& linear : kAdaptedLinears) {
    if (linear.name == name) return linear.modules;
  }
  return 0;
}

}  // namespace

void read_automodel_adapters(LaunchReading& r) {
  Job& job = r.record().job;
  const bool has = std::any_of(r.values().all().begin(), r.values().all().end(),
                               [](const Value& value) { return value.key.starts_with("peft."); });
  if (!has) return;
  job.lora_rank = 8;  // PeftConfig
  if (!r.integer(job.lora_rank, "lora_rank", "peft.dim", kParallelSizes)) {
    r.assume("lora_rank", "8", "PeftConfig's default");
  }
  const Value* modules = automodel_value(r, {"peft.target_modules"});
  const Value* all = automodel_value(r, {"peft.match_all_linear"});
  unsigned bits = all != nullptr && flag_of(*all) ? kAdaptsAll : 0;
  if (modules != nullptr) {
    for (const std::string& word : modules->words) {
      const unsigned adapted = adapted_by(word);
      if (adapted == 0) {
        r.not_understood(*modules, word + " is no linear that is known here", OptionEffect::memory);
      }
      bits |= adapted;
    }
  }
  const Value* from = modules != nullptr ? modules : all;
  job.lora_target_modules = {bits == 0 ? kAdaptsAll : bits};
  if (from != nullptr) r.note("lora_target_modules", from->said, *from);
  const Value* exclude = automodel_value(r, {"peft.exclude_modules"});
  if (exclude != nullptr && !exclude->words.empty()) {
    r.not_understood(*exclude, "counted as adapted", OptionEffect::memory);
  }
  const Value* four = automodel_value(r, {"quantization.load_in_4bit"});
  const Value* eight = automodel_value(r, {"quantization.load_in_8bit"});
  if (four != nullptr && flag_of(*four)) job.frozen_weight_precision = Precision::fp4;
  if (eight != nullptr && flag_of(*eight)) job.frozen_weight_precision = Precision::fp8;
  r.values().pass_over_below("peft.");
  r.values().pass_over_below("quantization.");
  for (const char* field : {"lora_rank", "lora_target_modules", "frozen_weight_precision"}) {
    r.settle_job(field);
  }
}

}  // namespace meshwright::interop
