// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "interop/write_launch/launch.h"
#include "sim/base/job.h"
#include "sim/layout/layout.h"
#include "sim/layout/short_name.h"
#include "sim/memory/memory.h"
#include "sim/model/model.h"

namespace meshwright::interop {
namespace {

// One group of a launch script: a bash array.
class Arguments {
 public:
  void flag(std::string_view name) { lines_.push_back(std::string(name)); }
  template <typename Value>
  void set(std::string_view name, const Value& value) {
    lines_.push_back(fmt::format("{} {}", name, value));
  }
  void flag_if(bool on, std::string_view name) {
    if (on) flag(name);
  }
  template <typename Value>
  void set_if(bool on, std::string_view name, const Value& value) {
    if (on) set(name, value);
  }
  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }
  [[nodiscard]] std::string text(std::string_view array) const {
    return fmt::format("{}=(\n  {}\n)\n", array, fmt::join(lines_, "\n  "));
  }

 private:
  std::vector<std::string> lines_;
};

std::string expert_layers(const Model& model) {
  const MixtureOfExperts& moe = *model.moe;
  std::string pattern;
  for (int i = 0; i < model.num_layers; ++i) {
    pattern +=
        fmt::format("{}{}", i == 0 ? "" : ",", layer_kind(model, i).mixture_of_experts ? 1 : 0);
  }
  if (moe.moe_layer_interval == 1) {
    return fmt::format("[0]*{}+[1]*{}", moe.num_first_dense_layers,
                       model.num_layers - moe.num_first_dense_layers);
  }
  return "[" + pattern + "]";
}

void add_dispatcher(Arguments& arguments, const Layout& l) {
  arguments.set("--moe-token-dispatcher-type", name_of(l.moe_token_dispatcher_type));
  arguments.set_if(l.moe_token_dispatcher_type == MoeTokenDispatcherType::flex,
                   "--moe-flex-dispatcher-backend", name_of(l.moe_flex_dispatcher_backend));
  arguments.flag_if(l.overlap_moe_expert_parallel_comm, "--overlap-moe-expert-parallel-comm");
  arguments.flag_if(l.delay_wgrad_compute, "--delay-wgrad-compute");
  arguments.flag_if(l.moe_shared_expert_overlap, "--moe-shared-expert-overlap");
}

std::string graph_modules(CudaGraphModules modules) {
  std::string words(name_of(modules));
  std::replace(words.begin(), words.end(), '+', ' ');
  return words;
}

// Graphs of parts of a layer hold none that runs again whole.
void add_graphs(Arguments& arguments, const Layout& l) {
  const bool whole_layers = l.recompute_granularity == RecomputeGranularity::full &&
                            l.cuda_graph_impl != CudaGraphImpl::full_iteration;
  if (l.cuda_graph_impl == CudaGraphImpl::none || whole_layers) return;
  arguments.flag("--te-rng-tracker");
  arguments.set("--cuda-graph-impl", name_of(l.cuda_graph_impl));
  arguments.set_if(l.cuda_graph_impl != CudaGraphImpl::full_iteration, "--cuda-graph-modules",
                   graph_modules(l.cuda_graph_modules));
}

void add_experts(Arguments& arguments, const Model& model, const Layout& layout) {
  const MixtureOfExperts& moe = *model.moe;
  arguments.set("--num-experts", moe.num_moe_experts);
  arguments.set("--moe-ffn-hidden-size", moe.moe_ffn_hidden_size);
  arguments.set("--moe-router-topk", moe.moe_router_topk);
  arguments.set_if(moe.moe_shared_expert_intermediate_size > 0,
                   "--moe-shared-expert-intermediate-size",
                   moe.moe_shared_expert_intermediate_size);
  arguments.set_if(moe.num_first_dense_layers > 0 || moe.moe_layer_interval > 1, "--moe-layer-freq",
                   fmt::format("\"{}\"", expert_layers(model)));
  arguments.set_if(moe.moe_router_num_groups > 0, "--moe-router-num-groups",
                   moe.moe_router_num_groups);
  arguments.set_if(moe.moe_router_num_groups > 0, "--moe-router-group-topk",
                   moe.moe_router_group_topk);
  add_dispatcher(arguments, layout);
  arguments.flag("--moe-grouped-gemm");
  arguments.set_if(moe.moe_expert_capacity_factor > 0.0, "--moe-expert-capacity-factor",
                   moe.moe_expert_capacity_factor);
}

void add_latent_attention(Arguments& arguments, const LatentAttention& mla) {
  arguments.flag("--multi-latent-attention");
  arguments.set_if(mla.q_lora_rank > 0, "--q-lora-rank", mla.q_lora_rank);
  arguments.set("--kv-lora-rank", mla.kv_lora_rank);
  arguments.set("--qk-head-dim", mla.qk_head_dim);
  arguments.set("--qk-pos-emb-head-dim", mla.qk_pos_emb_head_dim);
  arguments.set("--v-head-dim", mla.v_head_dim);
}

std::string model_arguments(const Training& t) {
  const Model& m = t.model;
  Arguments a;
  a.set("--num-layers", m.num_layers);
  a.set("--hidden-size", m.hidden_size);
  a.set("--ffn-hidden-size", m.ffn_hidden_size);
  a.set("--num-attention-heads", m.num_attention_heads);
  if (m.num_query_groups != m.num_attention_heads) {
    a.flag("--group-query-attention");
    a.set("--num-query-groups", m.num_query_groups);
  }
  a.set("--kv-channels", m.kv_channels);
  a.set("--seq-length", t.job.seq_length);
  a.set("--max-position-embeddings", std::max(m.max_position_embeddings, t.job.seq_length));
  a.flag_if(m.activation == Activation::swiglu, "--swiglu");
  a.set_if(m.normalization == Normalization::rms_norm, "--normalization", "RMSNorm");
  a.flag_if(!m.tied_embeddings, "--untie-embeddings-and-output-weights");
  a.flag_if(!m.add_bias_linear, "--disable-bias-linear");
  a.flag_if(m.add_qkv_bias, "--add-qkv-bias");
  a.flag_if(m.qk_layernorm, "--qk-layernorm");
  a.set_if(m.position_embedding == PositionEmbedding::rope, "--position-embedding-type", "rope");
  a.set_if(m.position_embedding == PositionEmbedding::none, "--position-embedding-type", "none");
  a.set("--make-vocab-size-divisible-by", t.job.make_vocab_size_divisible_by);
  if (m.mla) add_latent_attention(a, *m.mla);
  if (m.moe) add_experts(a, m, t.layout);
  a.set_if(m.mtp_num_layers > 0, "--mtp-num-layers", m.mtp_num_layers);
  return a.text("MODEL_ARGS");
}

std::string_view cp_type(ContextParallelAlgorithm algorithm) {
  switch (algorithm) {
    case ContextParallelAlgorithm::p2p:
      return "p2p";
    case ContextParallelAlgorithm::all_gather:
      return "allgather";
    case ContextParallelAlgorithm::a2a:
      return "a2a";
    case ContextParallelAlgorithm::a2a_p2p:
      break;
  }
  return "a2a+p2p";
}

// "core_attn moe_act"
template <typename Module, typename Names>
std::string named_modules(ModuleSet<Module> modules, const Names& names) {
  std::vector<std::string_view> words;
  for (const auto& entry : names) {
    if (modules.has(entry.value)) words.push_back(entry.name);
  }
  return fmt::format("{}", fmt::join(words, " "));
}

void add_sharding(Arguments& a, const Layout& l) {
  a.flag_if(l.zero_stage > 0, "--use-distributed-optimizer");
  if (l.zero_stage > 1) {
    a.flag("--use-megatron-fsdp");
    a.set("--data-parallel-sharding-strategy",
          l.zero_stage == 2 ? "optim_grads" : "optim_grads_params");
    a.set("--ckpt-format", "fsdp_dtensor");
  }
  a.set_if(l.zero_shard_size > 0, "--num-distributed-optimizer-instances",
           gradient_group_size(l) / zero_shard_group_size(l));
  a.flag_if(l.overlap_grad_reduce, "--overlap-grad-reduce");
  a.flag_if(l.overlap_param_gather, "--overlap-param-gather");
  a.flag_if(l.optimizer_offload, "--optimizer-cpu-offload");
  // arguments.py asks for it beside.
  a.flag_if(l.optimizer_offload, "--use-precision-aware-optimizer");
  a.set_if(l.cpu_offloading_num_layers > 0, "--cpu-offloading-num-layers",
           l.cpu_offloading_num_layers);
  if (l.offload_modules.bits != 0) {
    a.flag("--fine-grained-activation-offloading");
    a.set("--offload-modules", named_modules(l.offload_modules, kOffloadModuleNames));
  }
}

void add_pipeline(Arguments& a, const Layout& l) {
  a.set("--pipeline-model-parallel-size", l.pipeline_parallel_size);
  // The virtual size follows from the list; arguments.py refuses both.
  a.set_if(static_cast<bool>(l.pipeline_layout), "--pipeline-model-parallel-layout",
           fmt::format("\"{}\"", l.pipeline_layout.text()));
  a.set_if(l.virtual_pipeline_parallel_size > 1 && !l.pipeline_layout,
           "--num-virtual-stages-per-pipeline-rank", l.virtual_pipeline_parallel_size);
  a.flag_if(l.virtual_pipeline_parallel_size > 1 && !l.overlap_p2p_comm,
            "--no-overlap-p2p-communication");
  a.set_if(l.num_layers_in_first_pipeline_stage > 0, "--decoder-first-pipeline-num-layers",
           l.num_layers_in_first_pipeline_stage);
  a.set_if(l.num_layers_in_last_pipeline_stage > 0, "--decoder-last-pipeline-num-layers",
           l.num_layers_in_last_pipeline_stage);
  a.flag_if(l.account_for_embedding_in_pipeline_split, "--account-for-embedding-in-pipeline-split");
  a.flag_if(l.account_for_loss_in_pipeline_split, "--account-for-loss-in-pipeline-split");
}

void add_recompute(Arguments& a, const Layout& l) {
  if (l.recompute_granularity == RecomputeGranularity::none) return;
  a.set("--recompute-granularity", name_of(l.recompute_granularity));
  if (l.recompute_granularity == RecomputeGranularity::selective) {
    a.set("--recompute-modules", named_modules(l.recompute_modules, kRecomputeModuleNames));
    return;
  }
  const bool some = l.recompute_num_layers > 0;
  a.set("--recompute-method", some ? "block" : "uniform");
  // Counted for each chunk; a unit of one layer keeps one input a layer.
  a.set("--recompute-num-layers",
        some ? l.recompute_num_layers / l.virtual_pipeline_parallel_size : 1);
}

// With two or more ranks an order that Megatron-LM does not know would place groups elsewhere.
bool default_order(const Layout& l) { return l.rank_order == Layout{}.rank_order; }
bool pipeline_inside_data(const Layout& l) {
  return l.rank_order ==
         std::array{Axis::tensor, Axis::context, Axis::expert, Axis::pipeline, Axis::data};
}

void add_parallel(Arguments& a, const Training& t) {
  const Layout& l = t.layout;
  a.set("--tensor-model-parallel-size", l.tensor_parallel_size);
  a.flag_if(l.sequence_parallel && l.tensor_parallel_size > 1, "--sequence-parallel");
  a.flag_if(l.tp_comm_overlap, "--tp-comm-overlap");
  add_pipeline(a, l);
  if (l.context_parallel_size > 1) {
    a.set("--context-parallel-size", l.context_parallel_size);
    a.set("--cp-comm-type", cp_type(l.cp_comm_type));
    a.set_if(
        l.hierarchical_context_parallel_size > 0, "--hierarchical-context-parallel-sizes",
        fmt::format("{} {}", l.hierarchical_context_parallel_size,
                    l.context_parallel_size / std::max(1, l.hierarchical_context_parallel_size)));
  }
  if (t.model.moe) {
    a.set("--expert-model-parallel-size", l.expert_parallel_size);
    a.set("--expert-tensor-parallel-size", expert_tensor_size(l));
  }
  add_sharding(a, l);
  if (t.model.moe) add_graphs(a, l);
  add_recompute(a, l);
  a.flag_if(pipeline_inside_data(l), "--use-tp-pp-dp-mapping");
}

std::string parallel_arguments(const Training& t) {
  Arguments a;
  add_parallel(a, t);
  return a.text("MODEL_PARALLEL_ARGS");
}

// Unsaid, the recipe is delayed scaling, with which not all recompute starts.
void add_fp8(Arguments& a, const Training& t) {
  if (t.job.precision == Precision::fp4) {
    a.set("--fp4-format", "e2m1");
    a.set("--fp4-recipe", "nvfp4");
  }
  if (t.job.precision != Precision::fp8) return;
  a.set("--fp8-format", "hybrid");
  const bool needs_another =
      recomputes_module(t.layout, kRecomputeLayerNorm | kRecomputeMoeActivation);
  if (t.job.fp8_recipe || needs_another) {
    a.set("--fp8-recipe", name_of(t.job.fp8_recipe.value_or(Fp8Recipe::tensorwise)));
  }
}

std::string training_arguments(const Training& t) {
  const Job& j = t.job;
  Arguments a;
  a.set("--micro-batch-size", t.layout.micro_batch_size);
  a.set("--global-batch-size", j.global_batch_size);
  a.flag_if(j.precision == Precision::bf16 || is_narrow(j.precision), "--bf16");
  a.flag_if(j.precision == Precision::fp16, "--fp16");
  add_fp8(a, t);
  const bool gathers = gathers_fp8_params(j, t.layout);
  a.flag_if(gathers, "--fp8-param-gather");
  a.flag_if(gathers && j.fp8_recipe == Fp8Recipe::mxfp8, "--reuse-grad-buf-for-mxfp8-param-ag");
  a.flag_if(j.activation_func_fp8_input_store, "--activation-func-fp8-input-store");
  a.flag_if(j.gradient_precision == Precision::bf16, "--grad-reduce-in-bf16");
  a.flag_if(j.cross_entropy_loss_fusion, "--cross-entropy-loss-fusion");
  a.set_if(j.cross_entropy_loss_fusion, "--cross-entropy-fusion-impl", "te");
  if (j.exp_avg_precision != Precision::fp32) {
    a.flag_if(!t.layout.optimizer_offload, "--use-precision-aware-optimizer");
    a.set("--exp-avg-dtype", name_of(j.exp_avg_precision));
  }
  // Unsaid, both are 0.1.
  a.set_if(!j.dropout, "--attention-dropout", "0.0");
  a.set_if(!j.dropout, "--hidden-dropout", "0.0");
  a.flag("--log-throughput");
  return a.text("TRAINING_ARGS");
}

std::string missing_feature(const Model& m) {
  if (m.num_attention_heads == 0) return "model without attention";
  if (m.vocab_size == 0) return "model without a vocabulary";
  if (m.activation == Activation::relu || m.activation == Activation::geglu) {
    return fmt::format("{} activation", name_of(m.activation));
  }
  if (m.position_embedding == PositionEmbedding::alibi) return "ALiBi";
  if (m.parallel_attention_mlp) return "parallel attention and MLP";
  if (m.post_layer_norms) return "second norm after attention and MLP";
  if (m.embedding_layer_norm) return "norm after the embedding";
  if (m.normalization == Normalization::none) return "layers without norms";
  return "";
}

std::string layout_refusal(const Layout& l) {
  if (l.recompute_num_layers % l.virtual_pipeline_parallel_size != 0) {
    return "it counts recomputed layers a chunk, and these do not divide";
  }
  const bool known = l.pipeline_parallel_size == 1 || l.schedule == PipelineSchedule::one_f_one_b ||
                     l.schedule == PipelineSchedule::interleaved;
  if (!known) {
    return fmt::format("it has no {} schedule: 1f1b and interleaved only", name_of(l.schedule));
  }
  if (l.pipeline_parallel_size > 1 && l.pipeline_engine != PipelineEngine::megatron) {
    return fmt::format("its stages are not those of {}", name_of(l.pipeline_engine));
  }
  if (!default_order(l) && !pipeline_inside_data(l)) return "it does not know this rank order";
  if (l.num_layers_in_first_pipeline_stage > 0 && l.virtual_pipeline_parallel_size > 1) {
    return "uneven stages cannot be interleaved";
  }
  if (uses_fsdp(l)) return "PyTorch FSDP is written for its own launchers";
  if (l.all_reduce_gradients || l.defer_grad_reduce) {
    return "it reduces gradients beside the backward pass, in shares";
  }
  return "";
}

std::string refusal_of(const Training& t) {
  const std::string missing = missing_feature(t.model);
  return missing.empty() ? layout_refusal(t.layout) : "its GPT has no " + missing;
}

std::string distributed(const Cluster& cluster, const Layout& layout) {
  const int gpus = world_size(layout);
  const int per_node = std::min(gpus, cluster.gpus_per_node);
  return fmt::format(
      "torchrun --nproc_per_node {} --nnodes {} --node_rank \"$NODE_RANK\" --master_addr "
      "\"$MASTER_ADDR\" --master_port \"${{MASTER_PORT:-6000}}\" \\\n  pretrain_gpt.py "
      "\"${{MODEL_ARGS[@]}}\" \"${{MODEL_PARALLEL_ARGS[@]}}\" \"${{TRAINING_ARGS[@]}}\" "
      "\"${{DATA_ARGS[@]}}\"\n",
      per_node, (gpus + per_node - 1) / per_node);
}

}  // namespace

