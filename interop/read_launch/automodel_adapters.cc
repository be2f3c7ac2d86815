// SPDX-License-Identifier: Apache-2.0
// nemo_automodel/components/_peft/lora.py, PeftConfig, and module_matcher.py.
#include <algorithm>

#include "interop/read_launch/automodel_parts.h"
#include "interop/read_launch/lora.h"

namespace meshwright::interop {
namespace {

// "*.q_proj", "*_proj" and "q_proj".
unsigned adapted_by(const std::string& pattern) {
  const bool all = pattern.ends_with('*') || pattern.ends_with("*_proj");
  return all ? kAllPeftLinears : lora_linear(pattern);
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
  unsigned bits = all != nullptr && flag_of(*all) ? kAllPeftLinears : 0;
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
  job.lora_target_modules = {bits == 0 ? kAllPeftLinears : bits};
  if (from != nullptr) r.note("lora_target_modules", lora_text(job.lora_target_modules), *from);
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
