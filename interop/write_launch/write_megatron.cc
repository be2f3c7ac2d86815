// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "interop/write_launch/bash_arguments.h"
#include "interop/write_launch/hosts.h"
#include "interop/write_launch/launch.h"
#include "interop/write_launch/vocabulary.h"
#include "sim/base/job.h"
#include "sim/layout/layout.h"
#include "sim/layout/short_name.h"
#include "sim/memory/model_state.h"
#include "sim/model/model.h"

namespace meshwright::interop {
namespace {

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

// Offload wants a distributed optimizer, also on a single data rank (optimizer_config.py).
bool distributes_optimizer(const Layout& l) {
  return l.zero_stage > 0 || (l.optimizer_offload && gradient_group_size(l) == 1);
}

void add_sharding(Arguments& a, const Layout& l) {
  a.flag_if(distributes_optimizer(l), "--use-distributed-optimizer");
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

void add_megatron_pipeline(Arguments& a, const Layout& l) {
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

void add_megatron_recompute(Arguments& a, const Layout& l) {
  if (l.recompute_granularity == RecomputeGranularity::none) return;
  a.set("--recompute-granularity", name_of(l.recompute_granularity));
  if (l.recompute_granularity == RecomputeGranularity::selective) {
    a.set("--recompute-modules", named_modules(l.recompute_modules, kRecomputeModuleNames));
    return;
  }
  const bool some = l.recompute_num_layers > 0 && l.recompute_method == RecomputeMethod::block;
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
  add_megatron_pipeline(a, l);
  if (l.context_parallel_size > 1) {
    a.set("--context-parallel-size", l.context_parallel_size);
    a.set("--cp-comm-type", cp_type(l.cp_comm_type));
    a.set_if(
        l.cp_comm_type == ContextParallelAlgorithm::a2a_p2p,
        "--hierarchical-context-parallel-sizes",
        fmt::format("{} {}", l.hierarchical_context_parallel_size,
                    l.context_parallel_size / std::max(1, l.hierarchical_context_parallel_size)));
  }
  if (t.scenario.model.moe) {
    a.set("--expert-model-parallel-size", l.expert_parallel_size);
    a.set("--expert-tensor-parallel-size", expert_tensor_size(l));
  }
  add_sharding(a, l);
  if (t.scenario.model.moe) add_graphs(a, l);
  add_megatron_recompute(a, l);
  a.flag_if(pipeline_inside_data(l), "--use-tp-pp-dp-mapping");
}

std::string parallel_arguments(const Training& t) {
  Arguments a;
  add_parallel(a, t);
  return a.text("MODEL_PARALLEL_ARGS");
}

// Unsaid, the recipe is delayed scaling, with which not all recompute starts.
void add_fp8(Arguments& a, const Training& t) {
  if (t.scenario.job.precision == Precision::fp4) {
    a.set("--fp4-format", "e2m1");
    a.set("--fp4-recipe", "nvfp4");
  }
  if (t.scenario.job.precision != Precision::fp8) return;
  a.set("--fp8-format", "hybrid");
  const bool needs_another =
      recomputes_module(t.layout, kRecomputeLayerNorm | kRecomputeMoeActivation);
  if (t.scenario.job.fp8_recipe || needs_another) {
    a.set("--fp8-recipe", name_of(t.scenario.job.fp8_recipe.value_or(Fp8Recipe::tensorwise)));
  }
}

std::string training_arguments(const Training& t) {
  const Job& j = t.scenario.job;
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
  a.flag_if(is_narrow(j.precision) && j.fp8_dot_product_attention, "--fp8-dot-product-attention");
  a.flag_if(is_narrow(j.precision) && j.disable_parameter_transpose_cache,
            "--disable-parameter-transpose-cache");
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

// All but what its engine settles by itself.
const Vocabulary& megatron_vocabulary() {
  static const Vocabulary words{"tensor_parallel_size",
                                "pipeline_parallel_size",
                                "pipeline_layout",
                                "virtual_pipeline_parallel_size",
                                "context_parallel_size",
                                "expert_parallel_size",
                                "expert_tensor_parallel_size",
                                "sequence_parallel",
                                "schedule",
                                "num_layers_in_first_pipeline_stage",
                                "num_layers_in_last_pipeline_stage",
                                "account_for_embedding_in_pipeline_split",
                                "account_for_loss_in_pipeline_split",
                                "cp_comm_type",
                                "hierarchical_context_parallel_size",
                                "zero_stage",
                                "zero_shard_size",
                                "recompute_granularity",
                                "recompute_num_layers",
                                "recompute_method",
                                "recompute_modules",
                                "overlap_grad_reduce",
                                "overlap_param_gather",
                                "tp_comm_overlap",
                                "overlap_p2p_comm",
                                "moe_token_dispatcher_type",
                                "moe_flex_dispatcher_backend",
                                "overlap_moe_expert_parallel_comm",
                                "delay_wgrad_compute",
                                "moe_shared_expert_overlap",
                                "cuda_graph_impl",
                                "cuda_graph_modules",
                                "optimizer_offload",
                                "cpu_offloading_num_layers",
                                "offload_modules",
                                "rank_order"};
  return words;
}

std::string megatron_layout_refusal(const Layout& l) {
  if (recomputes_module(l, kRecomputeOp)) return "it recomputes by module, not by operator";
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

std::string distributed(const Cluster& cluster, const Layout& layout) {
  const Hosts hosts = hosts_of(cluster, layout);
  return fmt::format(
      "torchrun --nproc_per_node {} --nnodes {} --node_rank \"$NODE_RANK\" --master_addr "
      "\"$MASTER_ADDR\" --master_port \"${{MASTER_PORT:-6000}}\" \\\n  pretrain_gpt.py "
      "\"${{MODEL_ARGS[@]}}\" \"${{MODEL_PARALLEL_ARGS[@]}}\" \"${{TRAINING_ARGS[@]}}\" "
      "\"${{DATA_ARGS[@]}}\"\n",
      hosts.devices, hosts.count);
}

}  // namespace

std::string megatron_layout_refusal(const Training& t) {
  if (std::string why = megatron_layout_refusal(t.layout); !why.empty()) return why;
  return megatron_vocabulary().refusal(t.layout, t.scenario.model, Layout{});
}

std::vector<LaunchSetting> megatron_layout_settings(const Training& t) {
  Arguments arguments;
  add_parallel(arguments, t);
  if (t.scenario.model.moe) add_megatron_dispatcher(arguments, t.layout);
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

QueueNeed megatron_queues(const Layout& l) {
  if (l.zero_stage > 1 || l.overlap_moe_expert_parallel_comm) return QueueNeed::several;
  const bool one = l.tensor_parallel_size > 1 || l.context_parallel_size > 1;
  return one ? QueueNeed::one : QueueNeed::any;
}

LaunchFile megatron_lm(const Training& t) {
  LaunchFile launch{.target = "Megatron-LM",
                    .names_of = "commit d98e8a6 of 2026-08-22",
                    .file_name = "megatron-lm.sh",
                    .text = "",
                    .notes = {},
                    .refusal = megatron_model_refusal(t)};
  if (launch.refusal.empty()) launch.refusal = megatron_layout_refusal(t);
  if (!launch.refusal.empty()) return launch;
  Arguments data;
  data.flag("--mock-data");
  data.set("--tokenizer-type", "NullTokenizer");
  data.set("--vocab-size", t.scenario.model.vocab_size);
  data.set("--train-iters", 20);
  data.set("--lr", "1e-4");
  std::string text = fmt::format(
      "#!/bin/bash\n# {}: {} tensor x {} context x {} pipeline x {} data ranks.\n"
      "# A dry run of 20 steps on made-up data: put your data, tokenizer and schedule into "
      "DATA_ARGS.\nset -eu\n",
      short_name(t.layout), t.layout.tensor_parallel_size, t.layout.context_parallel_size,
      t.layout.pipeline_parallel_size, t.layout.data_parallel_size);
  if (megatron_queues(t.layout) == QueueNeed::one) {
    text += "export CUDA_DEVICE_MAX_CONNECTIONS=1\n";
    launch.notes.emplace_back("CUDA_DEVICE_MAX_CONNECTIONS=1 is for GPUs before Blackwell.");
  }
  if (t.layout.offload_modules.bits != 0) text += "export NVTE_CPU_OFFLOAD_V1=1\n";
  text += megatron_model_arguments(t).text("MODEL_ARGS") + parallel_arguments(t) +
          training_arguments(t);
  text += data.text("DATA_ARGS") + distributed(t.scenario.cluster, t.layout);
  launch.notes.emplace_back(
      "Switches of the model that cost nothing (rotary base, initialisation) are not written.");
  launch.text = std::move(text);
  return launch;
}

}  // namespace meshwright::interop
