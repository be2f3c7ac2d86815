// SPDX-License-Identifier: Apache-2.0
// What of a layout the trial can run: on any machine, and on the ranks at hand.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "calibrate/trial/trial.h"
#include "sim/base/job.h"
#include "sim/block/indexer.h"
#include "sim/block/recurrent.h"
#include "sim/layout/layout.h"
#include "sim/model/model.h"
#include "sim/rules/rules.h"
#include "sim/schedule/traits.h"

namespace meshwright::calibrate {
namespace {

int largest_divisor(int n, int limit) {
  for (int d = std::min(n, std::max(1, limit)); d > 1; --d) {
    if (n % d == 0) return d;
  }
  return 1;
}

class Cutter {
 public:
  Cutter(const Model& model, const Job& job, const Layout& layout, const NetworkTraits& network)
      : model_(model), job_(job), wanted_(layout), network_(network) {
    run_.layout = layout;
  }

  RunnableLayout cut(int ranks) {
    take_away_switches();
    Layout& l = run_.layout;
    const bool fits = world_size(wanted_) <= ranks;
    if (!fits) {
      l.tensor_parallel_size = largest_divisor(wanted_.tensor_parallel_size, ranks);
      l.pipeline_parallel_size =
          largest_divisor(wanted_.pipeline_parallel_size, ranks / l.tensor_parallel_size);
      l.context_parallel_size =
          largest_divisor(wanted_.context_parallel_size,
                          ranks / (l.tensor_parallel_size * l.pipeline_parallel_size));
      l.data_parallel_size = largest_divisor(
          wanted_.data_parallel_size,
          ranks / (l.tensor_parallel_size * l.pipeline_parallel_size * l.context_parallel_size));
    }
    cut_experts();
    cut_layers();
    cut_schedule();
    cut_token_overlap();
    cut_batch();
    tell_sizes();
    return run_;
  }

 private:
  void say(std::string text) { run_.not_run.push_back(std::move(text)); }

  void switch_off(bool& flag, const char* text) {
    if (flag) say(text);
    flag = false;
  }

  // Parts that change when something runs, not what: run in order instead.
  void take_away_switches() {
    Layout& l = run_.layout;
    if (!network_.calls_block) {
      switch_off(l.overlap_grad_reduce, "overlap of the gradients' reduction with backward");
      switch_off(l.overlap_param_gather, "overlap of the weights' gathering with forward");
      switch_off(l.overlap_moe_expert_parallel_comm,
                 "overlap of tokens on their way with another micro-batch");
      switch_off(l.moe_shared_expert_overlap,
                 "overlap of tokens on their way with the shared expert");
      l.delay_wgrad_compute = l.delay_wgrad_compute && l.overlap_moe_expert_parallel_comm;
    }
    take_away_gpu_features();
    take_away_op_recompute();
    take_away_dtensor();
    take_away_overlapped_sends();
    if (l.pipeline_engine == PipelineEngine::deepspeed) {
      l.pipeline_engine = PipelineEngine::megatron;  // the same stages
      l.scatter_gather_p2p = !l.sequence_parallel && l.tensor_parallel_size > 1;
    }
    if (job_.attention_kernel == AttentionKernel::flash && model_.num_attention_heads > 0) {
      say("FlashAttention (GPUs only): scores go through memory");
    }
    if (job_.dropout) say("dropout");
    if (bytes_per_element(job_.precision) < 4.0) {
      say("16-bit storage of what products give and layers hand on (rounded, held in 32)");
    }
  }

  // Stages with several chunks or a split backward pass send beside computing, where sends stand
  // alone (stage_exchange.h). Two interleaved stages are only legal so.
  void take_away_overlapped_sends() {
    Layout& l = run_.layout;
    const ScheduleTraits& t = traits(l.schedule);
    const bool beside = t.most_chunks > 1 || t.splits_backward;
    if ((beside && network_.sends_alone) || !l.overlap_p2p_comm) return;
    say("overlap of sends with computing");
    l.overlap_p2p_comm = t.groups_of_stages && l.pipeline_parallel_size == 2;
  }

  // The trial's layers call what Megatron-LM's do, and its FSDP has a root.
  void take_away_dtensor() {
    Layout& l = run_.layout;
    const bool calls =
        l.tensor_parallel_size * l.context_parallel_size * l.expert_parallel_size > 1;
    if (uses_dtensor(l) && calls) {
      say("PyTorch's collectives inside layers: Megatron-LM's were run");
    }
    l.tensor_engine = TensorEngine::megatron;
    if (uses_fsdp(l) && l.fsdp_vocabulary != FsdpVocabulary::root) {
      say("embedding and head as units of FSDP: they were in the root");
    }
    l.fsdp_vocabulary = FsdpVocabulary::root;
  }

