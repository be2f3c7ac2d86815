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
};

}  // namespace meshwright
