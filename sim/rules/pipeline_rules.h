// SPDX-License-Identifier: Apache-2.0
// Layers over stages. "arguments.py" is Megatron-LM's megatron/training/arguments.py.
#pragma once

#include "sim/rules/layer_split.h"
#include "sim/rules/rule_row.h"
#include "sim/schedule/traits.h"

namespace meshwright {

inline std::string given_layers(const Layout& l) {
  return fmt::format(
      "num_layers_in_first_pipeline_stage {} and num_layers_in_last_pipeline_stage {}",
      l.num_layers_in_first_pipeline_stage, l.num_layers_in_last_pipeline_stage);
}

inline constexpr RuleRow kPipelineRules[]{
    {.name = "one_way_of_uneven_stages",
     .part = RulePart::sizes,
     .check = [](const RuleInput& in) -> CheckResult {
       const Layout& l = in.layout;
       if (l.pipeline_layout) return std::nullopt;  // other rules'
       const bool counts = counts_embedding_or_loss(l);
       if (l.pipeline_engine == PipelineEngine::nanotron) {
         const int given =
             l.num_layers_in_first_pipeline_stage + l.num_layers_in_last_pipeline_stage;
         return given > 0 || counts ? CheckResult{missed(0, given)} : std::nullopt;
       }
       const int set_stages = layer_split(in.model, l).set_stages;
       return counts && set_stages > 0 ? CheckResult{missed(0, set_stages)} : std::nullopt;
     },
     .requirement =
         "num_layers_in_first_pipeline_stage and num_layers_in_last_pipeline_stage exclude "
         "account_for_embedding_in_pipeline_split and account_for_loss_in_pipeline_split; "
         "pipeline_engine nanotron excludes all four.",
     .reason = "They are answers to the same question (Megatron-LM arguments.py; Nanotron "
               "models/base.py).",
     .remedy = "Keep one of them.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           const Layout& l = in.layout;
           const bool nanotron = l.pipeline_engine == PipelineEngine::nanotron;
           return fmt::format(
               "{} are set{} account_for_embedding_in_pipeline_split {} and "
               "account_for_loss_in_pipeline_split {}{}",
               given_layers(l), nanotron ? "," : " beside",
               on_or_off(l.account_for_embedding_in_pipeline_split),
               on_or_off(l.account_for_loss_in_pipeline_split),
               nanotron ? ", but pipeline_engine is nanotron" : "");
         }},
    {.name = "layers_divide_by_pipeline_size",
     .part = RulePart::sizes,
     .check = [](const RuleInput& in) -> CheckResult {
       const int stages = in.layout.pipeline_parallel_size;
       if (in.layout.pipeline_layout) return std::nullopt;
       if (in.layout.pipeline_engine == PipelineEngine::nanotron) {
         return must_be_at_least(std::ssize(layers_by_cost(in.model, stages)), stages);
       }
       const LayerSplit split = layer_split(in.model, in.layout);
       if (split.leaves_enough()) return must_divide(split.even_layers, split.even_stages);
       if (split.set_stages > 0) return std::nullopt;  // another rule's
       return missed(split.even_stages, split.even_layers);
     },
     .requirement =
         "The layers that are not given to the first or last stage, embedding and loss counted "
         "where the layout says so, must divide evenly over the other stages.",
     .reason = "Stages are even unless told otherwise (Megatron-LM arguments.py). With "
               "pipeline_engine nanotron, costs decide, and each stage must come out with a block "
               "(models/base.py).",
     .remedy = "Use a pipeline_parallel_size that divides num_layers, or set "
               "num_layers_in_first_pipeline_stage, num_layers_in_last_pipeline_stage or "
               "pipeline_layout.",
     .sentence =
         [](const RuleInput& in, const Missed& m) {
           const int pp = in.layout.pipeline_parallel_size;
           if (in.layout.pipeline_engine == PipelineEngine::nanotron) {
             return fmt::format(
                 "num_layers {} and the output linear fill {} stages, "
                 "pipeline_parallel_size is {}",
                 in.model.num_layers, whole(m.available), pp);
           }
           const LayerSplit split = layer_split(in.model, in.layout);
           if (split.set_stages > 0) {
             return fmt::format(
                 "{} of num_layers {} leave {} layers, not divisible by the {} "
                 "other stages of pipeline_parallel_size {}",
                 given_layers(in.layout), in.model.num_layers, split.even_layers, split.even_stages,
                 pp);
           }
           const int counted = split.even_layers - in.model.num_layers;
           return fmt::format(
               "num_layers {}{} is not divisible by pipeline_parallel_size {}", in.model.num_layers,
               counted > 0 ? fmt::format(" + {} for embedding and loss", counted) : "", pp);
         }},
    {.name = "layers_divide_by_virtual_pipeline_size",
     .part = RulePart::sizes,
     .check = [](const RuleInput& in) -> CheckResult {
       const Layout& l = in.layout;
       // A mirrored stage's second chunk is another stage's, not a part of this one's layers.
       const int chunks = traits(l.schedule).mirrored() ? 1 : l.virtual_pipeline_parallel_size;
       if (chunks == 1 || l.pipeline_layout || l.pipeline_engine == PipelineEngine::nanotron) {
         return std::nullopt;
       }
       for (const int layers :
            {l.num_layers_in_first_pipeline_stage, l.num_layers_in_last_pipeline_stage}) {
         if (const CheckResult result = must_divide(layers, chunks)) return result;
       }
       const LayerSplit split = layer_split(in.model, l);
       if (split.even_stages <= 0 || split.even_layers <= 0) return std::nullopt;
       return must_divide(split.even_layers / split.even_stages, chunks);
     },
     .requirement = "The layers of each stage must be a multiple of "
                    "virtual_pipeline_parallel_size.",
     .reason = "A stage's model chunks are equal (Narayanan 2021, arXiv 2104.04473, section 2.2; "
               "arguments.py).",
     .remedy = "Use a virtual_pipeline_parallel_size that divides the layers of a stage, or list "
               "the chunks in pipeline_layout.",
     .sentence =
         [](const RuleInput& in, const Missed& m) {
           return fmt::format(
               "a stage has {} of num_layers {}, not divisible by virtual_pipeline_parallel_size "
               "{}",
               whole(m.available), in.model.num_layers, whole(m.needed));
         }},
};