  // Libraries that exist for GPUs alone.
  void take_away_gpu_features() {
    Layout& l = run_.layout;
    switch_off(l.tp_comm_overlap,
               "userbuffers (GPUs only): overlap of tensor-parallel communication with products");
    if (l.cuda_graph_impl != CudaGraphImpl::none) {
      say(fmt::format("CUDA graphs (GPUs only): {}", name_of(l.cuda_graph_impl)));
      l.cuda_graph_impl = CudaGraphImpl::none;
    }
    if (!model_.moe || l.moe_token_dispatcher_type != MoeTokenDispatcherType::flex) return;
    if (job_.moe_dispatch_fwd_dtype == Precision::fp8 ||
        job_.moe_combine_bwd_dtype == Precision::fp8) {
      say("tokens in fp8 (GPUs only): they have the job's format");
    }
    say(fmt::format("the {} dispatcher (GPUs only): alltoall was run",
                    name_of(l.moe_flex_dispatcher_backend)));
    l.moe_token_dispatcher_type = MoeTokenDispatcherType::alltoall;
  }

  // The trial's modules run again whole or not at all.
  void take_away_op_recompute() {
    Layout& l = run_.layout;
    if (!recomputes_module(l, kRecomputeOp)) return;
    say("recompute by operator (op): nothing was run again");
    l.recompute_granularity = RecomputeGranularity::none;
    l.recompute_modules = Layout{}.recompute_modules;
  }

  // The ranks of a stage that are run carry expert ranks, pieces of experts first. With each expert
  // rank that is left out its experts are: those of the others keep their shapes and tokens.
  void cut_experts() {
    Layout& l = run_.layout;
    if (!model_.moe) return;
    const int ranks = l.tensor_parallel_size * l.data_parallel_size * l.context_parallel_size;
    const int wanted_pieces = expert_tensor_size(wanted_);
    const int pieces = std::gcd(wanted_pieces, ranks);
    const int experts = std::gcd(wanted_.expert_parallel_size, ranks / pieces);
    if (pieces != wanted_pieces || l.tensor_parallel_size != wanted_.tensor_parallel_size) {
      l.expert_tensor_parallel_size = pieces;
    }
    l.expert_parallel_size = experts;
    run_.num_moe_experts = model_.moe->num_moe_experts / wanted_.expert_parallel_size * experts;
    while (run_.num_moe_experts < model_.moe->moe_router_topk) run_.num_moe_experts *= 2;
    if (run_.num_moe_experts == model_.moe->num_moe_experts) return;
    say(fmt::format("{} of {} experts", model_.moe->num_moe_experts - run_.num_moe_experts,
                    model_.moe->num_moe_experts));
  }

  void say_other_schedule() {
    Layout& l = run_.layout;
    say(fmt::format("the {} schedule (1f1b was run)", name_of(l.schedule)));
    if (l.virtual_pipeline_parallel_size > 1) say("virtual stages (each rank holds one chunk)");
    l.virtual_pipeline_parallel_size = 1;
    l.schedule = kDefaultSchedule;
  }

  // Interleaved chunks go round between two stages or more; between two only beside computing.
  void cut_schedule() {
    Layout& l = run_.layout;
    const ScheduleTraits& t = traits(l.schedule);
    const int fewest = std::max(t.fewest_stages, t.most_chunks > 1 ? 2 : 1);
    if (l.pipeline_parallel_size < fewest || l.pipeline_parallel_size % t.stages_multiple_of != 0) {
      return say_other_schedule();
    }
    if (t.groups_of_stages && l.pipeline_parallel_size == 2) l.overlap_p2p_comm = true;
  }

  // Tokens that stay on their rank, or a stage of one chunk, have nothing to overlap.
  void cut_token_overlap() {
    Layout& l = run_.layout;
    if (!l.overlap_moe_expert_parallel_comm) return;
    const bool meet = l.pipeline_parallel_size == 1 || l.virtual_pipeline_parallel_size > 1;
    if (meet && l.expert_parallel_size > 1) return;
    say("overlap of tokens on their way with another micro-batch");
    l.overlap_moe_expert_parallel_comm = l.delay_wgrad_compute = false;
  }

