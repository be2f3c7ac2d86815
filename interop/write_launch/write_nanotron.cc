// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "interop/write_launch/launch.h"
#include "sim/layout/layout.h"
#include "sim/layout/short_name.h"

namespace meshwright::interop {
namespace {

// The model apart: a launch that is changed keeps its own.
std::string layout_refusal(const Layout& l) {
  const bool piped = l.pipeline_parallel_size > 1;
  if (l.zero_stage > 1 || l.zero_shard_size > 0 || uses_fsdp(l)) {
    return "it shards the optimizer over all data ranks, or nothing";
  }
  if (piped && l.schedule != PipelineSchedule::one_f_one_b &&
      l.schedule != PipelineSchedule::gpipe) {
    return fmt::format("it has no {} schedule: 1f1b and afab only", name_of(l.schedule));
  }
  if (piped && l.pipeline_engine != PipelineEngine::nanotron) {
    return "its stages hold what their layers cost, and the head with them";
  }
  if (l.num_layers_in_first_pipeline_stage > 0 || l.num_layers_in_last_pipeline_stage > 0 ||
      l.pipeline_layout || l.account_for_embedding_in_pipeline_split ||
      l.account_for_loss_in_pipeline_split) {
    return "it gives out layers by itself";
  }
  if (l.recompute_granularity == RecomputeGranularity::selective || l.recompute_num_layers > 0) {
    return "it recomputes all layers or none";
  }
  if (l.optimizer_offload || offloads_activations(l)) return "it offloads nothing";
  if (l.tp_comm_overlap && !l.sequence_parallel) return "it overlaps with REDUCE_SCATTER only";
  return "";
}

std::string refusal_of(const Training& t) {
  const Model& m = t.model;
  const bool llama = m.activation == Activation::swiglu &&
                     m.position_embedding == PositionEmbedding::rope && !m.add_bias_linear &&
                     m.normalization == Normalization::rms_norm;
  if (!llama || m.moe || m.mla) return "it is written for models like Llama";
  return layout_refusal(t.layout);
}

std::string model_text(const Model& m) {
  return fmt::format(
      "model:\n  dtype: bfloat16\n  model_config:\n    hidden_act: silu\n    hidden_size: {}\n"
      "    intermediate_size: {}\n    is_llama_config: true\n    max_position_embeddings: {}\n"
      "    num_attention_heads: {}\n    num_hidden_layers: {}\n    num_key_value_heads: {}\n"
      "    tie_word_embeddings: {}\n    vocab_size: {}\n",
      m.hidden_size, m.ffn_hidden_size, m.max_position_embeddings, m.num_attention_heads,
      m.num_layers, m.num_query_groups, m.tied_embeddings, m.vocab_size);
}

}  // namespace

std::string nanotron_layout_refusal(const Layout& layout) { return layout_refusal(layout); }

std::vector<LaunchSetting> nanotron_layout_settings(const Training& t) {
  const Layout& l = t.layout;
  const auto number = [](int value) { return std::to_string(value); };
  const auto truth = [](bool value) { return std::string(value ? "true" : "false"); };
  return {
      {"optimizer.zero_stage", number(l.zero_stage)},
      {"parallelism.context_parallel_size", number(l.context_parallel_size)},
      {"parallelism.dp", number(l.data_parallel_size)},
      {"parallelism.expert_parallel_size", number(l.expert_parallel_size)},
      {"parallelism.pp", number(l.pipeline_parallel_size)},
      {"parallelism.pp_engine", l.schedule == PipelineSchedule::gpipe ? "afab" : "1f1b"},
      {"parallelism.recompute_layer", truth(l.recompute_granularity == RecomputeGranularity::full)},
      {"parallelism.tp", number(l.tensor_parallel_size)},
      {"parallelism.tp_linear_async_communication", truth(l.tp_comm_overlap)},
      {"parallelism.tp_mode", l.sequence_parallel ? "REDUCE_SCATTER" : "ALL_REDUCE"},
      {"tokens.batch_accumulation_per_replica",
       number(num_micro_batches(t.job.global_batch_size, l))},
      {"tokens.micro_batch_size", number(l.micro_batch_size)},
      {"tokens.sequence_length", number(t.job.seq_length)}};
}

LaunchFile nanotron(const Training& t) {
  LaunchFile launch{.target = "nanotron",
                    .names_of = "commit 2411b02 of 2026-04-07",
                    .file_name = "nanotron.yaml",
                    .text = "",
                    .notes = {},
                    .refusal = refusal_of(t)};
  if (!launch.refusal.empty()) return launch;
  std::string text = fmt::format("# {}\n{}", short_name(t.layout), model_text(t.model));
  std::string section = "model";
  for (const LaunchSetting& setting : nanotron_layout_settings(t)) {
    const std::size_t dot = setting.name.find('.');
    if (setting.name.substr(0, dot) != section) {
      section = setting.name.substr(0, dot);
      text += section + ":\n";
      if (section == "optimizer") text += "  accumulate_grad_in_fp32: true\n";
    }
    text += fmt::format("  {}: {}\n", setting.name.substr(dot + 1), setting.value);
  }
  launch.text = std::move(text);
  launch.notes.emplace_back(
      "Checkpoints, data stages, tokenizer, learning rate and train_steps are yours to add.");
  return launch;
}

}  // namespace meshwright::interop