// After the schedule's rules.
inline constexpr RuleRow kUnevenRules[]{
    {.name = "uneven_stages_leave_layers_for_the_rest",
     .part = RulePart::sizes,
     .check = [](const RuleInput& in) -> CheckResult {
       if (in.layout.pipeline_engine == PipelineEngine::nanotron) return std::nullopt;
       const LayerSplit split = layer_split(in.model, in.layout);
       if (split.set_stages == 0) return std::nullopt;
       if (split.even_stages < 0) return missed(split.set_stages, 1);
       if (split.even_stages > 0) return must_be_at_least(split.even_layers, split.even_stages);
       return split.even_layers == 0 ? CheckResult{} : missed(0, split.even_layers);
     },
     .requirement =
         "num_layers_in_first_pipeline_stage and num_layers_in_last_pipeline_stage must leave at "
         "least one layer for each other stage, and exactly none when there is no other stage.",
     .reason = "Every stage holds at least one layer, and all layers are held (Megatron-LM "
               "arguments.py).",
     .remedy = "Give fewer layers to the first and last stage, or use fewer stages.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           const LayerSplit split = layer_split(in.model, in.layout);
           return fmt::format(
               "{} of num_layers {} leave {} layers for {} other stages of pipeline_parallel_size "
               "{}",
               given_layers(in.layout), in.model.num_layers, split.even_layers,
               std::max(0, split.even_stages), in.layout.pipeline_parallel_size);
         }},
};

}  // namespace meshwright
