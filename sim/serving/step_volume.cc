// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/step_volume.h"

#include "sim/collective/collective_model.h"
#include "sim/serving/weights.h"
#include "sim/volume/transfer_names.h"

namespace meshwright {
namespace {

constexpr double kActivationWidth = 2.0;  // bytes of an activation

struct StepLedger {
  const ServingCluster& cluster;
  const Engine& engine;
  std::vector<ServingTransfer> transfers;

  void add(const Transfer& transfer) {
    const bool moves =
        transfer.group_size > 1 && transfer.times_per_step > 0 && transfer.payload > bytes(0);
    if (!moves) return;
    std::string_view algorithm;
    if (transfer.collective == Collective::all_reduce) {
      algorithm = all_reduce_algorithm(transfer.payload, transfer.group_size, engine, cluster);
    } else if (transfer.collective != Collective::send_recv) {
      Layout ranks;
      ranks.tensor_parallel_size = transfer.group_size;
      algorithm = collective_algorithm(transfer.collective, transfer.payload,
                                       place(Group::tensor, ranks, cluster), cluster);
    }
    transfers.push_back({transfer, algorithm});
  }
};

void add_token_exchange(StepLedger& ledger, const Model& model, const ReplicaOptions& options,
                        const ServingCluster& cluster, double rows, double expert_layers) {
  const ReplicaLayout& l = options.layout;
  if (l.data_parallel_size == 1 || !model.moe) return;
  const int ranks = l.tensor_parallel_size * l.data_parallel_size;
  const double h = model.hidden_size, topk = model.moe->moe_router_topk;
  Transfer dispatch, combine;
  dispatch.name = "token dispatch";
  combine.name = "token combine";
  dispatch.group = combine.group = Group::expert;
  dispatch.group_size = combine.group_size = ranks;
  dispatch.times_per_step = combine.times_per_step = expert_layers;
  const ExpertExchange exchange = used_exchange(options, cluster);
  if (exchange == ExpertExchange::all_gather_reduce_scatter) {
    dispatch.collective = Collective::all_gather;
    combine.collective = Collective::reduce_scatter;
    dispatch.payload = combine.payload = bytes(rows * l.data_parallel_size * h * kActivationWidth);
    dispatch.formula = combine.formula = "dp*rows*h*2";
  } else {
    dispatch.collective = combine.collective = Collective::all_to_all;
    const bool once = exchange == ExpertExchange::nvlink_all_to_all;  // a token to each rank
    const double numbers =
        rows / l.tensor_parallel_size * (once ? remote_ranks(ranks, topk) : topk) * h;
    dispatch.payload = bytes(numbers * (1.0 + 4.0 / 128));
    combine.payload = bytes(numbers * kActivationWidth);
    dispatch.formula = once ? "rows/tp*(n-1)*(1-(1-1/n)^k)*h*(1+4/128)" : "rows/tp*k*h*(1+4/128)";
    combine.formula = once ? "rows/tp*(n-1)*(1-(1-1/n)^k)*h*2" : "rows/tp*k*h*2";
  }
  ledger.add(dispatch);
  ledger.add(combine);
}

void add_context_exchange(StepLedger& ledger, const Model& model, const ReplicaOptions& options,
                          double decodes, double layers) {
  const int dcp = options.layout.decode_context_parallel_size;
  if (dcp == 1) return;
  const double heads =
      static_cast<double>(model.num_attention_heads) / options.layout.tensor_parallel_size * dcp;
  const double query =
      model.mla ? model.mla->kv_lora_rank + model.mla->qk_pos_emb_head_dim : model.kv_channels;
  const double output = model.mla ? model.mla->kv_lora_rank : model.kv_channels;
  ledger.add({.name = "decode context query all-gather",
              .group = Group::context,
              .collective = Collective::all_gather,
              .group_size = dcp,
              .times_per_step = layers,
              .payload = bytes(decodes * heads * query * kActivationWidth),
              .formula = "B*heads*dcp/tp*d*2"});
  ledger.add({.name = "decode context output reduce-scatter",
              .group = Group::context,
              .collective = Collective::reduce_scatter,
              .group_size = dcp,
              .times_per_step = layers,
              .payload = bytes(decodes * heads * (output * kActivationWidth + 4.0)),
              .formula = "B*heads*dcp/tp*(2d+4)"});
}

// Part of a pass: all stages, or one.
struct PassPart {
  StageLayers layers{};
  bool embedding = true, head = true;
  double sends = 0;  // to a next stage
};

std::vector<ServingTransfer> volume_of(const Model& model, const ServingCluster& cluster,
                                       const Engine& engine, const ReplicaOptions& options,
                                       const EngineStep& step, const PassPart& part) {
  const ReplicaLayout& l = options.layout;
  const int tp = l.tensor_parallel_size;
  const double decodes = step.decode_sequences * (1.0 + options.num_speculative_tokens);
  const double rows = decodes + step.prefill_tokens;
  const double sampled = decodes + step.prefill_sequences;
  double expert_layers = 0;
  for (int i = part.layers.first; i < part.layers.first + part.layers.count; ++i) {
    if (layer_kind(model, i).mixture_of_experts) expert_layers += 1;
  }
  const bool exchanges = l.data_parallel_size > 1;
  const double layers = part.layers.count;
  const double dense_layers = layers - expert_layers;
  const Bytes activation = bytes(rows * model.hidden_size * kActivationWidth);

  StepLedger ledger{cluster, engine, {}};
  const auto all_reduce = [&](std::string_view name, double calls) {
    ledger.add({.name = name,
                .group = Group::tensor,
                .collective = Collective::all_reduce,
                .group_size = tp,
                .times_per_step = calls,
                .payload = activation,
                .formula = "rows*h*2"});
  };
  all_reduce(transfer_names::kEmbeddingAllReduce, part.embedding ? 1.0 : 0.0);
  if (model.parallel_attention_mlp) {
    all_reduce("layer output all-reduce", layers);
  } else {
    all_reduce(transfer_names::kAttention.output_all_reduce, layers);
    all_reduce(transfer_names::kMlp.output_all_reduce, dense_layers);
    all_reduce(transfer_names::kExpertOutputAllReduce, exchanges ? 0.0 : expert_layers);
  }
  add_token_exchange(ledger, model, options, cluster, rows, expert_layers);
  add_context_exchange(ledger, model, options, decodes, layers);
  ledger.add(
      {.name = transfer_names::kLogitsAllGather,
       .group = Group::tensor,
       .collective = Collective::all_gather,
       .group_size = tp,
       .times_per_step = part.head ? 1.0 : 0.0,
       .payload = bytes(sampled * static_cast<double>(served_vocab_size(model)) * kActivationWidth),
       .formula = "sampled*V*2"});
  ledger.add({.name = transfer_names::kStageSend,
              .group = Group::pipeline,
              .collective = Collective::send_recv,
              .group_size = 2,
              .times_per_step = part.sends,
              .payload = activation,
              .formula = "rows*h*2"});
  return ledger.transfers;
}

}  // namespace

std::vector<ServingTransfer> step_volume(const Model& model, const ServingCluster& cluster,
                                         const Engine& engine, const ReplicaOptions& options,
                                         const EngineStep& step) {
  const double sends = options.layout.pipeline_parallel_size - 1.0;
  return volume_of(model, cluster, engine, options, step,
                   {.layers = {0, model.num_layers}, .sends = sends});
}

std::vector<ServingTransfer> stage_step_volume(const Model& model, const ServingCluster& cluster,
                                               const Engine& engine, const ReplicaOptions& options,
                                               const EngineStep& step, int stage) {
  const int stages = options.layout.pipeline_parallel_size;
  const bool last = stage == stages - 1;
  return volume_of(model, cluster, engine, options, step,
                   {.layers = replica_stage_layers(model.num_layers, stages, stage),
                    .embedding = stage == 0,
                    .head = last,
                    .sends = last ? 0.0 : 1.0});
}

Bytes bytes_sent(const std::vector<ServingTransfer>& transfers) {
  Bytes sum;
  for (const ServingTransfer& one : transfers) sum += one.transfer.sent_per_step();
  return sum;
}

}  // namespace meshwright
