// SPDX-License-Identifier: Apache-2.0
// NeMo's YAML of 2023 to 2024 (examples/nlp/language_modeling/conf/megatron_gpt_config.yaml): its
// keys become Megatron Core's, whose reader then goes on.
#include <algorithm>
#include <array>
#include <string>

#include "interop/read_launch/document.h"
#include "interop/read_launch/launch_format.h"
#include "interop/read_launch/launch_reading.h"
#include "interop/read_launch/lora.h"
#include "interop/read_launch/megatron_fields.h"
#include "interop/read_launch/read_launch.h"
#include "interop/read_launch/stated_values.h"

namespace meshwright::interop {
namespace {

constexpr const char* kFramework = "megatron-core-2025";

struct SameValue {
  std::string_view nemo, megatron;
};
// Keys with another name or place than in Megatron Core. Other keys of `model` are Megatron Core's
// own.
constexpr std::array kRenamed{
    SameValue{"model.encoder_seq_length", "seq_length"},
    SameValue{"model.data.seq_length", "seq_length"},
    SameValue{"model.virtual_pipeline_model_parallel_size", "num_virtual_stages_per_pipeline_rank"},
    SameValue{"model.num_moe_experts", "num_experts"},
    SameValue{"model.activations_checkpoint_granularity", "recompute_granularity"},
    SameValue{"model.activations_checkpoint_method", "recompute_method"},
    SameValue{"model.activations_checkpoint_num_layers", "recompute_num_layers"},
    SameValue{"model.ub_tp_comm_overlap", "tp_comm_overlap"},
    SameValue{"model.bias", "add_bias_linear"},
    SameValue{"model.qkv_bias", "add_qkv_bias"},
    SameValue{"model.tokenizer.type", "tokenizer_type"},
    SameValue{"model.use_flash_attention", "use_flash_attn"},
    SameValue{"model.tp_comm_overlap", "tp_comm_overlap"},
    SameValue{"model.optim.overlap_grad_sync", "overlap_grad_reduce"},
    SameValue{"model.optim.overlap_param_sync", "overlap_param_gather"}};
constexpr std::array<std::string_view, 42> kSameNames{"num_layers",
                                                      "vocab_size",
                                                      "add_bias_linear",
                                                      "hidden_size",
                                                      "ffn_hidden_size",
                                                      "num_attention_heads",
                                                      "num_query_groups",
                                                      "kv_channels",
                                                      "max_position_embeddings",
                                                      "micro_batch_size",
                                                      "global_batch_size",
                                                      "rampup_batch_size",
                                                      "tensor_model_parallel_size",
                                                      "pipeline_model_parallel_size",
                                                      "context_parallel_size",
                                                      "expert_model_parallel_size",
                                                      "expert_tensor_parallel_size",
                                                      "sequence_parallel",
                                                      "overlap_p2p_comm",
                                                      "make_vocab_size_divisible_by",
                                                      "hidden_dropout",
                                                      "attention_dropout",
                                                      "position_embedding_type",
                                                      "qk_layernorm",
                                                      "moe_router_topk",
                                                      "moe_ffn_hidden_size",
                                                      "moe_shared_expert_intermediate_size",
                                                      "moe_token_dispatcher_type",
                                                      "account_for_embedding_in_pipeline_split",
                                                      "account_for_loss_in_pipeline_split",
                                                      "recompute_granularity",
                                                      "recompute_method",
                                                      "recompute_num_layers",
                                                      "recompute_modules",
                                                      "attention_backend",
                                                      "cross_entropy_loss_fusion",
                                                      "enable_cuda_graph",
                                                      "external_cuda_graph",
                                                      "moe_shared_expert_overlap",
                                                      "cpu_offloading_num_layers",
                                                      "cp_comm_type",
                                                      "moe_expert_capacity_factor"};

std::string megatron_key(std::string_view nemo) {
  for (const SameValue& renamed : kRenamed) {
    if (renamed.nemo == nemo) return std::string(renamed.megatron);
  }
  constexpr std::string_view kModel = "model.";
  if (!nemo.starts_with(kModel)) return "";
  const std::string_view name = nemo.substr(kModel.size());
  const bool same = std::find(kSameNames.begin(), kSameNames.end(), name) != kSameNames.end();
  return same ? std::string(name) : "";
}

// One value of NeMo's that is a switch, or another word, of Megatron-LM's.
class Words {
 public:
  explicit Words(Values& nemo) : nemo_(nemo) {}