std::string megatron_layout_refusal(const Layout& layout) { return layout_refusal(layout); }

std::vector<LaunchSetting> megatron_layout_settings(const Training& t) {
  Arguments arguments;
  add_parallel(arguments, t);
  if (t.model.moe) add_dispatcher(arguments, t.layout);
  arguments.set("--micro-batch-size", t.layout.micro_batch_size);
  std::vector<LaunchSetting> settings;
  for (const std::string& line : arguments.lines()) {
    const std::size_t blank = std::min(line.find(' '), line.size());
    std::string value = line.substr(std::min(blank + 1, line.size()));
    std::erase(value, '"');
    settings.push_back({line.substr(0, blank), value});
  }
  return settings;
}

LaunchFile megatron_lm(const Training& t) {
  LaunchFile launch{.target = "Megatron-LM",
                    .names_of = "commit d98e8a6 of 2026-08-22",
                    .file_name = "megatron-lm.sh",
                    .text = "",
                    .notes = {},
                    .refusal = refusal_of(t)};
  if (!launch.refusal.empty()) return launch;
  Arguments data;
  data.flag("--mock-data");
  data.set("--tokenizer-type", "NullTokenizer");
  data.set("--vocab-size", t.model.vocab_size);
  data.set("--train-iters", 20);
  data.set("--lr", "1e-4");
  std::string text = fmt::format(
      "#!/bin/bash\n# {}: {} tensor x {} context x {} pipeline x {} data ranks.\n"
      "# A dry run of 20 steps on made-up data: put your data, tokenizer and schedule into "
      "DATA_ARGS.\nset -eu\n",
      short_name(t.layout), t.layout.tensor_parallel_size, t.layout.context_parallel_size,
      t.layout.pipeline_parallel_size, t.layout.data_parallel_size);
  // One hardware queue keeps a collective in front of the GEMM it overlaps with; FSDP, and tokens
  // that travel beside compute, need several.
  const bool one_queue =
      (t.layout.tensor_parallel_size > 1 || t.layout.context_parallel_size > 1) &&
      t.layout.zero_stage < 2 && !t.layout.overlap_moe_expert_parallel_comm;
  if (one_queue) {
    text += "export CUDA_DEVICE_MAX_CONNECTIONS=1\n";
    launch.notes.emplace_back("CUDA_DEVICE_MAX_CONNECTIONS=1 is for GPUs before Blackwell.");
  }
  if (t.layout.offload_modules.bits != 0) text += "export NVTE_CPU_OFFLOAD_V1=1\n";
  text += model_arguments(t) + parallel_arguments(t) + training_arguments(t);
  text += data.text("DATA_ARGS") + distributed(t.cluster, t.layout);
  launch.notes.emplace_back(
      "Switches of the model that cost nothing (rotary base, initialisation) are not written.");
  launch.text = std::move(text);
  return launch;
}

}  // namespace meshwright::interop
