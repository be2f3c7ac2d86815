// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "interop/write_launch/launch.h"
#include "interop/write_launch/settings_text.h"
#include "interop/write_launch/vocabulary.h"
#include "sim/layout/layout.h"
#include "sim/layout/short_name.h"

namespace meshwright::interop {
namespace {

const Vocabulary& nanotron_vocabulary() {
  static const Vocabulary words{"tensor_parallel_size",
                                "pipeline_parallel_size",
                                "context_parallel_size",
                                "expert_parallel_size",
                                "sequence_parallel",
                                "tp_comm_overlap",
                                "schedule",
                                "zero_stage",
                                "recompute_granularity",
                                "pipeline_engine"};
  return words;
}

// "bfloat16"; empty: it has none.
std::string_view dtype_of(Precision precision) {
  if (precision == Precision::bf16) return "bfloat16";
  if (precision == Precision::fp16) return "float16";
  return precision == Precision::fp32 ? "float32" : "";
}

std::string nanotron_layout_refusal(const Layout& l) {
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
  if (l.recompute_granularity == RecomputeGranularity::selective ||
      (l.recompute_granularity == RecomputeGranularity::full && l.recompute_num_layers > 0 &&
       l.recompute_method == RecomputeMethod::block)) {
    return "it recomputes all layers or none";
  }
  if (l.optimizer_offload || offloads_activations(l)) return "it offloads nothing";
  if (l.tp_comm_overlap && !l.sequence_parallel) return "it overlaps with REDUCE_SCATTER only";
  return "";
}

std::vector<LaunchSetting> model_settings(const Training& t) {
  const Model& m = t.scenario.model;
  const std::string at = "model.model_config.";
  SettingsList s;
  s.set("model.dtype", dtype_of(t.scenario.job.precision));
  s.set("model.make_vocab_size_divisible_by", t.scenario.job.make_vocab_size_divisible_by);
  s.set(at + "hidden_act", "silu");
  s.set(at + "hidden_size", m.hidden_size);
  s.set(at + "intermediate_size", m.ffn_hidden_size);
  s.set(at + "is_llama_config", true);
  s.set(at + "max_position_embeddings",
        std::max(m.max_position_embeddings, t.scenario.job.seq_length));
  s.set(at + "num_attention_heads", m.num_attention_heads);
  s.set(at + "num_hidden_layers", m.num_layers);
  s.set(at + "num_key_value_heads", m.num_query_groups);
  s.set(at + "tie_word_embeddings", m.tied_embeddings);
  s.set(at + "vocab_size", m.vocab_size);
  s.set("optimizer.accumulate_grad_in_fp32", t.scenario.job.gradient_precision == Precision::fp32);
  return s.take();
}

}  // namespace

std::string nanotron_model_refusal(const Training& t) {
  const Model& m = t.scenario.model;
  const bool llama = m.activation == Activation::swiglu &&
                     m.position_embedding == PositionEmbedding::rope && !m.add_bias_linear &&
                     m.normalization == Normalization::rms_norm && m.num_attention_heads > 0 &&
                     m.kv_channels * m.num_attention_heads == m.hidden_size;
  return llama && !m.moe && !m.mla ? "" : "it is written for models like Llama";
}

std::string nanotron_layout_refusal(const Training& t) {
  if (std::string why = nanotron_layout_refusal(t.layout); !why.empty()) return why;
  if (dtype_of(t.scenario.job.precision).empty()) {
    return fmt::format("it has no word for {}", name_of(t.scenario.job.precision));
  }
  return nanotron_vocabulary().refusal(t.layout, t.scenario.model,
                                       t.scenario.cluster.framework.defaults.layout);
}

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
       number(num_micro_batches(t.scenario.job.global_batch_size, l))},
      {"tokens.micro_batch_size", number(l.micro_batch_size)},
      {"tokens.sequence_length", number(t.scenario.job.seq_length)}};
}

LaunchFile nanotron(const Training& t) {
  LaunchFile launch{.target = "nanotron",
                    .names_of = "commit 2411b02 of 2026-04-07",
                    .file_name = "nanotron.yaml",
                    .text = "",
                    .notes = {},
                    .refusal = nanotron_model_refusal(t)};
  if (launch.refusal.empty()) launch.refusal = nanotron_layout_refusal(t);
  if (!launch.refusal.empty()) return launch;
  std::vector<LaunchSetting> settings = model_settings(t);
  for (LaunchSetting& setting : nanotron_layout_settings(t)) settings.push_back(std::move(setting));
  launch.text = fmt::format("# {}\n{}", short_name(t.layout), yaml_text(std::move(settings)));
  launch.notes.emplace_back(
      "Checkpoints, data stages, tokenizer, learning rate and train_steps are yours to add.");
  return launch;
}

}  // namespace meshwright::interop
