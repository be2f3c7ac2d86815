// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/bridge_precision.h"

#include <algorithm>
#include <array>

#include "interop/read_launch/lora.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

// training/mixed_precision.py. All but the subchannel preset keep linear weights in fp8.
struct Preset {
  std::string_view part;  // of its name
  Precision precision;
  std::optional<Fp8Recipe> recipe;
  bool param_gather;
};
constexpr Preset kPresets[] = {
    {"nvfp4", Precision::fp4, std::nullopt, false},
    {"fp8_delayed_scaling", Precision::fp8, Fp8Recipe::delayed, true},
    {"nanov2_bf16_with_fp8", Precision::fp8, Fp8Recipe::blockwise, true},
    {"fp8_current_scaling", Precision::fp8, Fp8Recipe::tensorwise, true},
    {"fp8_subchannel_scaling", Precision::fp8, Fp8Recipe::blockwise, false},
    {"mxfp8", Precision::fp8, Fp8Recipe::mxfp8, true},
    {"fp8", Precision::fp8, Fp8Recipe::delayed, true},
    {"fp16", Precision::fp16, std::nullopt, false},
    {"16", Precision::bf16, std::nullopt, false},
    {"32", Precision::fp32, std::nullopt, false}};

// "torch.bfloat16", "bfloat16", "bf16".
constexpr std::array kTypeNames{
    EnumName{Precision::fp32, "float32"}, EnumName{Precision::fp32, "fp32"},
    EnumName{Precision::fp32, "float"},   EnumName{Precision::bf16, "bfloat16"},
    EnumName{Precision::bf16, "bf16"},    EnumName{Precision::fp16, "float16"},
    EnumName{Precision::fp16, "fp16"},    EnumName{Precision::fp16, "half"},
    EnumName{Precision::fp8, "uint8"},    EnumName{Precision::fp8, "fp8"}};

bool read_type(LaunchReading& r, Precision& target, const char* field, const char* key) {
  const Value* value = r.find(key);
  if (value == nullptr) return false;
  std::string word = word_of(*value);
  if (word.starts_with("torch.")) word = word.substr(6);
  const auto* const known = std::find_if(kTypeNames.begin(), kTypeNames.end(),
                                         [&](const auto& each) { return each.name == word; });
  if (known == kTypeNames.end()) fail_at(*value, "is no type of numbers that is known here");
  target = known->value;
  r.note(field, std::string(name_of(target)), *value);
  return true;
}

void read_preset(LaunchReading& r, Job& job) {
  const Value* mixed = r.find("mixed_precision");
  if (mixed == nullptr) return;
  const std::string word = replaced(word_of(*mixed), "-", "_");
  for (const Preset& preset : kPresets) {
    if (!contains(word, preset.part)) continue;
    job.precision = preset.precision;
    job.fp8_recipe = preset.recipe;
    job.fp8_param_gather = preset.param_gather;
    break;
  }
  r.note("precision", std::string(name_of(job.precision)), *mixed);
  if (job.fp8_param_gather) r.assume("fp8_param_gather", "true", "the preset " + word + " has it");
  for (const char* field : {"precision", "fp8_recipe", "fp8_param_gather"}) r.settle_job(field);
}

// Fields of the preset that are set by themselves.
void read_preset_fields(LaunchReading& r, Job& job) {
  const auto on = [&](const char* key, Precision precision) {
    if (!r.is_on(std::string("mixed_precision.") + key)) return;
    job.precision = precision;
    r.note("precision", std::string(name_of(precision)),
           *r.find(std::string("mixed_precision.") + key));
    r.settle_job("precision");
  };
  on("fp16", Precision::fp16);
  on("bf16", Precision::bf16);
  for (const char* key : {"mixed_precision.fp8", "model.fp8"}) {
    const Value* fp8 = r.find(key);
    if (fp8 == nullptr || is_off(*fp8)) continue;
    job.precision = Precision::fp8;
    if (!job.fp8_recipe) job.fp8_recipe = Fp8Recipe::tensorwise;
    r.note("precision", "fp8", *fp8);
    for (const char* field : {"precision", "fp8_recipe"}) r.settle_job(field);
  }
  for (const char* key : {"mixed_precision.fp8_recipe", "model.fp8_recipe"}) {
    Fp8Recipe recipe = Fp8Recipe::tensorwise;
    const Value* said = r.find(key);
    if (job.precision != Precision::fp8 || said == nullptr || is_off(*said)) continue;
    if (r.choice(recipe, "fp8_recipe", key, kFp8RecipeNames)) job.fp8_recipe = recipe;
    r.settle_job("fp8_recipe");
  }
  for (const char* key : {"mixed_precision.fp8_param_gather", "mixed_precision.fp8_param",
                          "ddp.fp8_param_gather", "optimizer.fp8_param_gather"}) {
    bool gathers = false;
    if (!r.flag(gathers, "fp8_param_gather", key)) continue;
    job.fp8_param_gather = gathers && job.precision == Precision::fp8;
    r.settle_job("fp8_param_gather");
  }
  for (const char* key :
       {"params_dtype", "pipeline_dtype", "autocast_enabled", "autocast_dtype", "fp8_margin",
        "fp8_amax_history_len", "fp8_amax_compute_algo", "reuse_grad_buf_for_mxfp8_param_ag",
        "loss_scale", "initial_loss_scale", "min_loss_scale", "hysteresis"}) {
    r.values().pass_over(std::string("mixed_precision.") + key);
    r.values().pass_over(std::string("model.") + key);
  }
}

