// SPDX-License-Identifier: Apache-2.0
// llm-foundry's pretraining YAML (scripts/train/yamls/pretrain, 2023 to 2025) with Composer's
// fsdp_config.
#include <algorithm>
#include <array>

#include "interop/read_launch/document.h"
#include "interop/read_launch/launch_format.h"
#include "interop/read_launch/launch_reading.h"
#include "interop/read_launch/read_launch.h"
#include "interop/read_launch/stated_values.h"
#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/block/parameters.h"

namespace meshwright::interop {
namespace {

void require_llm_foundry(LaunchReading& r, int& target, const char* field, const std::string& key,
                         const std::string& file) {
  if (!r.integer(target, field, key, kModelSizes)) throw InputError(file, "", key + " is missing");
}

void read_llm_foundry_model(LaunchReading& r, const std::string& file) {
  const std::string name = r.word("model.name", "");
  if (name != "mpt_causal_lm") {
    throw InputError(file, "", fmt::format("model.name {}: mpt_causal_lm alone is read", name),
                     "name the model with --model");
  }
  if (const Value* ffn = r.find("model.ffn_config.ffn_type")) {
    if (!contains(word_of(*ffn), "mpt")) fail_at(*ffn, "its MLPs are not modelled");
  }
  Model& m = r.record().model;
  m.name = "the launched model";
  require_llm_foundry(r, m.hidden_size, "hidden_size", "model.d_model", file);
  require_llm_foundry(r, m.num_attention_heads, "num_attention_heads", "model.n_heads", file);
  require_llm_foundry(r, m.num_layers, "num_layers", "model.n_layers", file);
  require_llm_foundry(r, m.vocab_size, "vocab_size", "model.vocab_size", file);
  double ratio = 4.0;
  r.number(ratio, "ffn_hidden_size", "model.expansion_ratio", {0.1, 64.0});
  m.ffn_hidden_size = static_cast<int>(ratio * m.hidden_size);
  m.activation = Activation::gelu;
  r.integer(m.ffn_hidden_size, "ffn_hidden_size", "model.ffn_config.ffn_hidden_size", kModelSizes);
  r.integer(m.sliding_window, "sliding_window", "model.attn_config.sliding_window_size",
            {-1, kModelSizes.high});
  m.sliding_window = std::max(0, m.sliding_window);
  m.num_query_groups = m.num_attention_heads;
  r.integer(m.num_query_groups, "num_query_groups", "model.attn_config.kv_n_heads",
            {1, m.num_attention_heads});
  constexpr std::array kKinds{EnumName{0, "multihead_attention"},
                              EnumName{1, "multiquery_attention"},
                              EnumName{2, "grouped_query_attention"}};
  int kind = 0;
  r.choice(kind, "attn_type", "model.attn_config.attn_type", kKinds);
  if (kind == 1) m.num_query_groups = 1;
  if (const Value* glu = r.find("model.ffn_config.ffn_type"); glu && word_of(*glu) == "mptglu") {
    m.activation = Activation::geglu;
  }
  m.kv_channels = m.hidden_size / m.num_attention_heads;
  m.normalization = Normalization::rms_norm;
  m.add_bias_linear = false;
  r.assume("add_bias_linear", "false", "MPT's layers have no biases (model.no_bias)");
  const bool alibi = r.is_on("model.attn_config.alibi") || r.is_on("model.alibi");
  m.position_embedding = alibi ? PositionEmbedding::alibi : PositionEmbedding::learned;
  if (!alibi) m.max_position_embeddings = r.record().job.seq_length;
  m.tied_embeddings = true;
  r.flag(m.tied_embeddings, "tied_embeddings", "model.tie_word_embeddings");
  if (!is_countable(m)) throw InputError(file, "", "describes more than 10^18 parameters");
}

void read_llm_foundry_job(LaunchReading& r, const LaunchHints& hints, const std::string& file) {
  Job& job = r.record().job;
  if (hints.seq_length) job.seq_length = *hints.seq_length;
  job.name = "the launched job";
  if (!r.integer(job.seq_length, "seq_length", "max_seq_len", kModelSizes) &&
      !r.integer(job.seq_length, "seq_length", "variables.max_seq_len", kModelSizes) &&
      !r.integer(job.seq_length, "seq_length", "model.max_seq_len", kModelSizes) &&
      !hints.seq_length) {
    throw InputError(file, "", "max_seq_len is missing", "state it with --seq-length N");
  }
  require_llm_foundry(r, job.global_batch_size, "global_batch_size", "global_train_batch_size",
                      file);
  constexpr std::array kTypes{
      EnumName{Precision::bf16, "amp_bf16"}, EnumName{Precision::fp16, "amp_fp16"},
      EnumName{Precision::fp8, "amp_fp8"}, EnumName{Precision::fp32, "fp32"}};
  r.choice(job.precision, "precision", "precision", kTypes);
  // PURE reduces in 16 bits, DEFAULT in fp32 (Composer's fsdp_config).
  const std::string mixed = r.word("fsdp_config.mixed_precision", "DEFAULT");
  job.gradient_precision = mixed == "PURE" ? Precision::bf16 : Precision::fp32;
  if (const Value* value = r.find("fsdp_config.mixed_precision")) {
    r.note("gradient_precision", std::string(name_of(job.gradient_precision)), *value);
  }
  for (const char* key : {"model.attn_config.attn_impl", "model.attn_impl"}) {
    const Value* value = r.find(key);
    if (value == nullptr) continue;
    job.attention_kernel =
        word_of(*value) == "torch" ? AttentionKernel::unfused : AttentionKernel::flash;
    r.note("attention_kernel", word_of(*value), *value);
    r.settle_job("attention_kernel");
  }
  for (const char* field : {"seq_length", "global_batch_size", "precision", "gradient_precision"}) {
    r.settle_job(field);
  }
}

void read_llm_foundry_optimizer(LaunchReading& r) {
  const Value* name = r.find("optimizer.name");
  if (name == nullptr || contains(word_of(*name), "adam")) return;
  r.not_understood(*name, "predicted as Adam", OptionEffect::optimizer);
}

void read_llm_foundry_layout(LaunchReading& r) {
  Layout& l = r.record().layout;
  const Value* micro = r.find("device_train_microbatch_size");
  if (micro != nullptr && word_of(*micro) == "auto") {
    r.assume("micro_batch_size", "1",
             "device_train_microbatch_size is auto: Composer finds it by running");
  } else if (micro != nullptr) {
    r.integer(l.micro_batch_size, "micro_batch_size", "device_train_microbatch_size", kModelSizes);
  }
  l.fsdp_unit = FsdpUnit::block;
  l.zero_stage = 3;
  constexpr std::array kStrategies{EnumName{3, "FULL_SHARD"}, EnumName{2, "SHARD_GRAD_OP"},
                                   EnumName{0, "NO_SHARD"}};
  r.choice(l.zero_stage, "zero_stage", "fsdp_config.sharding_strategy", kStrategies);
  if (l.zero_stage == 0) l.fsdp_unit = FsdpUnit::none;
  r.recompute_switch("fsdp_config.activation_checkpointing");
  if (const Value* offload = r.find("fsdp_config.activation_cpu_offload");
      offload != nullptr && flag_of(*offload)) {
    r.not_understood(*offload, "activations on the host are not modelled for it");
  }
  for (const char* field :
       {"micro_batch_size", "fsdp_unit", "zero_stage", "recompute_granularity"}) {
    r.settle_layout(field);
  }
}

}  // namespace

LaunchRecord read_llm_foundry(std::string_view text, const std::string& file,
                              const LaunchHints& hints) {
  Values values = with_references(with_stated(values_of_yaml(text, file), hints), hints.variables);
  LaunchRecord record;
  record.target = "llm-foundry";
  record.framework = "pytorch-fsdp-2023";
  LaunchReading reading(values, record);
  reading.assume("framework", record.framework, "the file does not say which release runs");
  read_llm_foundry_job(reading, hints, file);
  if (hints.needs_model()) read_llm_foundry_model(reading, file);
  read_llm_foundry_layout(reading);
  read_llm_foundry_optimizer(reading);
  for (const char* section : {"tokenizer.",
                              "train_loader.",
                              "eval_loader.",
                              "optimizer.",
                              "scheduler.",
                              "callbacks.",
                              "loggers.",
                              "algorithms.",
                              "variables.",
                              "max_",
                              "eval_",
                              "save_",
                              "dist_timeout",
                              "run_name",
                              "data_",
                              "icl_",
                              "load_",
                              "train_loader",
                              "eval_loader",
                              "model.init",
                              "model.emb_",
                              "model.resid_",
                              "model.attn_config.attn_pdrop",
                              "model.attn_config.clip_qkv",
                              "model.attn_config.rope",
                              "model.attn_config.softmax_scale",
                              "model.attn_config.alibi",
                              "model.loss_fn",
                              "model.logit_scale",
                              "model.verbose",
                              "model.embedding_fraction",
                              "model.norm_eps",
                              "model.no_bias",
                              "model.max_seq_len",
                              "model.config_overrides.max",
                              "fsdp_config.verbose",
                              "fsdp_config.limit_all_gathers",
                              "fsdp_config.backward_prefetch",
                              "fsdp_config.forward_prefetch",
                              "fsdp_config.sync_module_states",
                              "fsdp_config.state_dict_type",
                              "fsdp_config.use_orig_params",
                              "fsdp_config.load_",
                              "fsdp_config.activation_checkpointing_reentrant",
                              "fsdp_config.keep_low_precision_grads",
                              "fsdp_config.activation_cpu_offload"}) {
    values.pass_over_below(section);
  }
  if (!hints.needs_model()) {
    for (const char* key :
         {"model.name", "model.d_model", "model.n_heads", "model.n_layers", "model.vocab_size",
          "model.expansion_ratio", "model.pretrained", "model.tie_word_embeddings",
          "model.attn_config.kv_n_heads", "model.attn_config.attn_type",
          "model.pretrained_model_name_or_path", "model.use_auth_token"}) {
      values.pass_over(key);
    }
  }
  for (const char* key : {"seed", "global_seed", "progress_bar", "log_to_console", "autoresume",
                          "console_log_interval", "device_eval_batch_size", "python_log_level"}) {
    values.pass_over(key);
  }
  reading.list_unused("no key of llm-foundry that is known here");
  return record;
}

namespace {

bool is_llm_foundry(const LaunchText& text) {
  return has_key(text, "global_train_batch_size") && has_section(text, "model.") &&
         !has_key(text, "model.max_sequence_length");
}

}  // namespace

extern const LaunchFormat kLlmFoundryFormat;
constexpr LaunchFormat kLlmFoundryFormat{
    is_llm_foundry, [](const LaunchText& t, const LaunchHints& hints, const ReadNamedFile&) {
      return read_llm_foundry(t.text, t.file, hints);
    }};

}  // namespace meshwright::interop
