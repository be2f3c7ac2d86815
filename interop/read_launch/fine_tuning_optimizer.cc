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

// "torch.bfloat16", "bf16"; "auto" is the checkpoint's, taken as bf16.
Precision format_said(const Value& value) {
  const std::string word = lower_case(word_of(value));
  if (contains(word, "bfloat16") || word == "bf16" || word == "auto") return Precision::bf16;
  return contains(word, "float16") || word == "fp16" || word == "half" ? Precision::fp16
                                                                       : Precision::fp32;
}

// Reads mixed precision: the program's switch, else accelerate's or DeepSpeed's file or option,
// else the program's default. fp32: there is none.
Precision read_mixed_precision(LaunchReading& r, const FineTunerDefaults& d) {
  const LaunchRecord& record = r.record();
  const Value* off = r.find("bf16");
  const Value* bf16 = switched_on(r, {"bf16", "bfloat16", "pure_bf16"});
  const Value* fp16 = switched_on(r, {"fp16", "float16"});
  const auto noted = [&](Precision precision, const Value& from) {
    r.note("precision", std::string(name_of(precision)), from);
    return precision;
  };
  if (bf16 != nullptr) return noted(Precision::bf16, *bf16);
  if (fp16 != nullptr) return noted(Precision::fp16, *fp16);
  const bool by_file = record.says_job("precision") && record.job.precision != Precision::fp32;
  if (by_file) return record.job.precision;
  if (off != nullptr) return Precision::fp32;
  if (d.mixed_precision != Precision::fp32) {
    r.assume("precision", std::string(name_of(d.mixed_precision)),
             fmt::format("neither bf16 nor fp16 is said: {}", default_of(d)));
  }
  return d.mixed_precision;
}

// A format of trained weights, and the value that says it; nullptr: the program's default.
struct WeightFormat {
  Precision precision;
  const Value* from = nullptr;
};

WeightFormat read_weight_format(LaunchReading& r, const FineTunerDefaults& d, Precision mixed) {
  const Value* type = r.find("dtype");
  if (d.tuner == FineTuner::axolotl) {
    return {mixed, switched_on(r, {"bf16", "bfloat16", "fp16", "float16"})};
  }
  if (const Value* pure = switched_on(r, {"pure_bf16", "bfloat16"})) return {Precision::bf16, pure};
  if (type != nullptr && d.tuner != FineTuner::llama_factory) return {format_said(*type), type};
  // DeepSpeed without mixed precision takes fp32 weights alone (runtime/engine.py).
  if (r.record().framework.starts_with("deepspeed")) return {Precision::fp32};
  return {r.record().job.lora_rank > 0 ? Precision::bf16 : d.weights};
}

// Tells whether 16-bit weights are trained as such, and sets what follows for gradients and
// weights. FSDP under mixed precision (accelerate, utils/fsdp_utils.py) and DeepSpeed train fp32
// copies.
bool trains_half_weights(LaunchReading& r, const FineTunerDefaults& d) {
  LaunchRecord& record = r.record();
  Job& job = record.job;
  const Precision mixed = read_mixed_precision(r, d);
  const WeightFormat weights = read_weight_format(r, d, mixed);
  job.precision = mixed != Precision::fp32 ? mixed : weights.precision;
  r.settle_job("precision");
  if (mixed == Precision::fp32) {
    r.assume("precision", std::string(name_of(job.precision)),
             "no mixed precision is asked for: it computes in the weights' format");
  }
  const bool sharded = record.layout.fsdp_unit != FsdpUnit::none;
  const bool deepspeed = record.framework.starts_with("deepspeed");
  const bool trained = job.lora_rank == 0 && !deepspeed;
  const bool half = trained && is_half(weights.precision) && is_half(job.precision) &&
                    !(sharded && mixed != Precision::fp32);
  // Replicas under autocast reduce as the software's file says.
  const bool autocast = trained && !sharded && !half && is_half(job.precision);
  if ((trained && !autocast) || (sharded && !deepspeed)) {
    const bool narrow = is_half(job.precision) && (sharded || half);
    job.gradient_precision = narrow ? job.precision : Precision::fp32;
    r.settle_job("gradient_precision");
  }
  if (half) {
    job.master_weights = false;
    r.settle_job("master_weights");
    if (weights.from != nullptr) {
      r.note("master_weights", "false", *weights.from);
    } else {
      r.assume("master_weights", "false",
               fmt::format("weights are loaded and trained in {} unless a type is named: {}",
                           name_of(job.precision), default_of(d)));
    }
  } else if (autocast) {
    r.assume("master_weights", "true", "weights are loaded in fp32 and trained under autocast");
  }
  return half;
}

void read_fp8(LaunchReading& r) {
  const Value* fp8 = r.find("fp8");
  if (fp8 == nullptr || !says_yes(*fp8)) return;
  Job& job = r.record().job;
  job.precision = Precision::fp8;
  r.note("precision", "fp8", *fp8);
  job.fp8_recipe = Fp8Recipe::tensorwise;
  r.assume("fp8_recipe", "tensorwise", "torchao's, which accelerate takes");
  r.settle_job("fp8_recipe");
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
  const bool eager = r.record().job.attention_kernel == AttentionKernel::unfused;
  const Value* all = r.find("use_liger_kernel");
  const Value* norm = r.find("liger_rms_norm");
  const bool whole = all != nullptr && says_yes(*all);
  const bool glu = is_said_on(r, "liger_glu_activation") || is_said_on(r, "liger_swiglu");
  const bool by_parts = norm != nullptr && says_yes(*norm) && glu;
  if (r.record().job.kernel_fusion == KernelFusion::compiled) {
    r.values().pass_over("liger_glu_activation");  // compilation fuses them, too
    r.values().pass_over("liger_swiglu");
  } else if ((whole || by_parts) && !eager) {
    r.record().job.kernel_fusion = KernelFusion::fused;
    r.note("kernel_fusion", "fused", whole ? *all : *norm);
  } else {
    for (const char* key :
         {"use_liger_kernel", "liger_rms_norm", "liger_glu_activation", "liger_swiglu"}) {
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

// TRL's loss of the head's input, chunk by chunk (trl/trainer/sft_trainer.py).
void read_chunked_loss(LaunchReading& r) {
  const Value* type = r.find("loss_type");
  if (type == nullptr || word_of(*type) != "chunked_nll") return;
  r.record().job.cross_entropy_loss_fusion = true;
  r.settle_job("cross_entropy_loss_fusion");
  list_effect(r, *type,
              "logits are made and used piece by piece: less memory than predicted, where whole "
              "16-bit logits are counted",
              OptionEffect::memory);
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
  job.kernel_fusion =
      compiles || compiled_by_file ? KernelFusion::compiled : KernelFusion::transformers;
  read_liger(r);
  if (job.kernel_fusion == KernelFusion::transformers) {
    r.assume("kernel_fusion", "transformers",
             "models of transformers run operator by operator, their norms in fp32");
  }
  r.settle_job("kernel_fusion");
  read_chunked_loss(r);
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
  if (trains_half_weights(r, d) && moment_bits == 0) {
    set_moments(r, job.precision);
    r.assume("exp_avg_precision", std::string(name_of(job.precision)),
             "torch's AdamW keeps its moments in the weights' format");
  }
  read_fp8(r);
}

}  // namespace meshwright::interop
