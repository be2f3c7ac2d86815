// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/automodel_parts.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

void read_automodel_fp8(LaunchReading& r) {
  Job& job = r.record().job;
  const Value* on = automodel_value(r, {"fp8.enabled"});
  const Value* recipe = automodel_value(r, {"fp8.recipe_name"});
  const Value* experts = automodel_value(r, {"model.backend.te_fp8.recipe"});
  if (on != nullptr && flag_of(*on)) {
    job.precision = Precision::fp8;
    r.note("precision", "fp8", *on);
    const Value* gather = automodel_value(r, {"fp8.enable_fsdp_float8_all_gather"});
    job.fp8_param_gather = gather != nullptr && flag_of(*gather);
    if (recipe != nullptr && word_of(*recipe) != "tensorwise") {
      r.not_understood(*recipe, "a scale a row; it is predicted as one a tensor",
                       OptionEffect::precision);
    }
  } else if (experts != nullptr) {
    job.precision = Precision::fp8;
    job.fp8_recipe = word_of(*experts) == "block" ? Fp8Recipe::blockwise : Fp8Recipe::tensorwise;
    r.note("precision", "fp8", *experts);
  }
  for (const char* section : {"fp8.", "model.backend.te_fp8."}) {
    r.values().pass_over_below(section);
  }
  r.settle_job("fp8_param_gather");
}

bool is_fp32(const Value* value) {
  return value != nullptr && (contains(word_of(*value), "32") || word_of(*value) == "float");
}
bool is_bf16(const Value* value) {
  return value != nullptr &&
         (contains(word_of(*value), "bf16") || contains(word_of(*value), "bfloat16"));
}

// Weights are kept as the model is loaded; Adam's moments have their type, unless Transformer
// Engine's Adam keeps fp32 masters.
void read_automodel_states(LaunchReading& r) {
  Job& job = r.record().job;
  const Value* type = automodel_value(r, {"model.torch_dtype", "model.dtype"});
  const Value* masters = automodel_value(r, {"optimizer.master_weights"});
  const bool keeps = masters != nullptr && flag_of(*masters);
  job.master_weights = is_fp32(type) || keeps;
  job.exp_avg_precision = job.exp_avg_sq_precision =
      job.master_weights ? Precision::fp32 : Precision::bf16;
  const Value* first = automodel_value(r, {"optimizer.exp_avg_dtype"});
  const Value* second = automodel_value(r, {"optimizer.exp_avg_sq_dtype"});
  if (is_bf16(first)) job.exp_avg_precision = Precision::bf16;
  if (is_bf16(second)) job.exp_avg_sq_precision = Precision::bf16;
  const std::string on = job.master_weights ? "true" : "false";
  if (masters != nullptr || type != nullptr) {
    r.note("master_weights", on, masters != nullptr ? *masters : *type);
  } else {
    r.assume("master_weights", on, "the model is loaded in bf16 unless model.torch_dtype says");
  }
  for (const char* field : {"master_weights", "exp_avg_precision", "exp_avg_sq_precision"}) {
    r.settle_job(field);
  }
}

void read_automodel_optimizer(LaunchReading& r) {
  Job& job = r.record().job;
  const Value* target = automodel_value(r, {"optimizer._target_"});
  if (target == nullptr) return;
  const std::string name = lower_case(word_of(*target));
  if (contains(name, "sgd")) {
    job.optimizer = Optimizer::sgd;
    r.note("optimizer", "sgd", *target);
    r.settle_job("optimizer");
  } else if (!name.ends_with("adam") && !name.ends_with("adamw")) {
    r.not_understood(*target, "counted as Adam", OptionEffect::optimizer);
  }
}

}  // namespace

// Reduced in fp32 since 2026; FSDP2Manager of 2025 reduced in bf16.
void read_automodel_numbers(LaunchReading& r) {
  Job& job = r.record().job;
  job.precision = Precision::bf16;
  const Value* reduce = distributed_value(r, "mp_policy.reduce_dtype");
  const Value* target = distributed_value(r, "_target_");
  const bool manager = target != nullptr && contains(word_of(*target), "FSDP2Manager");
  const bool half = reduce != nullptr ? is_bf16(reduce) : manager;
  job.gradient_precision = half ? Precision::bf16 : Precision::fp32;
  const std::string name(name_of(job.gradient_precision));
  if (reduce != nullptr) {
    r.note("gradient_precision", name, *reduce);
  } else {
    r.assume("gradient_precision", name,
             manager ? "FSDP2Manager of 2025 reduces in bf16 unless mp_policy says"
                     : "FSDP2Config reduces in fp32 unless mp_policy says");
  }
  for (const std::string section : kAutomodelSections) {
    r.values().pass_over_below(section + "mp_policy.");
  }
  const Value* loss = automodel_value(r, {"loss_fn._target_"});
  const Value* upcast = automodel_value(r, {"loss_fn.fp32_upcast"});
  const bool keeps_half = upcast != nullptr && !flag_of(*upcast);
  job.cross_entropy_loss_fusion =
      keeps_half || (loss != nullptr && !contains(word_of(*loss), "MaskedCrossEntropy") &&
                     !contains(word_of(*loss), "ChunkedCrossEntropy"));
  if (loss != nullptr) {
    r.note("cross_entropy_loss_fusion", job.cross_entropy_loss_fusion ? "true" : "false", *loss);
  }
  const Value* compiled = distributed_value(r, "enable_compile");
  const Value* whole = automodel_value(r, {"compile.enabled"});
  const bool on =
      (compiled != nullptr && flag_of(*compiled)) || (whole != nullptr && flag_of(*whole));
  if (on) {
    job.kernel_fusion = KernelFusion::compiled;
    r.note("kernel_fusion", "compiled", compiled != nullptr ? *compiled : *whole);
    r.settle_job("kernel_fusion");
  }
  const Value* liger = automodel_value(r, {"model.use_liger_kernel"});
  const Value* norm = automodel_value(r, {"model.backend.rms_norm"});
  if (!on && liger != nullptr && !flag_of(*liger) &&
      (norm == nullptr || contains(word_of(*norm), "torch"))) {
    job.kernel_fusion = KernelFusion::eager;
    r.note("kernel_fusion", "eager", *liger);
    r.settle_job("kernel_fusion");
  }
  for (const char* field : {"precision", "gradient_precision", "cross_entropy_loss_fusion"}) {
    r.settle_job(field);
  }
  read_automodel_fp8(r);
  read_automodel_states(r);
  read_automodel_optimizer(r);
}

}  // namespace meshwright::interop