  void rename() {
    for (const Value& value : nemo_.all()) {
      const std::string key = megatron_key(value.key);
      if (!key.empty()) add(value, key, value.words);
    }
    for (const SameValue& renamed : kRenamed) nemo_.pass_over(renamed.nemo);
    for (const std::string_view name : kSameNames) nemo_.pass_over("model." + std::string(name));
  }

  void translate() {
    if (const Value* groups = nemo_.find("model.num_query_groups")) {
      add(*groups, "group_query_attention", {});
    }
    if (const Value* shares = nemo_.find("model.share_embeddings_and_output_weights")) {
      if (!flag_of(*shares)) add(*shares, "untie_embeddings_and_output_weights", {});
    }
    if (const Value* norm = nemo_.find("model.normalization")) {
      const std::string word = word_of(*norm);
      const bool rms = word == "rmsnorm" || word == "RMSNorm";
      add(*norm, "normalization", {rms ? "RMSNorm" : "LayerNorm"});
    }
    activation();
    precision();
    gradients();
    optimizer();
  }

  Values take() { return std::move(megatron_); }

 private:
  void add(const Value& from, std::string key, std::vector<std::string> words) {
    Value value = from;
    value.key = std::move(key);
    value.words = std::move(words);
    value.used = false;
    megatron_.add(std::move(value));
  }

  void activation() {
    const Value* value = nemo_.find("model.activation");
    if (value == nullptr) return;
    const std::string word = word_of(*value);
    if (word == "swiglu" || word == "fast-swiglu") return add(*value, "swiglu", {});
    if (word == "geglu" || word == "fast-geglu") return add(*value, "quick_geglu", {});
    if (word == "squared-relu") return add(*value, "squared_relu", {});
    if (word != "gelu" && word != "openai-gelu" && word != "approx-gelu") {
      fail_at(*value, "must be gelu, swiglu, geglu or squared-relu");
    }
  }

  void precision() {
    const Value* value = nemo_.find("trainer.precision");
    if (value != nullptr) {
      const std::string word = word_of(*value);
      if (word.starts_with("bf16")) add(*value, "bf16", {});
      if (word.starts_with("16")) add(*value, "fp16", {});
    }
    const Value* fp8 = nemo_.find("model.fp8");
    const Value* e4m3 = nemo_.find("model.fp8_e4m3");
    nemo_.pass_over("model.fp8_hybrid");
    const Value* kept = nemo_.find("model.fp8_params");  // primary weights in fp8
    if (fp8 == nullptr || !flag_of(*fp8)) return;
    add(*fp8, "fp8", {e4m3 != nullptr && flag_of(*e4m3) ? "e4m3" : "hybrid"});
    if (kept != nullptr && flag_of(*kept)) add(*kept, "fp8_param_gather", {});
  }

  // Number formats in which the sharded Adam reduces and keeps gradients.
  void gradients() {
    const Value* type = nemo_.find("model.optim.grad_sync_dtype");
    if (type == nullptr) return;
    const std::string word = word_of(*type);
    if (word == "bf16" || word == "bfloat16") add(*type, "grad_reduce_in_bf16", {});
  }

  // Two names of the sharded one.
  void optimizer() {
    const Value* name = nemo_.find("model.optim.name");
    if (name == nullptr) return;
    const std::string word = word_of(*name);
    if (word == "distributed_fused_adam" || word == "mcore_distributed_optim") {
      add(*name, "use_distributed_optimizer", {});
    }
  }