  // Keeps as many layers as the executed stages hold together.
  void cut_layers() {
    Layout& l = run_.layout;
    run_.num_layers = model_.num_layers;
    const bool same_chunks = !l.pipeline_layout || l.virtual_pipeline_parallel_size ==
                                                       wanted_.virtual_pipeline_parallel_size;
    if (l.pipeline_parallel_size == wanted_.pipeline_parallel_size && same_chunks) return;
    const int first = wanted_.num_layers_in_first_pipeline_stage;
    const int last = wanted_.num_layers_in_last_pipeline_stage;
    const int even_stages =
        wanted_.pipeline_parallel_size - (first > 0 ? 1 : 0) - (last > 0 ? 1 : 0);
    const int counted = model_.num_layers + (l.account_for_embedding_in_pipeline_split ? 1 : 0) +
                        (l.account_for_loss_in_pipeline_split ? 1 : 0);
    int layers_of_stage =
        even_stages > 0 ? (counted - first - last) / even_stages : std::max(first, last);
    if (l.pipeline_layout) {
      const int chunks = l.virtual_pipeline_parallel_size;
      layers_of_stage = std::max(1, layers_of_stage / chunks) * chunks;
      l.pipeline_layout = {};
    }
    l.account_for_embedding_in_pipeline_split = l.account_for_loss_in_pipeline_split = false;
    l.num_layers_in_first_pipeline_stage = 0;
    l.num_layers_in_last_pipeline_stage = 0;
    run_.num_layers = layers_of_stage * l.pipeline_parallel_size;
    say(fmt::format("{} of {} layers", model_.num_layers - run_.num_layers, model_.num_layers));
  }

  // Each data rank keeps its micro-batches.
  void cut_batch() {
    Layout& l = run_.layout;
    run_.global_batch_size =
        job_.global_batch_size / wanted_.data_parallel_size * l.data_parallel_size;
    if (gradient_group_size(l) == 1) {
      l.zero_stage = 0;
      l.overlap_grad_reduce = l.overlap_param_gather = false;  // there is nothing to overlap
    }
    if (gradient_group_size(l) != gradient_group_size(wanted_)) l.zero_shard_size = 0;
    if (l.tensor_parallel_size == 1) l.sequence_parallel = false;
    if (l.sequence_parallel != wanted_.sequence_parallel) say("sequence parallelism");
    if (l.zero_stage != wanted_.zero_stage) {
      say(fmt::format("ZeRO stage {} (one data rank)", wanted_.zero_stage));
    }
  }

  void tell_size(const char* axis, int wanted, int run) {
    if (wanted != run) say(fmt::format("{} size {}: {} was run", axis, wanted, run));
  }

  void tell_sizes() {
    const Layout& l = run_.layout;
    tell_size("tensor-parallel", wanted_.tensor_parallel_size, l.tensor_parallel_size);
    tell_size("pipeline-parallel", wanted_.pipeline_parallel_size, l.pipeline_parallel_size);
    tell_size("context-parallel", wanted_.context_parallel_size, l.context_parallel_size);
    tell_size("data-parallel", wanted_.data_parallel_size, l.data_parallel_size);
    tell_size("expert-parallel", wanted_.expert_parallel_size, l.expert_parallel_size);
    tell_size("expert-tensor-parallel", expert_tensor_size(wanted_), expert_tensor_size(l));
  }

