// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/olmo.h"

#include <algorithm>
#include <array>

#include "interop/read_launch/document.h"
#include "interop/read_launch/launch_format.h"
#include "interop/read_launch/launch_reading.h"
#include "interop/read_launch/stated_values.h"
#include "sim/base/error.h"
#include "sim/block/parameters.h"

namespace meshwright::interop {
namespace {

void require_olmo(LaunchReading& r, int& target, const char* field, const std::string& key,
                  const std::string& file) {
  if (!r.integer(target, field, key, kModelSizes)) throw InputError(file, "", key + " is missing");
}

// Tells whether a switch is on; `otherwise` where it is not there (olmo/config.py has the
// defaults).
bool olmo_switch(LaunchReading& r, const char* field, const std::string& key, bool otherwise) {
  bool on = otherwise;
  r.flag(on, field, key);
  return on;
}

void read_olmo_heads(LaunchReading& r, const std::string& file) {
  Model& m = r.record().model;
  require_olmo(r, m.hidden_size, "hidden_size", "model.d_model", file);
  require_olmo(r, m.num_attention_heads, "num_attention_heads", "model.n_heads", file);
  require_olmo(r, m.num_layers, "num_layers", "model.n_layers", file);
  if (m.hidden_size % m.num_attention_heads != 0) {
    fail_at(*r.find("model.n_heads"), "must divide model.d_model");
  }
  m.kv_channels = m.hidden_size / m.num_attention_heads;
  const bool one = olmo_switch(r, "num_query_groups", "model.multi_query_attention", false);
  m.num_query_groups = one ? 1 : m.num_attention_heads;
  r.integer(m.num_query_groups, "num_query_groups", "model.n_kv_heads", {1, m.num_attention_heads});
  if (m.num_attention_heads % m.num_query_groups != 0) {
    fail_at(*r.find("model.n_kv_heads"), "must divide model.n_heads");
  }
  m.qk_layernorm = olmo_switch(r, "qk_layernorm", "model.attention_layer_norm", false);
  m.qk_layernorm_all_heads = m.qk_layernorm;
}

// A gated activation halves the size: model.mlp_ratio 8 is 4 for each of gate and up.
void read_olmo_mlp(LaunchReading& r) {
  Model& m = r.record().model;
  constexpr std::array kActivations{EnumName{Activation::swiglu, "swiglu"},
                                    EnumName{Activation::gelu, "gelu"},
                                    EnumName{Activation::relu, "relu"}};
  m.activation = Activation::swiglu;
  r.choice(m.activation, "activation", "model.activation_type", kActivations);
  int ratio = 4;
  int size = 0;
  r.integer(ratio, "mlp_ratio", "model.mlp_ratio", {1, 64});
  r.integer(size, "mlp_hidden_size", "model.mlp_hidden_size", kModelSizes);
  const std::int64_t full = size > 0 ? size : static_cast<std::int64_t>(ratio) * m.hidden_size;
  const std::int64_t of_each = std::max<std::int64_t>(1, is_gated(m.activation) ? full / 2 : full);
  m.ffn_hidden_size = static_cast<int>(std::min<std::int64_t>(of_each, kCounts.high));
  const Value* from = r.find(size > 0 ? "model.mlp_hidden_size" : "model.mlp_ratio");
  if (from != nullptr) r.note("ffn_hidden_size", std::to_string(m.ffn_hidden_size), *from);
}

// A layer norm without a bias, or without any parameter, is counted as an RMS norm.
void read_olmo_norms(LaunchReading& r) {
  Model& m = r.record().model;
  m.add_bias_linear = olmo_switch(r, "add_bias_linear", "model.include_bias", true);
  const bool biased =
      olmo_switch(r, "bias_for_layer_norm", "model.bias_for_layer_norm", m.add_bias_linear);
  const bool affine =
      olmo_switch(r, "layer_norm_with_affine", "model.layer_norm_with_affine", true);
  constexpr std::array kNorms{EnumName{Normalization::layer_norm, "default"},
                              EnumName{Normalization::layer_norm, "low_precision"},
                              EnumName{Normalization::layer_norm, "amd_compatible"},
                              EnumName{Normalization::rms_norm, "rms"}};
  m.normalization = Normalization::layer_norm;
  r.choice(m.normalization, "normalization", "model.layer_norm_type", kNorms);
  if (m.normalization == Normalization::layer_norm && !(biased && affine)) {
    m.normalization = Normalization::rms_norm;
    r.assume("normalization", "rms_norm",
             "a layer norm without biases is counted as an RMS norm with weights");
  }
  r.values().pass_over("model.attention_layer_norm_with_affine");
  r.values().pass_over("model.norm_after");  // as many norms as before
}

void read_olmo_block(LaunchReading& r) {
  Model& m = r.record().model;
  constexpr std::array kBlocks{EnumName{false, "sequential"}, EnumName{false, "llama"},
                               EnumName{true, "parallel"}};
  r.choice(m.parallel_attention_mlp, "parallel_attention_mlp", "model.block_type", kBlocks);
  m.parallel_shared_layer_norm = m.parallel_attention_mlp;
}

void read_olmo_embedding(LaunchReading& r, const std::string& file) {
  Model& m = r.record().model;
  require_olmo(r, m.vocab_size, "vocab_size", "model.vocab_size", file);
  if (const Value* rows = r.find("model.embedding_size")) {
    m.vocab_size = integer_of(*rows, {m.vocab_size, kModelSizes.high});
    r.note("vocab_size", std::to_string(m.vocab_size), *rows);
  }
  m.tied_embeddings = olmo_switch(r, "tied_embeddings", "model.weight_tying", true);
  const bool rope = r.is_on("model.rope");
  const bool alibi = r.is_on("model.alibi");
  m.position_embedding = rope    ? PositionEmbedding::rope
                         : alibi ? PositionEmbedding::alibi
                                 : PositionEmbedding::learned;
  if (rope || alibi) {
    r.note("position_embedding", std::string(name_of(m.position_embedding)),
           *r.find(rope ? "model.rope" : "model.alibi"));
  } else {
    r.assume("position_embedding", "learned", "neither model.rope nor model.alibi is on");
  }
  if (!rope && !alibi) m.max_position_embeddings = r.record().job.seq_length;
}

void read_olmo_model(LaunchReading& r, const std::string& file) {
  Model& m = r.record().model;
  m.name = "the launched model";
  read_olmo_heads(r, file);
  read_olmo_mlp(r);
  read_olmo_norms(r);
  read_olmo_block(r);
  read_olmo_embedding(r, file);
  if (!is_countable(m)) throw InputError(file, "", "describes more than 10^18 parameters");
}

// Without FlashAttention, PyTorch's scaled_dot_product_attention runs, which is fused unless it
// gets ALiBi's bias.
void read_olmo_attention_kernel(LaunchReading& r) {
  Job& job = r.record().job;
  const Value* flash = r.find("model.flash_attention");
  const Value* alibi = r.find("model.alibi");
  const bool on = flash != nullptr && flag_of(*flash);
  const bool biased = alibi != nullptr && flag_of(*alibi);
  job.attention_kernel = on || !biased ? AttentionKernel::flash : AttentionKernel::unfused;
  const std::string name(name_of(job.attention_kernel));
  if (on) {
    r.note("attention_kernel", name, *flash);
  } else {
    r.assume("attention_kernel", name,
             biased ? "ALiBi's bias keeps PyTorch's fused attention from running"
                    : "PyTorch's scaled_dot_product_attention runs fused kernels");
  }
  r.settle_job("attention_kernel");
}

// Each is 0.1 unless told (olmo/config.py).
void read_olmo_dropout(LaunchReading& r) {
  Job& job = r.record().job;
  job.dropout = false;
  std::string unstated;
  for (const char* key :
       {"model.attention_dropout", "model.residual_dropout", "model.embedding_dropout"}) {
    double share = 0.1;
    if (!r.number(share, "dropout", key, {0.0, 1.0})) append_to_list(unstated, ", ", key);
    job.dropout = job.dropout || share > 0.0;
  }
  if (!unstated.empty()) r.assume("dropout", "true", unstated + ": 0.1 unless told");
  r.settle_job("dropout");
}

void read_olmo_kernels(LaunchReading& r) {
  Job& job = r.record().job;
  job.cross_entropy_loss_fusion = olmo_switch(r, "cross_entropy_loss_fusion", "fused_loss", false);
  r.settle_job("cross_entropy_loss_fusion");
  for (const Value& value : r.values().all()) {
    if (!value.key.starts_with("compile.")) continue;
    job.kernel_fusion = KernelFusion::compiled;
    r.note("kernel_fusion", "compiled", value);
    r.settle_job("kernel_fusion");
    break;
  }
  r.values().pass_over_below("compile.");
}

void read_olmo_numbers(LaunchReading& r) {
  Job& job = r.record().job;
  constexpr std::array kTypes{EnumName{Precision::bf16, "amp_bf16"},
                              EnumName{Precision::fp16, "amp_fp16"},
                              EnumName{Precision::fp32, "fp32"}};
  job.precision = Precision::fp32;
  if (!r.choice(job.precision, "precision", "precision", kTypes)) {
    r.assume("precision", "fp32", "the file does not say another one");
  }
  constexpr std::array kOptimizers{EnumName{Optimizer::adam, "adamw"},
                                   EnumName{Optimizer::sgd, "lionw"}};
  r.choice(job.optimizer, "optimizer", "optimizer.name", kOptimizers);
  if (job.optimizer == Optimizer::sgd) {
    r.not_understood(*r.find("optimizer.name"), "it is counted as SGD: one moment a parameter");
  }
  r.settle_job("precision");
  r.settle_job("optimizer");
}

void read_olmo_job(LaunchReading& r, const LaunchHints& hints, const std::string& file) {
  Job& job = r.record().job;
  job.name = "the launched job";
  if (!r.integer(job.seq_length, "seq_length", "model.max_sequence_length", kModelSizes)) {
    if (!hints.seq_length) throw InputError(file, "", "model.max_sequence_length is missing");
    job.seq_length = *hints.seq_length;
  }
  require_olmo(r, job.global_batch_size, "global_batch_size", "global_train_batch_size", file);
  read_olmo_numbers(r);
  read_olmo_attention_kernel(r);
  read_olmo_dropout(r);
  read_olmo_kernels(r);
  job.make_vocab_size_divisible_by = 1;  // model.embedding_size has the padding
  for (const char* field : {"seq_length", "global_batch_size", "make_vocab_size_divisible_by"}) {
    r.settle_job(field);
  }
}

void read_olmo_ddp(LaunchReading& r) {
  LaunchRecord& record = r.record();
  record.layout.fsdp_unit = FsdpUnit::none;
  record.layout.zero_stage = 0;
  record.layout.overlap_grad_reduce = true;
  record.job.gradient_precision = Precision::fp32;
  r.note("zero_stage", "0", *r.find("distributed_strategy"));
  r.assume("overlap_grad_reduce", "true", "DistributedDataParallel reduces beside the backward");
  r.settle_layout("overlap_grad_reduce");
  const Value* mode = r.find("ddp.grad_sync_mode");
  if (mode != nullptr && word_of(*mode) != "batch") {
    r.not_understood(*mode, "gradients are counted as reduced once a step");
  }
  r.values().pass_over("ddp.find_unused_params");
  r.values().pass_over_below("fsdp.");
}

// Modules that FSDP wraps. by_block_and_size also gives the embedding a unit of its own.
void read_olmo_wrapping(LaunchReading& r) {
  Layout& l = r.record().layout;
  const Value* value = r.find("fsdp.wrapping_strategy");
  const std::string name = value == nullptr ? "" : word_of(*value);
  l.fsdp_unit = value == nullptr ? FsdpUnit::whole : FsdpUnit::block;
  if (value == nullptr) {
    return r.assume("fsdp_unit", "whole", "without fsdp.wrapping_strategy the model is one unit");
  }
  if (name == "by_block" || name == "by_block_and_size")
    return r.note("fsdp_unit", "block", *value);
  r.not_understood(*value, "each block is counted as a unit");
}

void read_olmo_sharding(LaunchReading& r) {
  LaunchRecord& record = r.record();
  constexpr std::array kStrategies{EnumName{3, "FULL_SHARD"}, EnumName{2, "SHARD_GRAD_OP"},
                                   EnumName{0, "NO_SHARD"}, EnumName{3, "HYBRID_SHARD"},
                                   EnumName{2, "_HYBRID_SHARD_ZERO2"}};
  record.layout.zero_stage = 3;
  r.choice(record.layout.zero_stage, "zero_stage", "fsdp.sharding_strategy", kStrategies);
  if (record.layout.zero_stage == 0) record.layout.fsdp_unit = FsdpUnit::none;
  const Value* strategy = r.find("fsdp.sharding_strategy");
  const bool hybrid = strategy != nullptr && contains(word_of(*strategy), "HYBRID");
  const bool says_copies = r.integer(record.replicas, "replicas",
                                     "fsdp.hybrid_sharding_num_model_replicas", kParallelSizes);
  if (!hybrid) record.replicas = 1;
  if (hybrid && !says_copies) {
    r.not_understood(*strategy, "a copy a node is kept; one copy over all ranks is counted");
  }
}

// pure reduces in the precision of the products, mixed in fp32.
void read_olmo_reduction(LaunchReading& r) {
  Job& job = r.record().job;
  const Value* value = r.find("fsdp.precision");
  const std::string said = value == nullptr ? "pure" : word_of(*value);
  const bool pure = said == "pure";
  if (!pure && said != "mixed") fail_at(*value, "must be pure or mixed");
  job.gradient_precision = pure ? job.precision : Precision::fp32;
  const std::string name(name_of(job.gradient_precision));
  if (value != nullptr) {
    r.note("gradient_precision", name, *value);
  } else {
    r.assume("gradient_precision", name, "fsdp.precision is pure unless told");
  }
}

void read_olmo_recompute(LaunchReading& r) {
  using enum RecomputeGranularity;
  Layout& l = r.record().layout;
  l.recompute_granularity = none;
  const Value* value = r.find("activation_checkpointing");
  const std::string name = value == nullptr ? "false" : word_of(*value);
  if (lower_case(name) == "false") return;
  if (name != "whole_layer" && lower_case(name) != "true") {
    return r.not_understood(*value, "all activations are counted as kept");
  }
  l.recompute_granularity = full;
  r.note("recompute_granularity", "full", *value);
}

void read_olmo_layout(LaunchReading& r) {
  Layout& l = r.record().layout;
  l.micro_batch_size = 16;  // its own default
  if (!r.integer(l.micro_batch_size, "micro_batch_size", "device_train_microbatch_size",
                 kModelSizes)) {
    r.assume("micro_batch_size", "16", "device_train_microbatch_size is 16 unless told");
  }
  const std::string strategy = r.word("distributed_strategy", "fsdp");
  if (strategy == "fsdp") {
    read_olmo_wrapping(r);
    read_olmo_sharding(r);
    read_olmo_reduction(r);
    r.values().pass_over("fsdp.use_orig_params");
    r.values().pass_over_below("ddp.");
  } else if (strategy == "ddp") {
    read_olmo_ddp(r);
  } else {
    fail_at(*r.find("distributed_strategy"), "must be fsdp or ddp");
  }
  read_olmo_recompute(r);
  r.settle_job("gradient_precision");
  for (const char* field :
       {"micro_batch_size", "fsdp_unit", "zero_stage", "recompute_granularity"}) {
    r.settle_layout(field);
  }
}

// Data, logs, files, learning rates, evaluation; and the model where the user names another one.
void pass_over_olmo(Values& values, bool needs_model) {
  for (const char* prefix :
       {"wandb.", "optimizer.", "scheduler.", "tokenizer.", "evaluators", "data.", "speed_monitor.",
        "save_", "load_", "eval_", "remote_", "model.init_", "model.rope_", "model.alibi_",
        "model.layer_norm_eps", "model.emb_init_"}) {
    values.pass_over_below(prefix);
  }
  for (const char* key : {"run_name",
                          "seed",
                          "epoch",
                          "dry_run",
                          "data",
                          "max_duration",
                          "extra_steps_after_cooldown",
                          "max_grad_norm",
                          "max_grad_norm_ratio",
                          "device_eval_batch_size",
                          "device_train_batch_size",
                          "device_train_grad_accum",
                          "softmax_auxiliary_loss",
                          "auxiliary_loss_multiplier",
                          "time_limit",
                          "stop_at",
                          "stop_after",
                          "early_stopping_factor",
                          "canceled_check_interval",
                          "console_log_interval",
                          "gen1_gc_interval",
                          "restore_dataloader",
                          "fast_forward_batches",
                          "no_pre_train_checkpoint",
                          "force_save_unsharded",
                          "reset_optimizer_state",
                          "reset_trainer_state",
                          "sharded_checkpointer",
                          "new_style_checkpoints",
                          "try_load_latest_save",
                          "hf_datasets_cache_dir",
                          "module_outputs_save_steps",
                          "model.eos_token_id",
                          "model.pad_token_id",
                          "model.precision",
                          "model.scale_logits",
                          "model.scale_emb_init",
                          "model.clip_qkv",
                          "model.block_group_size"}) {
    values.pass_over(key);
  }
  if (!needs_model) values.pass_over_below("model.");
}

}  // namespace

bool is_olmo(const LaunchText& text) {
  if (!has_key(text, "model.d_model") || has_key(text, "max_seq_len")) return false;
  return has_key(text, "model.max_sequence_length") ||
         (has_key(text, "device_train_microbatch_size") && has_key(text, "model.mlp_ratio"));
}

LaunchRecord read_olmo(std::string_view text, const std::string& file, const LaunchHints& hints) {
  Values values = with_references(with_stated(values_of_yaml(text, file), hints), hints.variables);
  LaunchRecord record;
  record.target = "OLMo";
  record.framework = "pytorch-fsdp-2023";
  LaunchReading reading(values, record);
  reading.assume("framework", record.framework,
                 "no runs of OLMo are known; predicted as FSDP1 of PyTorch 2.0");
  read_olmo_job(reading, hints, file);
  if (hints.needs_model()) read_olmo_model(reading, file);
  read_olmo_layout(reading);
  pass_over_olmo(values, hints.needs_model());
  reading.list_unused("no key of OLMo that is known here");
  return record;
}

extern const LaunchFormat kOlmoFormat;
constexpr LaunchFormat kOlmoFormat{
    is_olmo, [](const LaunchText& t, const LaunchHints& hints, const ReadNamedFile&) {
      return read_olmo(t.text, t.file, hints);
    }};

}  // namespace meshwright::interop