// mixed_precision's switch overrules ddp's (update_config_with_precision_overrides).
void read_gradients(LaunchReading& r, Job& job) {
  const Value* mixed = r.find("mixed_precision.grad_reduce_in_fp32");
  const Value* ddp = r.find("ddp.grad_reduce_in_fp32");
  const bool half = job.precision == Precision::fp16;
  if (half) job.gradient_precision = Precision::fp16;
  if (mixed != nullptr) {
    const Precision narrow = half ? Precision::fp16 : Precision::bf16;
    job.gradient_precision = flag_of(*mixed) ? Precision::fp32 : narrow;
    r.note("gradient_precision", std::string(name_of(job.gradient_precision)), *mixed);
  } else if (ddp != nullptr && !flag_of(*ddp) && !half) {
    r.assume("gradient_precision", "fp32",
             "mixed_precision.grad_reduce_in_fp32, true unless it is set, overrules ddp's");
  }
  if (mixed != nullptr || half) r.settle_job("gradient_precision");
}

// Their types count with the precision-aware optimizer alone.
void read_states(LaunchReading& r, Job& job) {
  const bool aware = r.is_on("optimizer.use_precision_aware_optimizer");
  if (!aware) {
    if (r.find("optimizer.use_precision_aware_optimizer") != nullptr) {
      job.store_param_remainders = false;
      r.settle_job("store_param_remainders");
    }
    for (const char* key :
         {"main_grads_dtype", "main_params_dtype", "exp_avg_dtype", "exp_avg_sq_dtype"}) {
      r.values().pass_over(std::string("optimizer.") + key);
    }
    return;
  }
  r.note("use_precision_aware_optimizer", "true",
         *r.find("optimizer.use_precision_aware_optimizer"));
  read_type(r, job.exp_avg_precision, "exp_avg_precision", "optimizer.exp_avg_dtype");
  read_type(r, job.exp_avg_sq_precision, "exp_avg_sq_precision", "optimizer.exp_avg_sq_dtype");
  Precision gradients = Precision::fp32;
  const bool says = read_type(r, gradients, "gradient_precision", "optimizer.main_grads_dtype");
  if (says && gradients != Precision::fp32) job.gradient_precision = gradients;
  job.store_param_remainders = r.find("optimizer.main_params_dtype") == nullptr;
  Precision master = Precision::fp32;
  read_type(r, master, "main_params_precision", "optimizer.main_params_dtype");
  if (master != Precision::fp32) {
    r.not_understood(*r.find("optimizer.main_params_dtype"),
                     "main weights in 16 bits are not modelled: fp32 ones are predicted",
                     OptionEffect::memory);
  }
  for (const char* field : {"gradient_precision", "exp_avg_precision", "exp_avg_sq_precision",
                            "store_param_remainders"}) {
    r.settle_job(field);
  }
}

void read_bridge_optimizer(LaunchReading& r, Job& job) {
  const Value* name = r.find("optimizer.optimizer");
  if (name != nullptr) {
    const std::string word = word_of(*name);
    job.optimizer = word == "sgd" ? Optimizer::sgd : Optimizer::adam;
    r.note("optimizer", word, *name);
    if (word != "sgd" && word != "adam" && word != "adamw") {
      r.not_understood(*name, "predicted as Adam", OptionEffect::optimizer);
    }
    r.settle_job("optimizer");
  }
  for (const char* key : {"lr", "min_lr", "weight_decay", "clip_grad", "adam_", "bf16", "fp16",
                          "params_dtype", "decoupled_", "log_num_zeros", "loss_scale"}) {
    r.values().pass_over_below(std::string("optimizer.") + key);
  }
}