  const Model& model_;
  const Job& job_;
  const Layout& wanted_;
  NetworkTraits network_;
  RunnableLayout run_;
};

std::string unsupported_model(const Model& m) {
  if (m.num_attention_heads > 0 && m.position_embedding == PositionEmbedding::alibi) {
    return "ALiBi positions";
  }
  if (m.post_layer_norms || m.embedding_layer_norm) {
    return "norms beside those before attention and MLP, of heads and the final one";
  }
  if (m.qk_layernorm && (m.qk_layernorm_all_heads || m.mla)) {
    return "norms over all heads' queries and keys";
  }
  if (m.parallel_attention_mlp) return "attention and MLP in parallel";
  if (const auto mixer = recurrent_mixer(m)) return std::string(mixer->plural);
  if (const auto indexed = indexed_attention(m); !indexed.empty()) return std::string(indexed);
  if (!m.hybrid_layer_pattern.empty()) return "layers of one part";
  if (m.moe && m.moe->moe_latent_size > 0) return "experts behind a latent";
  if (m.attention_output_gate) return "a gate on attention's output";
  if (m.moe && m.moe->moe_shared_expert_gate) return "a gate on the shared expert";
  if (m.activation == Activation::xielu) return "the xIELU activation";
  if (m.attention_sinks && m.mla) return "attention sinks of latent attention";
  // Megatron-LM asks for rotary ones or none (training/arguments.py, --mtp-num-layers).
  const bool learned = m.vocab_size == 0 || m.position_embedding == PositionEmbedding::learned;
  if (m.mtp_num_layers > 0 && learned) return "multi-token prediction with learned positions";
  return "";
}

// Shared query groups: the linear's columns are split evenly (query_key_value.h).
bool splits_unevenly(const Model& m, const Layout& l) {
  return m.num_attention_heads > 0 &&
         (query_size(m) + 2 * key_size(m)) % l.tensor_parallel_size != 0;
}

// The embedding's matrix is then on three stages.
bool predicts_apart(const Model& m, const Layout& l) {
  const auto& chunks = l.pipeline_layout.chunks();
  return m.mtp_num_layers > 0 && l.pipeline_layout && chunks.back().mtp_num_layers == 0;
}

std::string unsupported_layout(const Model& m, const Layout& l) {
  if (l.context_parallel_size > 1 && l.cp_comm_type == ContextParallelAlgorithm::a2a_p2p) {
    return "hierarchical context parallelism";
  }
  if (predicts_apart(m, l) && m.tied_embeddings) {
    return "multi-token prediction apart from a tied head";
  }
  if (splits_unevenly(m, l)) return "query-key-value columns that do not divide by the ranks";
  return "";
}

std::string unsupported_job(const Model& m, const Job& j) {
  if (j.precision == Precision::fp8) return "fp8";
  if (freezes_weights(j)) return "LoRA";
  if (!j.master_weights) return "an optimizer without fp32 weights";
  if (j.optimizer != Optimizer::adam) return "the sgd optimizer";
  if (!j.causal && m.num_attention_heads > 0) return "attention that is not causal";
  if (m.vocab_size > 0 && m.position_embedding == PositionEmbedding::learned &&
      m.max_position_embeddings < j.seq_length) {
    return "sequences longer than the table of positions";
  }
  return "";
}

}  // namespace

RunnableLayout runnable_layout(const Model& model, const Job& job, const Layout& layout, int ranks,
                               const NetworkTraits& network) {
  return Cutter(model, job, layout, network).cut(ranks);
}

RunnableLayout runnable_inference_layout(const Model& model, const Job& /*job*/,
                                         const Layout& layout, int ranks) {
  RunnableLayout run;
  run.num_layers = model.num_layers;
  if (model.moe) run.num_moe_experts = model.moe->num_moe_experts;
  run.layout.tensor_parallel_size = largest_divisor(layout.tensor_parallel_size, ranks);
  run.layout.micro_batch_size = run.global_batch_size = layout.micro_batch_size;
  const auto say = [&](const char* axis, int wanted, int done) {
    if (wanted != done) {
      run.not_run.push_back(fmt::format("{} size {}: {} was run", axis, wanted, done));
    }
  };
  say("tensor-parallel", layout.tensor_parallel_size, run.layout.tensor_parallel_size);
  say("pipeline-parallel", layout.pipeline_parallel_size, 1);
  say("data-parallel", layout.data_parallel_size, 1);
  say("context-parallel", layout.context_parallel_size, 1);
  say("expert-parallel", layout.expert_parallel_size, 1);
  if (layout.sequence_parallel) run.not_run.emplace_back("sequence parallelism");
  return run;
}

std::string inference_unsupported(const Model& model, const Job& job, const Layout& layout,
                                  int decode_tokens) {
  Layout tensor;
  tensor.tensor_parallel_size = layout.tensor_parallel_size;
  Job one = job;
  one.global_batch_size = 1;
  std::string reason = trial_unsupported(model, one, tensor);
  if (!reason.empty()) return reason;
  if (model.vocab_size == 0 || model.num_attention_heads == 0) {
    return "the trial does not run inference without a vocabulary and attention";
  }
  if (model.mla && decode_tokens > 0) {
    return "the trial decodes latent attention only when it serves";
  }
  if (decode_tokens >= job.seq_length) {
    return fmt::format("the trial does not decode {} of {} positions: a prompt comes first",
                       decode_tokens, job.seq_length);
  }
  return "";
}

std::string trial_unsupported(const Model& model, const Job& job, const Layout& layout) {
  for (const std::string& what :
       {unsupported_model(model), unsupported_layout(model, layout), unsupported_job(model, job)}) {
    if (!what.empty()) return "the trial does not run " + what;
  }
  if (const auto violation = check_layout(model, job, layout, {})) {
    return describe(*violation, model, job, layout, {});
  }
  return "";
}

}  // namespace meshwright::calibrate
