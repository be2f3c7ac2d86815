// SPDX-License-Identifier: Apache-2.0
// Which modules selective recompute can run again: the checks of Megatron-LM's
// transformer_config.py, commit 002526d.
#pragma once

#include "sim/rules/rule_row.h"

namespace meshwright {

inline constexpr RuleRow kRecomputeRules[]{
    {.name = "recompute_moe_act_needs_experts",
     .part = RulePart::stage_switches,
     .check = [](const RuleInput& in) -> CheckResult {
       const bool asked = recomputes_module(in.layout, kRecomputeMoeActivation);
       return asked && !in.model.moe ? CheckResult{missed(1, 0)} : std::nullopt;
     },
     .requirement = "recompute_modules moe_act needs a mixture-of-experts model.",
     .reason = "It is the activation function of grouped experts; no module is that of a dense MLP "
               "(Megatron-LM transformer_config.py: moe_act only with moe_grouped_gemm).",
     .remedy = "Use the module mlp, which runs a dense MLP again whole.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           return fmt::format("recompute_modules has moe_act, but {} has no experts",
                              in.model.name.empty() ? "the model" : in.model.name);
         }},
    {.name = "recompute_mla_up_proj_needs_latent_attention",
     .part = RulePart::stage_switches,
     .check = [](const RuleInput& in) -> CheckResult {
       const bool asked = recomputes_module(in.layout, kRecomputeMlaUpProjection);
       return asked && !in.model.mla ? CheckResult{missed(1, 0)} : std::nullopt;
     },
     .requirement = "recompute_modules mla_up_proj needs a model with latent attention (MLA).",
     .reason = "Only there queries, keys and values are projected up from a latent (Megatron-LM "
               "transformer_config.py).",
     .remedy = "Take mla_up_proj out of recompute_modules.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           return fmt::format("recompute_modules has mla_up_proj, but {} has no latent attention",
                              in.model.name.empty() ? "the model" : in.model.name);
         }},
    {.name = "recompute_forbids_delayed_scaling",
     .part = RulePart::stage_switches,
     .check = [](const RuleInput& in) -> CheckResult {
       const bool delayed =
           in.job.precision == Precision::fp8 && in.job.fp8_recipe == Fp8Recipe::delayed;
       const bool asked =
           recomputes_module(in.layout, kRecomputeLayerNorm | kRecomputeMoeActivation);
       return asked && delayed ? CheckResult{missed(1, 0)} : std::nullopt;
     },
     .requirement =
         "recompute_modules layernorm and moe_act need an fp8_recipe other than delayed.",
     .reason = "The second pass would enter its maxima into the history once more (Megatron-LM "
               "transformer_config.py: delayed scaling supports neither).",
     .remedy = "Use fp8_recipe tensorwise, blockwise or mxfp8, or other modules.",
     .sentence =
         [](const RuleInput&, const Missed&) {
           return std::string("recompute_modules has layernorm or moe_act with fp8_recipe delayed");
         }},
    {.name = "recompute_op_stands_alone",
     .part = RulePart::stage_switches,
     .check = [](const RuleInput& in) -> CheckResult {
       const bool broken = recomputes_module(in.layout, kRecomputeOp) &&
                           in.layout.recompute_modules.bits != kRecomputeOp;
       return broken ? CheckResult{missed(1, 0)} : std::nullopt;
     },
     .requirement = "recompute_modules op excludes other modules.",
     .reason = "The policy decides for every operator of a block (torchtitan parallelize_llama.py, "
               "_custom_policy).",
     .remedy = "Use op alone, or modules without op.",
     .sentence =
         [](const RuleInput&, const Missed&) {
           return std::string("recompute_modules has op beside other modules");
         }},
    {.name = "selective_recompute_is_the_frameworks",
     .part = RulePart::stage_switches,
     .check = [](const RuleInput& in) -> CheckResult {
       const Framework* framework = in.devices.framework;
       const bool known = framework != nullptr && !framework->name.empty();
       const bool selective = in.layout.recompute_granularity == RecomputeGranularity::selective;
       if (!known || !selective) return std::nullopt;
       const bool by_op = framework->defaults.layout.recompute_modules.has(kRecomputeOp);
       const bool differs = by_op != in.layout.recompute_modules.has(kRecomputeOp);
       return differs ? CheckResult{missed(1, 0)} : std::nullopt;
     },
     .requirement = "recompute_modules op needs torchtitan, and torchtitan has no other module.",
     .reason = "Selective recompute is Megatron-LM's by module, and torchtitan's by operator.",
     .remedy = "Use the framework's own recompute_modules, or recompute full or none.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           const bool asked = in.layout.recompute_modules.has(kRecomputeOp);
           return fmt::format("{} recomputes by {}", in.devices.framework->name,
                              asked ? "module, not by op" : "op, not by module");
         }},
};

}  // namespace meshwright