void read_kernels(LaunchReading& r, Job& job) {
  for (const char* key :
       {"model.fp8_dot_product_attention", "mixed_precision.fp8_dot_product_attention"}) {
    if (!r.flag(job.fp8_dot_product_attention, "fp8_dot_product_attention", key)) continue;
    r.settle_job("fp8_dot_product_attention");
  }
  if (const Value* backend = r.find("model.attention_backend")) {
    std::string word = word_of(*backend);
    word = word.substr(word.rfind('.') + 1);
    const bool unfused = word == "unfused" || word == "local";
    job.attention_kernel = unfused ? AttentionKernel::unfused : AttentionKernel::flash;
    r.note("attention_kernel", std::string(name_of(job.attention_kernel)), *backend);
    r.settle_job("attention_kernel");
  }
  bool fused = false;
  if (r.flag(fused, "cross_entropy_loss_fusion", "model.cross_entropy_loss_fusion")) {
    job.cross_entropy_loss_fusion =
        fused && r.word("model.cross_entropy_fusion_impl", "native") == "te";
    r.settle_job("cross_entropy_loss_fusion");
  }
  r.values().pass_over("model.cross_entropy_fusion_impl");
  double dropout = 0.0;
  for (const char* key : {"model.attention_dropout", "model.hidden_dropout"}) {
    if (!r.number(dropout, "dropout", key, {0, 1})) continue;
    job.dropout = job.dropout || dropout > 0.0;
    r.settle_job("dropout");
  }
  if (r.integer(job.make_vocab_size_divisible_by, "make_vocab_size_divisible_by",
                "model.make_vocab_size_divisible_by", kCounts)) {
    r.settle_job("make_vocab_size_divisible_by");
  }
}

// peft/lora.py: rank 32 on all linears. Another scheme is refused by its name.
void read_peft(LaunchReading& r) {
  const auto& all = r.values().all();
  const bool says =
      std::any_of(all.begin(), all.end(), [](const Value& v) { return v.key.starts_with("peft"); });
  if (!says) return;
  LoraModules modules = kAllLoraLinears;
  for (const char* key : {"peft", "peft.scheme", "peft._target_", "peft.type"}) {
    const Value* scheme = r.find(key);
    if (scheme == nullptr) continue;
    std::string word = lower_case(word_of(*scheme));
    word = word.substr(word.rfind('.') + 1);
    if (word == "none" || word == "null") return r.values().pass_over_below("peft");
    if (word == "canonical_lora" || word == "canonicallora") {
      modules = {kLoraQ | kLoraK | kLoraV | kLoraProj | kLoraFc1Up | kLoraFc1Gate | kLoraFc2};
    } else if (word != "lora") {
      refuse_adapters(*scheme);
    }
  }
  if (const Value* left_out = r.find("peft.exclude_modules"); left_out != nullptr) {
    fail_at(*left_out, "adapters of some layers alone are not modelled");
  }
  read_lora(r, {"peft.dim", "peft.target_modules"}, {32, modules, "LoRA's default (peft/lora.py)"});
  for (const char* key : {"peft.alpha", "peft.dropout", "peft.dropout_position", "peft.lora_",
                          "peft.a2a_experimental", "peft.normalize_moe_lora"}) {
    r.values().pass_over_below(key);
  }
}

}  // namespace

void read_megatron_bridge_job(LaunchReading& r, const LaunchHints& hints) {
  Job& job = r.record().job;
  if (r.integer(job.global_batch_size, "global_batch_size", "train.global_batch_size",
                kParallelSizes)) {
    r.settle_job("global_batch_size");
  }
  if (hints.seq_length) job.seq_length = *hints.seq_length;
  bool said = false;
  // run_recipe.py gives the model the data's length.
  for (const char* key : {"dataset.seq_length", "dataset.sequence_length", "model.seq_length"}) {
    said = said || r.integer(job.seq_length, "seq_length", key, {1, 100'000'000});
  }
  if (said || hints.seq_length) r.settle_job("seq_length");
  read_preset(r, job);
  read_preset_fields(r, job);
  read_gradients(r, job);
  read_states(r, job);
  read_bridge_optimizer(r, job);
  read_kernels(r, job);
  read_peft(r);
}

}  // namespace meshwright::interop