  Values& nemo_;
  Values megatron_;
};

void say_framework(LaunchReading& r) {
  LaunchRecord& record = r.record();
  std::erase_if(record.assumed, [](const Fact& fact) { return fact.field == "framework"; });
  record.framework = kFramework;
  r.assume("framework", kFramework, "the file does not say which release runs");
}

// Sets the defaults of NeMo's overlaps for keys that the file lacks.
void assume_overlaps(LaunchReading& r, Values& nemo) {
  Layout& l = r.record().layout;
  const Value* name = nemo.find("model.optim.name");
  const bool apex = name != nullptr && word_of(*name) == "distributed_fused_adam";
  if (apex && !nemo.has("model.optim.overlap_grad_sync")) {
    l.overlap_grad_reduce = true;
    r.assume("overlap_grad_reduce", "true", "the default of apex's DistributedFusedAdam");
  }
  if (l.virtual_pipeline_parallel_size > 1 && !nemo.has("model.overlap_p2p_comm")) {
    l.overlap_p2p_comm = false;
    r.assume("overlap_p2p_comm", "false", "Megatron Core's default, which NeMo leaves");
  }
}

// peft.lora_tuning of the tuning configurations (megatron_gpt_finetuning_config.yaml).
void read_nemo_peft(LaunchReading& r) {
  const Value* scheme = r.find("model.peft.peft_scheme");
  const std::string word = scheme == nullptr ? "" : lower_case(word_of(*scheme));
  if (word.empty() || word == "none" || word == "null") {
    return r.values().pass_over_below("model.peft.");
  }
  const bool parts = word == "canonical_lora";
  if (word != "lora" && !parts) refuse_adapters(*scheme);
  r.note("peft_scheme", word, *scheme);
  const Value* some = r.find("model.peft.lora_tuning.layer_selection");
  if (some != nullptr) fail_at(*some, "adapters of some layers alone are not modelled");
  const unsigned bits = parts ? kLoraQ | kLoraK | kLoraV : static_cast<unsigned>(kLoraQkv);
  read_lora(r, {"model.peft.lora_tuning.adapter_dim", "model.peft.lora_tuning.target_modules"},
            {32, {bits}, "the default of NeMo's LoRA"});
  r.values().pass_over_below("model.peft.");
}

void list_nemo_unmodelled(LaunchReading& r) {
  r.not_modelled_unless("model.optim.name", {"distributed_fused_adam", "mcore_distributed_optim",
                                             "megatron_fused_adam", "fused_adam", "adam", "adamw"});
  r.not_modelled_unless("model.optim.grad_sync_dtype", {"fp32", "32", "bf16", "bfloat16"});
  r.not_modelled_unless("model.optim.cpu_offload");
  r.not_modelled_unless("trainer.accumulate_grad_batches");
  r.not_modelled_unless("trainer.strategy", {"ddp"});
  r.not_modelled_unless("trainer.strategy.name", {"ddp"});
  r.not_modelled_unless("model.strategy.name", {"ddp"});
  if (const Value* master = r.find("model.megatron_amp_O2"); master && !flag_of(*master)) {
    r.not_understood(*master, "weights stay in fp32, which is not modelled",
                     OptionEffect::precision);
  }
}

// Marks keys without a cost: data, learning rate, checkpoints, and kernels that the release fixes.
void pass_over_nemo(Values& nemo) {
  for (const char* section : {"trainer.max_",
                              "trainer.log",
                              "trainer.val_",
                              "trainer.check_val",
                              "trainer.limit_",
                              "trainer.enable_",
                              "trainer.accelerator",
                              "trainer.use_distributed_sampler",
                              "trainer.replace_sampler",
                              "trainer.benchmark",
                              "trainer.gradient_clip",
                              "trainer.num_sanity",
                              "trainer.callbacks",
                              "trainer.profiler",
                              "trainer.detect_anomaly",
                              "trainer.reload_",
                              "trainer.fast_dev_run",
                              "trainer.devices",
                              "trainer.num_nodes",
                              "trainer.precision",
                              "exp_manager.",
                              "run.",
                              "model.data.",
                              "model.tokenizer.",
                              "model.optim.",
                              "model.nsys_profile.",
                              "model.rotary",
                              "model.init_method",
                              "model.layernorm_epsilon",
                              "model.native_amp",
                              "model.megatron_",
                              "model.grad_",
                              "model.gradient_",
                              "model.transformer_",
                              "model.bias_",
                              "model.masked_softmax",
                              "model.seed",
                              "model.use_cpu_initialization",
                              "model.onnx_safe",
                              "model.apex",
                              "model.apply_",
                              "model.mcore_gpt",
                              "model.fp8_",
                              "model.fp16_lm",
                              "model.fp32_residual",
                              "model.save_",
                              "model.get_attention_mask",
                              "model.resume_from",
                              "model.restore_from",
                              "model.pre_process",
                              "model.post_process",
                              "model.batch_p2p_comm",
                              "model.hysteresis",
                              "model.persist_layer_norm",
                              "model.headscale",
                              "model.attention_type",
                              "model.use_scaled_init",
                              "model.ffn_dropout",
                              "model.do_layer_norm_weight_decay",
                              "defaults.",
                              "model.moe_grouped_gemm",
                              "model.moe_router_load",
                              "model.moe_z_loss",
                              "model.moe_input_jitter",
                              "model.seq_len_interpolation",
                              "model.scale_positional",
                              "model.rope_scaling",
                              "model.nccl_communicator",
                              "model.sync_batch_comm",
                              "model.answer_only_loss",
                              "model.hidden_act",
                              "model.share_token",
                              "model.legacy_tokenizer",
                              "model.enable_nge",
                              "model.inference.",
                              "model.target",
                              "model.tp_comm_bulk",
                              "trainer.deterministic",
                              "model.openai_gelu",
                              "model.normalize_attention",
                              "model.precision",
                              "model.reduce_amax",
                              "model.use_emha",
                              "model.ub_tp_comm_overlap_",
                              "model.moe_aux_loss",
                              "model.dist_ckpt",
                              "model.gated_linear_unit"}) {
    nemo.pass_over_below(section);
  }
  for (const char* key : {"name", "restore_from_path", "defaults"}) nemo.pass_over(key);
}

}  // namespace

LaunchRecord read_nemo(std::string_view text, const std::string& file, const LaunchHints& hints) {
  LaunchRecord record;
  read_nemo_values(with_references(with_stated(values_of_yaml(text, file), hints), hints.variables),
                   file, hints, record);
  return record;
}

void read_nemo_values(Values nemo, const std::string& file, const LaunchHints& hints,
                      LaunchRecord& record) {
  record.target = "NeMo";
  Words words(nemo);
  words.rename();
  words.translate();
  Values megatron = words.take();
  LaunchReading reading(megatron, record);
  LaunchReading trainer(nemo, record);
  int nodes = 1;
  trainer.integer(nodes, "num_nodes", "trainer.num_nodes", {1, 1'000'000});
  if (trainer.integer(record.gpus_per_node, "gpus_per_node", "trainer.devices", {1, 1024})) {
    record.gpus = nodes * record.gpus_per_node;
  }
  read_megatron_fields(reading, hints, file);
  read_nemo_peft(trainer);
  say_framework(reading);
  assume_overlaps(reading, nemo);
  reading.list_unused("no key of NeMo that is known here");
  if (const Value* fsdp = nemo.find("model.fsdp"); fsdp != nullptr && flag_of(*fsdp)) {
    trainer.not_understood(*fsdp, "its FSDP is not modelled");
  }
  list_nemo_unmodelled(trainer);
  pass_over_nemo(nemo);
  trainer.list_unused("no key of NeMo that is known here");
}

namespace {

// Its models say the sequence themselves, or it has a trainer.
bool is_nemo(const LaunchText& text) {
  return has_any(text, {"model.tensor_model_parallel_size", "model.pipeline_model_parallel_size",
                        "model.micro_batch_size"}) &&
         has_any(text, {"model.encoder_seq_length", "model.mcore_gpt", "trainer.", "exp_manager."});
}

}  // namespace

extern const LaunchFormat kNemoFormat;
constexpr LaunchFormat kNemoFormat{
    is_nemo, [](const LaunchText& t, const LaunchHints& hints, const ReadNamedFile&) {
      return read_nemo(t.text, t.file, hints);
    }};

}  // namespace meshwright::interop
