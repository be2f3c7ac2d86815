// SPDX-License-Identifier: Apache-2.0
// Optimizers, the formats of weights and moments, and kernels of fine-tuning launches.
#include <algorithm>
#include <array>

#include "interop/read_launch/fine_tuning.h"

namespace meshwright::interop {
namespace {

struct KnownOptimizer {
  std::string_view names;
  Optimizer optimizer;
  // Bits of one moment; 0: as the weights.
  int moment_bits;
};
// transformers' OptimizerNames and axolotl's CustomSupportedOptimizers.
constexpr std::array kTunedOptimizers{
    KnownOptimizer{"adam adamw adamw_torch adamw_torch_fused adamw_hf adamw_apex_fused fused_adam "
                   "adamw_torch_xla adamw_torch_npu_fused adopt_adamw optimi_adamw stable_adamw",
                   Optimizer::adam, 0},
    KnownOptimizer{"paged_adamw paged_adamw_32bit adamw_32bit", Optimizer::adam, 32},
    KnownOptimizer{"adamw_8bit adamw_bnb_8bit paged_adamw_8bit adamw_torch_8bit ao_adamw_8bit "
                   "ao_adamw_fp8 adam_8bit adam8bit adamw8bit",
                   Optimizer::adam, 8},
    KnownOptimizer{"adamw_torch_4bit ao_adamw_4bit", Optimizer::adam, 4},
    KnownOptimizer{"sgd", Optimizer::sgd, 0}};

const KnownOptimizer* known_optimizer(const std::string& word) {
  const std::string name = lower_case(word);
  for (const KnownOptimizer& each : kTunedOptimizers) {
    for (const std::string& spelling : split_words(each.names)) {
      if (name == spelling) return &each;
    }
  }
  return nullptr;
}

Precision moment_format(int bits) {
  return bits == 4 ? Precision::fp4 : bits == 8 ? Precision::fp8 : Precision::fp32;
}

void set_moments(LaunchReading& r, Precision precision) {
  Job& job = r.record().job;
  job.exp_avg_precision = job.exp_avg_sq_precision = precision;
  r.settle_job("exp_avg_precision");
  r.settle_job("exp_avg_sq_precision");
}

bool is_half(Precision precision) {
  return precision == Precision::bf16 || precision == Precision::fp16;
}

// The value by which 16-bit weights are loaded and trained as such; nullptr: they are not.
const Value* half_weights(LaunchReading& r, const FineTunerDefaults& d) {
  const LaunchRecord& record = r.record();
  const bool shards_fp32 =
      record.layout.fsdp_unit != FsdpUnit::none || record.framework.starts_with("deepspeed");
  if (shards_fp32 || record.job.lora_rank > 0 || !is_half(record.job.precision)) return nullptr;
  if (d.tuner == FineTuner::axolotl) {
    return switched_on(r, {"bf16", "bfloat16", "fp16", "float16"});
  }
  if (const Value* pure = switched_on(r, {"pure_bf16", "bfloat16"})) return pure;
  const Value* type = r.find("dtype");
  if (type == nullptr || d.tuner == FineTuner::llama_factory) return nullptr;
  const std::string word = lower_case(word_of(*type));
  return contains(word, "32") ? nullptr : type;
}

void list_other_optimizers(LaunchReading& r) {
  for (const char* key : {"use_adam_mini", "use_muon", "use_lion"}) {
    const Value* value = r.find(key);
    if (value == nullptr || !says_yes(*value)) continue;
    list_effect(r, *value, "predicted as Adam", OptionEffect::optimizer);
  }
}

bool plugs_in_fused_loss(LaunchReading& r) {
  bool fused = false;
  for (const Value& value : r.values().all()) {
    if (value.key.starts_with("plugins")) {
      for (const std::string& word : value.words) {
        fused = fused || contains(lower_case(word), "cut_cross_entropy");
      }
    }
  }
  const Value* off = r.find("cut_cross_entropy");
  return off == nullptr ? fused : says_yes(*off);
}

const Value* plugin_value(LaunchReading& r) {
  const Value* found = r.find("cut_cross_entropy");
  for (const Value& value : r.values().all()) {
    if (found == nullptr && value.key.starts_with("plugins")) found = &value;
  }
  return found;
}

bool is_said_on(LaunchReading& r, const char* key) {
  const Value* value = r.find(key);
  return value != nullptr && says_yes(*value);
}

// Liger's norm and activation keep what fused kernels keep (linkedin/Liger-Kernel, ops/rms_norm.py,
// swiglu.py): the input, the gate and up.
void read_liger(LaunchReading& r) {
  const Value* all = r.find("use_liger_kernel");
  const Value* norm = r.find("liger_rms_norm");
  const bool whole = all != nullptr && says_yes(*all);
  const bool glu = is_said_on(r, "liger_glu_activation") || is_said_on(r, "liger_swiglu");
  const bool by_parts = norm != nullptr && says_yes(*norm) && glu;
  if (whole || by_parts) {
    r.record().job.kernel_fusion = KernelFusion::fused;
    r.note("kernel_fusion", "fused", whole ? *all : *norm);
  } else {
    for (const char* key : {"liger_rms_norm", "liger_glu_activation", "liger_swiglu"}) {
      const Value* value = r.find(key);
      if (value == nullptr || !says_yes(*value)) continue;
      list_effect(r, *value, "it keeps less than the operators that are predicted",
                  OptionEffect::memory);
    }
  }
  const Value* linear = r.find("liger_fused_linear_cross_entropy");
  const Value* loss = r.find("liger_cross_entropy");
  const bool linear_on = linear == nullptr ? whole && loss == nullptr : says_yes(*linear);
  const Value* cut = plugs_in_fused_loss(r) ? plugin_value(r) : nullptr;
  if (!linear_on && cut == nullptr && (loss == nullptr || !says_yes(*loss))) return;
  r.record().job.cross_entropy_loss_fusion = true;
  r.settle_job("cross_entropy_loss_fusion");
  const Value* from = cut != nullptr      ? cut
                      : linear != nullptr ? linear
                      : loss != nullptr   ? loss
                                          : all;
  r.note("cross_entropy_loss_fusion", "true", *from);
  if (linear_on || cut != nullptr) {
    list_effect(r, *from,
                "logits are made and used piece by piece: less memory than predicted, where whole "
                "16-bit logits are counted",
                OptionEffect::memory);
  }
}

void list_unsloth(LaunchReading& r) {
  for (const char* key : {"use_unsloth",
                          "unsloth_cross_entropy_loss",
                          "unsloth_lora_mlp",
                          "unsloth_lora_qkv",
                          "unsloth_lora_o",
                          "unsloth_rms_norm",
                          "unsloth_rope",
                          "lora_mlp_kernel",
                          "lora_qkv_kernel",
                          "lora_o_kernel",
                          "use_v1_kernels",
                          "flash_attn_cross_entropy",
                          "flash_attn_rms_norm",
                          "flash_attn_fuse_qkv",
                          "flash_attn_fuse_mlp",
                          "tiled_mlp",
                          "liger_rope",
                          "liger_layer_norm",
                          "chunked_cross_entropy",
                          "use_scattermoe",
                          "use_sonicmoe",
                          "use_kernels"}) {
    const Value* value = r.find(key);
    if (value == nullptr || !says_yes(*value)) continue;
    list_effect(r, *value, "a fused kernel: less time or memory than predicted",
                OptionEffect::schedule);
  }
}

}  // namespace

void read_fine_tuning_kernels(LaunchReading& r) {
  Job& job = r.record().job;
  const bool compiled_by_file =
      r.record().says_job("kernel_fusion") && job.kernel_fusion == KernelFusion::compiled;
  const Value* compile = r.find("torch_compile");
  const bool compiles = compile != nullptr && says_yes(*compile);
  if (compiles) r.note("kernel_fusion", "compiled", *compile);
  if (compiles || compiled_by_file) {
    job.kernel_fusion = KernelFusion::compiled;
  } else {
    job.kernel_fusion = KernelFusion::transformers;
    read_liger(r);
    if (job.kernel_fusion == KernelFusion::transformers) {
      r.assume("kernel_fusion", "transformers",
               "models of transformers run operator by operator, their norms in fp32");
    }
  }
  r.settle_job("kernel_fusion");
  list_unsloth(r);
}

void read_fine_tuning_optimizer(LaunchReading& r, const FineTunerDefaults& d) {
  Job& job = r.record().job;
  list_other_optimizers(r);
  int moment_bits = 0;
  if (const Value* value = r.find("optim")) {
    const KnownOptimizer* known = known_optimizer(word_of(*value));
    if (known == nullptr) {
      list_effect(r, *value, "predicted as Adam", OptionEffect::optimizer);
    } else {
      job.optimizer = known->optimizer;
      moment_bits = known->moment_bits;
      r.note("optimizer", std::string(name_of(job.optimizer)), *value);
      r.settle_job("optimizer");
      if (moment_bits > 0 && moment_bits < 32) {
        r.note("exp_avg_precision", fmt::format("{} bits", moment_bits), *value);
      }
    }
  }
  if (moment_bits > 0) set_moments(r, moment_format(moment_bits));
  const Value* half = half_weights(r, d);
  if (half == nullptr) {
    const bool sharded = r.record().layout.fsdp_unit != FsdpUnit::none;
    if (job.lora_rank == 0 && !sharded && is_half(job.precision) &&
        !r.record().framework.starts_with("deepspeed")) {
      job.gradient_precision = Precision::fp32;
      r.settle_job("gradient_precision");
      r.assume("master_weights", "true", "weights are loaded in fp32 and trained under autocast");
    }
    return;
  }
  job.master_weights = false;
  job.gradient_precision = job.precision;
  r.settle_job("master_weights");
  r.settle_job("gradient_precision");
  r.note("master_weights", "false", *half);
  if (moment_bits > 0) return;
  set_moments(r, job.precision);
  r.assume("exp_avg_precision", std::string(name_of(job.precision)),
           "torch's AdamW keeps its moments in the weights' format");
}

}  // namespace meshwright::interop
