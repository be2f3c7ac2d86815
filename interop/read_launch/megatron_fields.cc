// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/megatron_fields.h"

#include <algorithm>
#include <array>

namespace meshwright::interop {
namespace {

// --use-flash-attn, -v1, -v2, -triton, and any other name with "flash_attn"; off is none. A fork's
// name that is not listed here must not end in stored scores.
const Value* flash_option(const Values& values) {
  for (const Value& value : values.all()) {
    const std::string key = replaced(lower_case(value.key), "-", "_");
    const bool names = contains(key, "flash_attn") || contains(key, "flash_attention");
    const bool off = value.words.size() == 1 && is_off(value) && value.words.front() != "1";
    if (names && !off && !key.starts_with("__no_")) return &value;
  }
  return nullptr;
}

// Guesses the software from its options. Releases share most of them, so the user can set another.
void name_framework(LaunchReading& r) {
  LaunchRecord& record = r.record();
  Values& values = r.values();
  std::string why;
  if (values.has("deepspeed") || values.has("deepspeed_config") || values.has("zero_stage")) {
    record.target = "Megatron-DeepSpeed";
    record.framework =
        flash_option(values) != nullptr ? "megatron-deepspeed-2023" : "megatron-deepspeed-2022";
    why = "it has options of Megatron-DeepSpeed";
  } else if (values.has("checkpoint_activations") || values.has("checkpoint_num_layers")) {
    record.framework = "megatron-lm-2021";
    why = "--checkpoint-activations was there until 2022";
  } else if (values.has("deprecated_use_mcore_models")) {
    record.framework = "megatron-core-2025";
    why = "--use-mcore-models is ignored since";
  } else {
    record.framework = "megatron-core-2026";
    why = "the options do not say which release runs; --framework overrules it";
  }
  for (const char* key :
       {"deepspeed", "deepspeed_config", "deprecated_use_mcore_models", "checkpoint_num_layers",
        "use_legacy_models", "transformer_impl", "ckpt_format", "te_rng_tracker", "mock_data",
        "moe_grouped_gemm", "activations_checkpoint_method", "activations_checkpoint_num_layers"}) {
    values.pass_over(key);
  }
  r.assume("framework", record.framework, why);
}

void read_megatron_precision(LaunchReading& r, Job& job) {
  job.precision = Precision::fp32;
  for (const auto& [key, precision] :
       {std::pair{"fp16", Precision::fp16}, {"bf16", Precision::bf16}}) {
    if (!r.is_on(key)) continue;
    job.precision = precision;
    r.note("precision", key, *r.find(key));
  }
  if (job.precision == Precision::fp32 && !r.values().has("fp8")) {
    r.assume("precision", "fp32", "Megatron-LM's default without --bf16 and --fp16");
  }
  const bool half = job.precision == Precision::fp16;
  job.gradient_precision =
      half && !r.is_on("accumulate_allreduce_grads_in_fp32") ? Precision::fp16 : Precision::fp32;
  r.values().pass_over("accumulate_allreduce_grads_in_fp32");
  if (const Value* reduce = r.find("grad_reduce_in_bf16"); reduce != nullptr && flag_of(*reduce)) {
    job.gradient_precision = Precision::bf16;
    r.note("gradient_precision", "bf16", *reduce);
  }
  if (const Value* fp8 = r.find("fp8"); fp8 != nullptr) {
    job.precision = Precision::fp8;
    r.note("precision", "fp8", *fp8);
    Fp8Recipe recipe = Fp8Recipe::delayed;
    r.choice(recipe, "fp8_recipe", "fp8_recipe", kFp8RecipeNames);
    job.fp8_recipe = recipe;
    r.flag(job.fp8_param_gather, "fp8_param_gather", "fp8_param_gather");
    r.flag(job.fp8_dot_product_attention, "fp8_dot_product_attention", "fp8_dot_product_attention");
    r.flag(job.disable_parameter_transpose_cache, "disable_parameter_transpose_cache",
           "disable_parameter_transpose_cache");
  }
  if (r.is_on("use_precision_aware_optimizer")) {
    // A launch that names the type of its main weights is priced with whole ones.
    job.store_param_remainders =
        job.precision == Precision::bf16 && r.find("main_params_dtype") == nullptr;
    r.choice(job.exp_avg_precision, "exp_avg_precision", "exp_avg_dtype", kPrecisionNames);
    r.choice(job.exp_avg_sq_precision, "exp_avg_sq_precision", "exp_avg_sq_dtype", kPrecisionNames);
    r.choice(job.gradient_precision, "gradient_precision", "main_grads_dtype", kPrecisionNames);
  } else if (job.gradient_precision == Precision::bf16) {
    job.store_param_remainders = false;  // whatever recipes of the software do
  }
  for (const char* key : {"fp8_recipe", "exp_avg_dtype", "exp_avg_sq_dtype", "main_grads_dtype"}) {
    r.values().pass_over(key);
  }
}

void read_attention_kernel(LaunchReading& r, Job& job) {
  const Value* backend = r.find("attention_backend");
  std::string word = backend != nullptr ? word_of(*backend) : "auto";
  word = word.substr(word.rfind('.') + 1);
  const Value* flash = flash_option(r.values());
  if (flash != nullptr || word == "flash" || word == "fused") {
    job.attention_kernel = AttentionKernel::flash;
    r.settle_job("attention_kernel");
  }
  if (flash != nullptr) {
    r.note("attention_kernel", "flash", *flash);
    r.values().pass_over(std::string(flash->key));
  }
  if (word == "unfused" || word == "local") {
    job.attention_kernel = AttentionKernel::unfused;
    r.settle_job("attention_kernel");
  }
  if (backend != nullptr) r.note("attention_kernel", word, *backend);
}

void read_dropout(LaunchReading& r, Job& job) {
  double attention = 0.1;
  double hidden = 0.1;
  const bool says_attention = r.number(attention, "attention_dropout", "attention_dropout", {0, 1});
  const bool says_hidden = r.number(hidden, "hidden_dropout", "hidden_dropout", {0, 1});
  job.dropout = attention > 0.0 || hidden > 0.0;
  if (job.dropout && !(says_attention && says_hidden)) {
    r.assume("dropout", "true", "Megatron-LM's default is 0.1 for attention and hidden states");
  }
}

void read_megatron_batch(LaunchReading& r, Job& job) {
  r.integer(job.seq_length, "seq_length", "seq_length", kCounts);
  if (!r.integer(job.global_batch_size, "global_batch_size", "global_batch_size", kCounts)) {
    r.record().micro_batches_a_rank = 1;
    r.assume("global_batch_size", "micro-batch x data-parallel ranks",
             "Megatron-LM's default without --global-batch-size");
  }
  if (const Value* ramp = r.find("rampup_batch_size"); ramp != nullptr) {
    r.not_understood(*ramp, "the full global batch is judged, not the ramp before it",
                     OptionEffect::none);
  }
  for (const auto& [key, sequences] :
       {std::pair{"train_iters", job.global_batch_size}, {"train_samples", 1}}) {
    const Value* value = r.find(key);
    if (value == nullptr || r.record().micro_batches_a_rank > 0) continue;
    job.train_tokens = number_of(*value, {0.0, 1e15}) * sequences * job.seq_length;
    if (*job.train_tokens <= 0.0) job.train_tokens.reset();
  }
}

void read_megatron_job(LaunchReading& r) {
  Job& job = r.record().job;
  job.name = "the launched job";
  read_megatron_batch(r, job);
  read_megatron_precision(r, job);
  read_attention_kernel(r, job);
  read_dropout(r, job);
  const std::string optimizer = r.word("optimizer", "adam");
  job.optimizer = optimizer == "sgd" ? Optimizer::sgd : Optimizer::adam;
  if (const Value* value = r.find("optimizer"); value != nullptr) {
    r.note("optimizer", optimizer, *value);
    if (optimizer != "sgd" && optimizer != "adam") r.not_understood(*value, "predicted as Adam");
  }
  bool fused = false;
  r.flag(fused, "cross_entropy_loss_fusion", "cross_entropy_loss_fusion");
  const bool te = r.word("cross_entropy_fusion_impl", "native") == "te";
  job.cross_entropy_loss_fusion = fused && te;
  r.integer(job.make_vocab_size_divisible_by, "make_vocab_size_divisible_by",
            "make_vocab_size_divisible_by", kCounts);
  read_router_dtype(r, "moe_router_dtype");
  for (const char* field :
       {"seq_length", "global_batch_size", "precision", "gradient_precision", "exp_avg_precision",
        "exp_avg_sq_precision", "optimizer", "dropout", "cross_entropy_loss_fusion",
        "fp8_param_gather", "fp8_recipe", "fp8_dot_product_attention",
        "disable_parameter_transpose_cache", "store_param_remainders",
        "make_vocab_size_divisible_by", "train_tokens"}) {
    r.settle_job(field);
  }
}

// Marks options that a named model states itself.
void pass_over_model(Values& values) {
  for (const char* key : {"max_position_embeddings",
                          "position_embedding_type",
                          "use_rotary_position_embeddings",
                          "hidden_size",
                          "ffn_hidden_size",
                          "num_attention_heads",
                          "num_query_groups",
                          "group_query_attention",
                          "kv_channels",
                          "qk_layernorm",
                          "normalization",
                          "swiglu",
                          "quick_geglu",
                          "squared_relu",
                          "add_bias_linear",
                          "add_qkv_bias",
                          "embed_layernorm",
                          "untie_embeddings_and_output_weights",
                          "vocab_size",
                          "padded_vocab_size",
                          "pad_vocab_size_to",
                          "tokenizer_type",
                          "extra_vocab_size",
                          "patch_tokenizer_type",
                          "multi_latent_attention",
                          "q_lora_rank",
                          "kv_lora_rank",
                          "qk_head_dim",
                          "qk_pos_emb_head_dim",
                          "v_head_dim",
                          "num_experts",
                          "moe_router_topk",
                          "moe_ffn_hidden_size",
                          "moe_latent_size",
                          "moe_shared_expert_intermediate_size",
                          "moe_layer_freq",
                          "moe_router_num_groups",
                          "moe_router_group_topk",
                          "moe_router_enable_expert_bias",
                          "window_size",
                          "window_attn_skip_freq",
                          "num_key_value_heads",
                          "multiple_of",
                          "hidden_dim_multiplier",
                          "glu_linear_offset",
                          "softmax_type",
                          "activation_func_clamp_value",
                          "add_position_embedding"}) {
    values.pass_over(key);
  }
}

// The one that is named beside the launch, the launch's own, or one of which nothing is known but
// that Megatron-LM does not refuse it.
Model model_of_launch(const LaunchRecord& record, const LaunchHints& hints) {
  if (hints.model) return *hints.model;
  if (record.model.num_layers > 0) return record.model;
  Model named;
  named.tied_embeddings = false;
  named.position_embedding = PositionEmbedding::rope;
  return named;
}

// DeepSpeed's bf16 optimizer shards its state whatever the stage says (runtime/bf16_optimizer.py);
// pipeline and reduction are as the framework has them.
void leave_to_deepspeed(LaunchReading& r) {
  LaunchRecord& record = r.record();
  const Value* stage = r.find("zero_stage");
  const bool bf16 = record.job.precision == Precision::bf16;
  if (stage != nullptr) r.integer(record.layout.zero_stage, "zero_stage", "zero_stage", {0, 3});
  if (bf16 && record.layout.zero_stage == 0) {
    record.layout.zero_stage = 1;
    r.assume("zero_stage", "1", "DeepSpeed's bf16 optimizer shards its state at every stage");
  }
  std::erase_if(record.layout_fields, [](const std::string& field) {
    return field == "pipeline_engine" || field == "all_reduce_gradients";
  });
}

}  // namespace

void read_router_dtype(LaunchReading& r, const char* key) {
  const Value* dtype = r.find(key);
  if (dtype == nullptr) return;
  const std::string word = word_of(*dtype);
  // Numbers of fp64 travel in fp64; no recipe has it.
  bool& fp32 = r.record().job.moe_router_fp32;
  fp32 = word == "fp32" || word == "fp64";
  r.note("moe_router_fp32", fp32 ? "true" : "false", *dtype);
  r.settle_job("moe_router_fp32");
}

void read_megatron_fields(LaunchReading& r, const LaunchHints& hints, const std::string& file) {
  name_framework(r);
  refuse_unmodelled_layers(r);
  const bool named = hints.model || !r.record().model_name.empty();
  if (!named || r.values().has("num_layers")) {
    read_megatron_model(r, hints, file);
  } else {
    pass_over_model(r.values());
    if (int layers = 0; r.integer(layers, "mtp_num_layers", "mtp_num_layers", {0, 1000})) {
      r.record().mtp_num_layers = layers;
    }
    r.not_modelled_unless("moe_expert_capacity_factor");
  }
  const Model model = model_of_launch(r.record(), hints);
  read_megatron_job(r);
  read_megatron_layout(r, model);
  r.settle_whole_layout();
  if (r.record().target == "Megatron-DeepSpeed") leave_to_deepspeed(r);
  bool scatters = true;
  r.flag(scatters, "scatter_gather_p2p", "scatter_gather_tensors_in_pipeline");
  Layout& l = r.record().layout;
  if (r.record().target == "Megatron-LM") check_megatron_asserts(r, model);
  l.scatter_gather_p2p = scatters && r.record().framework == "megatron-lm-2021" &&
                         l.tensor_parallel_size > 1 && l.pipeline_parallel_size > 1;
}

}  // namespace meshwright::interop
