// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/step_volume.h"

#include "sim/block/transfer_names.h"
#include "sim/model/routing.h"
#include "sim/serving/operator_time.h"
#include "sim/serving/weights.h"

namespace meshwright {
namespace {

// DeepEP and TensorRT-LLM dispatch in fp8 with an fp32 scale for 128 numbers, and combine in 16
// bits (deepseek-ai/DeepEP, csrc/kernels/internode_ll.cu).
constexpr double kDispatchedNumber = 1.0 + 4.0 / 128;

struct PassLedger {
  const Model& model;
  const ServingCluster& cluster;
  const ReplicaOptions& options;
  const PassPart& pass;
  double number = served_bytes(only_device(cluster));
  Bytes activation = bytes(pass.rows * model.hidden_size * number);
  std::vector<ServingTransfer> transfers{};

  void add(StepTerm term, const Transfer& transfer) {
    const bool moves =
        transfer.group_size > 1 && transfer.times_per_step > 0 && transfer.payload > bytes(0);
    if (moves) transfers.push_back({transfer, term, {}});
  }

  void all_reduce(std::string_view name, double calls) {
    add(StepTerm::all_reduce, {.name = name,
                               .group = Group::tensor,
                               .collective = Collective::all_reduce,
                               .group_size = options.layout.tensor_parallel_size,
                               .times_per_step = calls,
                               .payload = activation,
                               .formula = "rows*h*w"});
  }

  void layer_outputs() {
    const double dense = pass.layers.dense(), expert = pass.layers.experts();
    if (model.parallel_attention_mlp) return all_reduce("layer output all-reduce", dense + expert);
    all_reduce(transfer_names::kAttention.output_all_reduce, pass.layers.mixers());
    all_reduce(transfer_names::kMlp.output_all_reduce, dense);
    // With data ranks tokens come back by the exchange.
    const bool exchanges = options.layout.data_parallel_size > 1;
    all_reduce(transfer_names::kExpertOutputAllReduce, exchanges ? 0.0 : expert);
  }

  // Rows of each rank, in so many copies.
  void exchange_tokens() {
    const ReplicaLayout& l = options.layout;
    if (l.data_parallel_size == 1 || !model.moe) return;
    const int ranks = l.tensor_parallel_size * l.data_parallel_size;
    const Routing routing = routing_of(*model.moe);
    Transfer dispatch, combine;
    dispatch.group = combine.group = Group::expert;
    dispatch.collective = combine.collective = Collective::all_to_all;
    dispatch.group_size = combine.group_size = ranks;
    dispatch.times_per_step = combine.times_per_step = pass.layers.experts();
    dispatch.name = transfer_names::kTokenDispatch;
    combine.name = transfer_names::kTokenCombine;
    double copies = 0.0, dispatched = kDispatchedNumber;
    const ExpertExchange exchange = used_exchange(options, cluster);
    switch (exchange) {
      case ExpertExchange::deepep_low_latency:
        copies = routing.topk;
        dispatch.formula = "rows/tp*k*h*(1+4/128)";
        combine.formula = "rows/tp*k*h*w";
        break;
      case ExpertExchange::deepep_high_throughput:
        copies = places_of_token(routing, l.expert_parallel_size) * expert_tensor_size(l);
        dispatch.formula = "rows/tp*r*h*(1+4/128)";
        combine.formula = "rows/tp*r*h*w";
        break;
      case ExpertExchange::nvlink_all_to_all:
        copies = ranks_of_token(ranks, routing.topk);
        dispatch.formula = "rows/tp*n*(1-(1-1/n)^k)*h*(1+4/128)";
        combine.formula = "rows/tp*n*(1-(1-1/n)^k)*h*w";
        break;
      case ExpertExchange::all_reduce:  // vLLM's naive one: every rank gets all tokens
      case ExpertExchange::automatic:
      case ExpertExchange::all_gather_reduce_scatter:
        copies = ranks;
        dispatched = number;
        dispatch.collective = Collective::all_gather;
        combine.collective = exchange == ExpertExchange::all_reduce ? Collective::all_reduce
                                                                    : Collective::reduce_scatter;
        dispatch.formula = combine.formula = "dp*rows*h*w";
        break;
    }
    const double numbers = pass.rows / l.tensor_parallel_size * copies *
                           static_cast<double>(expert_hidden_size(model));
    dispatch.payload = bytes(numbers * dispatched);
    combine.payload = bytes(numbers * number);
    add(StepTerm::exchange, dispatch);
    add(StepTerm::exchange, combine);
  }

