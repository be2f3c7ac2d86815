// SPDX-License-Identifier: Apache-2.0
// llm-foundry's pretraining YAML (scripts/train/yamls/pretrain of 2023) with Composer's
// fsdp_config.
#include <fmt/format.h>

#include <cmath>

#include "interop/write_launch/launch.h"
#include "interop/write_launch/settings_text.h"
#include "interop/write_launch/vocabulary.h"
#include "sim/layout/layout.h"
#include "sim/layout/short_name.h"

namespace meshwright::interop {
namespace {

const Vocabulary& llm_foundry_vocabulary() {
  static const Vocabulary words{"zero_stage", "fsdp_unit", "recompute_granularity"};
  return words;
}

// "amp_bf16"; empty: it has none.
std::string_view precision_word(Precision precision) {
  switch (precision) {
    case Precision::bf16:
      return "amp_bf16";
    case Precision::fp16:
      return "amp_fp16";
    case Precision::fp8:
      return "amp_fp8";
    case Precision::fp32:
      return "fp32";
    default:
      return "";
  }
}

// Fractions of a hidden size that YAML says exactly.
double expansion_ratio(const Model& m) {
  return static_cast<double>(m.ffn_hidden_size) / m.hidden_size;
}

void add_model(SettingsList& s, const Model& m) {
  const bool alibi = m.position_embedding == PositionEmbedding::alibi;
  s.set("model.name", "mpt_causal_lm");
  s.set("model.d_model", m.hidden_size);
  s.set("model.n_heads", m.num_attention_heads);
  s.set("model.n_layers", m.num_layers);
  s.set("model.expansion_ratio", std::string_view(fmt::format("{}", expansion_ratio(m))));
  s.set("model.max_seq_len", "${max_seq_len}");
  s.set("model.vocab_size", m.vocab_size);
  s.set("model.no_bias", true);
  s.set_if(!m.tied_embeddings, "model.tie_word_embeddings", false);
  s.set("model.attn_config.attn_impl", "flash");
  s.set("model.attn_config.alibi", alibi);
  s.set_if(m.num_query_groups != m.num_attention_heads, "model.attn_config.kv_n_heads",
           m.num_query_groups);
}

}  // namespace

std::string llm_foundry_model_refusal(const Training& t) {
  const Model& m = t.scenario.model;
  const bool mpt = m.activation == Activation::gelu && !m.add_bias_linear && !m.moe && !m.mla &&
                   m.position_embedding != PositionEmbedding::rope &&
                   m.kv_channels * m.num_attention_heads == m.hidden_size;
  if (!mpt) return "it is written for MPT models";
  const double ratio = expansion_ratio(m);
  const bool exact = static_cast<int>(ratio * m.hidden_size) == m.ffn_hidden_size;
  return exact ? "" : "no expansion_ratio gives this ffn_hidden_size";
}

std::string llm_foundry_layout_refusal(const Training& t) {
  const Layout& l = t.layout;
  if (world_size(l) != l.data_parallel_size) return "it has data parallelism only";
  if (l.zero_stage == 1 || (l.zero_stage > 0 && l.fsdp_unit != FsdpUnit::block)) {
    return "it shards with FSDP, a block at a time";
  }
  if (l.zero_shard_size > 0) return "its sharding is over all ranks here";
  if (l.recompute_granularity == RecomputeGranularity::selective ||
      (l.recompute_granularity == RecomputeGranularity::full && l.recompute_num_layers > 0 &&
       l.recompute_method == RecomputeMethod::block)) {
    return "it recomputes all layers or none";
  }
  if (l.optimizer_offload || offloads_activations(l)) return "offload is not written for it";
  if (precision_word(t.scenario.job.precision).empty()) {
    return fmt::format("it has no word for {}", name_of(t.scenario.job.precision));
  }
  return llm_foundry_vocabulary().refusal(l, t.scenario.model,
                                          t.scenario.cluster.framework.defaults.layout);
}

std::vector<LaunchSetting> llm_foundry_layout_settings(const Training& t) {
  const Layout& l = t.layout;
  SettingsList s;
  s.set("device_train_microbatch_size", l.micro_batch_size);
  s.set("fsdp_config.sharding_strategy", l.zero_stage == 3   ? "FULL_SHARD"
                                         : l.zero_stage == 2 ? "SHARD_GRAD_OP"
                                                             : "NO_SHARD");
  s.set("fsdp_config.activation_checkpointing",
        l.recompute_granularity == RecomputeGranularity::full);
  return s.take();
}

LaunchFile llm_foundry(const Training& t) {
  LaunchFile launch{.target = "llm-foundry",
                    .names_of = "commit aecadc9 of 2023-10",
                    .file_name = "llm-foundry.yaml",
                    .text = "",
                    .notes = {},
                    .refusal = llm_foundry_model_refusal(t)};
  if (launch.refusal.empty()) launch.refusal = llm_foundry_layout_refusal(t);
  if (!launch.refusal.empty()) return launch;
  SettingsList s;
  s.set("max_seq_len", t.scenario.job.seq_length);
  s.set("global_train_batch_size", t.scenario.job.global_batch_size);
  s.set("precision", precision_word(t.scenario.job.precision));
  add_model(s, t.scenario.model);
  std::vector<LaunchSetting> settings = s.take();
  for (LaunchSetting& setting : llm_foundry_layout_settings(t)) {
    settings.push_back(std::move(setting));
  }
  settings.push_back({"fsdp_config.mixed_precision",
                      t.scenario.job.gradient_precision == Precision::fp32 ? "DEFAULT" : "PURE"});
  launch.text = fmt::format("# {}\n{}", short_name(t.layout), yaml_text(std::move(settings)));
  launch.notes.emplace_back(
      "Tokenizer, train_loader, optimizer, scheduler and max_duration are yours to add.");
  return launch;
}

}  // namespace meshwright::interop
