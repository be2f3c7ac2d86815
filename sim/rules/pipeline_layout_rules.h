// SPDX-License-Identifier: Apache-2.0
// What Megatron-LM asserts of --pipeline-model-parallel-layout beside the order of its items, which
// reading it checks (commit 00caa53, transformer/pipeline_parallel_layer_layout.py, "layout.py").
#pragma once

#include "sim/rules/layer_split.h"
#include "sim/rules/rule_row.h"
#include "sim/schedule/traits.h"

namespace meshwright {

struct LayersListed {
  int decoder = 0, mtp = 0;
};
LayersListed layers_listed(PipelineLayout layout);

// Checks a layout that has a list of layers. Few have one, so a search does not inline it.
CheckResult stands_alone(const RuleInput& in);
CheckResult fills_the_stages(const RuleInput& in);
CheckResult holds_the_model(const RuleInput& in);
CheckResult places_mtp(const RuleInput& in);
template <CheckResult (*check)(const RuleInput&)>
constexpr CheckResult of_a_list(const RuleInput& in) {
  return in.layout.pipeline_layout ? check(in) : std::nullopt;
}

inline constexpr RuleRow kPipelineLayoutRules[]{
    {.name = "pipeline_layout_stands_alone",
     .part = RulePart::sizes,
     .check = of_a_list<stands_alone>,
     .requirement =
         "pipeline_layout excludes num_layers_in_first_pipeline_stage, "
         "num_layers_in_last_pipeline_stage, account_for_embedding_in_pipeline_split and "
         "account_for_loss_in_pipeline_split, and needs pipeline_engine megatron.",
     .reason = "It says where every layer is (Megatron-LM transformer_config.py: a custom layout "
               "excludes the other ways of uneven stages).",
     .remedy = "Keep one of them.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           const Layout& l = in.layout;
           return fmt::format(
               "pipeline_layout is {} with num_layers_in_first_pipeline_stage {}, "
               "num_layers_in_last_pipeline_stage {}, account_for_embedding_in_pipeline_split {}, "
               "account_for_loss_in_pipeline_split {} and pipeline_engine {}",
               l.pipeline_layout.text(), l.num_layers_in_first_pipeline_stage,
               l.num_layers_in_last_pipeline_stage,
               on_or_off(l.account_for_embedding_in_pipeline_split),
               on_or_off(l.account_for_loss_in_pipeline_split), name_of(l.pipeline_engine));
         }},
    {.name = "pipeline_layout_fills_the_stages",
     .part = RulePart::sizes,
     .check = of_a_list<fills_the_stages>,
     .requirement = "pipeline_layout must list pipeline_parallel_size x "
                    "virtual_pipeline_parallel_size chunks, or half as many for dualpipe.",
     .reason = "Its length is a multiple of pipeline_parallel_size, and the virtual size what it "
               "is a multiple by (layout.py).",
     .remedy = "List as many chunks, or change pipeline_parallel_size or "
               "virtual_pipeline_parallel_size.",
     .sentence =
         [](const RuleInput& in, const Missed& m) {
           return fmt::format(
               "pipeline_layout {} lists {} chunks; pipeline_parallel_size {} with "
               "virtual_pipeline_parallel_size {} and schedule {} needs {}",
               in.layout.pipeline_layout.text(), whole(m.available),
               in.layout.pipeline_parallel_size, in.layout.virtual_pipeline_parallel_size,
               name_of(in.layout.schedule), whole(m.needed));
         }},
    {.name = "pipeline_layout_holds_the_model",
     .part = RulePart::sizes,
     .check = of_a_list<holds_the_model>,
     .requirement = "pipeline_layout must list the model's num_layers and mtp_num_layers.",
     .reason = "Each layer is held once (layout.py: the numbers of t and m match num_layers and "
               "mtp_num_layers).",
     .remedy = "List as many t as num_layers and as many m as mtp_num_layers.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           const LayersListed listed = layers_listed(in.layout.pipeline_layout);
           return fmt::format(
               "pipeline_layout {} lists {} t and {} m, num_layers is {} and mtp_num_layers {}",
               in.layout.pipeline_layout.text(), listed.decoder, listed.mtp, in.model.num_layers,
               in.model.mtp_num_layers);
         }},
    {.name = "pipeline_layout_places_mtp",
     .part = RulePart::sizes,
     .check = of_a_list<places_mtp>,
     .requirement = "All m of a pipeline_layout must stand in one chunk, the last of its stage, "
                    "and not on the first stage, but where that holds the model's last chunk.",
     .reason = "One stage runs multi-token prediction, after its other chunks and with an "
               "embedding of its own (layout.py; multi_token_prediction.md).",
     .remedy = "Put all m into one of the last pipeline_parallel_size - 1 chunks.",
     .sentence =
         [](const RuleInput& in, const Missed& m) {
           return fmt::format(
               "pipeline_layout {} has m in {} of its chunks, or in one that is not the last of a "
               "stage from the second on, with pipeline_parallel_size {}",
               in.layout.pipeline_layout.text(), whole(m.available),
               in.layout.pipeline_parallel_size);
         }},
};

}  // namespace meshwright