  // Queries of all heads of a context group are gathered, and partial outputs with the logarithms
  // of their sums are reduced (vLLM v1/attention/backends/mla).
  void exchange_contexts() {
    const int dcp = options.layout.decode_context_parallel_size;
    const double heads =
        static_cast<double>(model.num_attention_heads) / options.layout.tensor_parallel_size * dcp;
    const double query =
        model.mla ? model.mla->kv_lora_rank + model.mla->qk_pos_emb_head_dim : model.kv_channels;
    const double output = model.mla ? model.mla->kv_lora_rank : model.kv_channels;
    Transfer gather{.name = "decode context query all-gather",
                    .group = Group::context,
                    .collective = Collective::all_gather,
                    .group_size = dcp,
                    .times_per_step = pass.layers.softmax(),
                    .payload = bytes(pass.decodes * heads * query * number),
                    .formula = "B*heads*dcp/tp*d*w"};
    add(StepTerm::context_exchange, gather);
    gather.name = "decode context output reduce-scatter";
    gather.collective = Collective::reduce_scatter;
    gather.payload = bytes(pass.decodes * heads * (output * number + 4.0));
    gather.formula = "B*heads*dcp/tp*(d*w+4)";
    add(StepTerm::context_exchange, gather);
  }
};

PassPart part_of(const Model& model, const ReplicaOptions& options, const EngineStep& step,
                 StageLayers layers) {
  const double decodes = step.decode_sequences * (1.0 + options.num_speculative_tokens);
  return {.rows = decodes + step.prefill_tokens,
          .decodes = decodes,
          .sampled = decodes + step.prefill_sequences,
          .layers = layer_counts(model, layers)};
}

// Of a pass, and behind a head its drafts; with algorithms.
std::vector<ServingTransfer> volume_of(const Model& model, const ServingCluster& cluster,
                                       const Engine& engine, const ReplicaOptions& options,
                                       const EngineStep& step, const PassPart& pass) {
  std::vector<ServingTransfer> all = pass_transfers(model, cluster, options, pass);
  const PassPart draft = draft_pass(model, options, pass.head ? step.decode_sequences : 0.0);
  for (ServingTransfer& one : pass_transfers(model, cluster, options, draft)) {
    one.term = StepTerm::drafts;
    one.transfer.times_per_step *= options.num_speculative_tokens;
    all.push_back(one);
  }
  for (ServingTransfer& one : all) {
    one.algorithm = transfer_algorithm(one.transfer, options.layout, engine, cluster);
  }
  return all;
}

}  // namespace

LayerCounts layer_counts(const Model& model, StageLayers layers) {
  LayerCounts count;
  for (int i = layers.first; i < layers.first + layers.count; ++i) {
    LayerKind kind = layer_kind(model, i);
    // A window changes no weight, but for the compressor that such a layer lacks.
    if (!model.compressed_attention) kind.sliding_window = false;
    count.of(kind) += 1;
  }
  return count;
}

PassPart draft_pass(const Model& model, const ReplicaOptions& options, double sequences) {
  if (model.mtp_num_layers == 0 || options.num_speculative_tokens == 0) return {};
  return {.rows = sequences,
          .decodes = sequences,
          .sampled = sequences,
          .layers = layer_counts(model, {model.num_layers - 1, 1})};
}

std::vector<ServingTransfer> pass_transfers(const Model& model, const ServingCluster& cluster,
                                            const ReplicaOptions& options, const PassPart& pass) {
  PassLedger ledger{model, cluster, options, pass};
  ledger.all_reduce(transfer_names::kEmbeddingAllReduce, pass.embedding ? 1.0 : 0.0);
  ledger.layer_outputs();
  ledger.exchange_tokens();
  ledger.exchange_contexts();
  ledger.add(StepTerm::head, {.name = transfer_names::kLogitsAllGather,
                              .group = Group::tensor,
                              .collective = Collective::all_gather,
                              .group_size = options.layout.tensor_parallel_size,
                              .times_per_step = pass.head ? 1.0 : 0.0,
                              .payload = bytes(pass.sampled * ledger.number *
                                               static_cast<double>(served_vocab_size(model))),
                              .formula = "sampled*V*w"});
  ledger.add(StepTerm::pipeline,
             {.name = transfer_names::kStageSend,
              .group = Group::pipeline,
              .collective = Collective::send_recv,
              .group_size = 2,
              .times_per_step = pass.sends,
              .payload = ledger.activation * (1.0 * model.num_residual_streams),
              .formula = model.num_residual_streams > 1 ? "n*rows*h*w" : "rows*h*w"});
  return ledger.transfers;
}

std::vector<ServingTransfer> step_volume(const Model& model, const ServingCluster& cluster,
                                         const Engine& engine, const ReplicaOptions& options,
                                         const EngineStep& step) {
  PassPart pass = part_of(model, options, step, {0, model.num_layers});
  pass.sends = options.layout.pipeline_parallel_size - 1.0;
  return volume_of(model, cluster, engine, options, step, pass);
}

std::vector<ServingTransfer> stage_step_volume(const Model& model, const ServingCluster& cluster,
                                               const Engine& engine, const ReplicaOptions& options,
                                               const EngineStep& step, int stage) {
  const int stages = options.layout.pipeline_parallel_size;
  PassPart pass =
      part_of(model, options, step, replica_stage_layers(model.num_layers, stages, stage));
  pass.embedding = stage == 0;
  pass.head = stage == stages - 1;
  pass.sends = pass.head ? 0.0 : 1.0;
  return volume_of(model, cluster, engine, options, step, pass);
}

Bytes bytes_sent(const std::vector<ServingTransfer>& transfers) {
  Bytes sum;
  for (const ServingTransfer& one : transfers) sum += one.transfer.sent_per_step();
  return sum;
}

}  // namespace meshwright
