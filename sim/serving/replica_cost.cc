// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/replica_cost.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/block/indexer.h"
#include "sim/kernel_time/gemm_model.h"
#include "sim/kernel_time/host.h"
#include "sim/serving/row_costs.h"
#include "sim/serving/step_volume.h"

namespace meshwright {
namespace {

// Fewest heads that kernels of chosen entries work on: 8 heads take as long as 64 (FlashMLA in fp8
// on H100 and H200, AISimulate tables).
constexpr double kSparseHeads = 64;
// Prompt tokens by which a scan is priced.
constexpr std::int64_t kScannedTokens = 8192;
// Rows whose spread and provenance stand for all.
constexpr std::size_t kUsualPoint = 12;  // 64 rows

void set_source(ReplicaCost& cost, StepTerm term, double spread, Provenance provenance) {
  cost.spread[static_cast<std::size_t>(term)] = spread;
  cost.provenance[static_cast<std::size_t>(term)] = provenance;
}

// A term of a pass, and its table of a replica.
struct Column {
  Cost RowCosts::*from;
  RowTable ReplicaCost::*to;
  StepTerm term;
};
constexpr std::array kColumns{
    Column{&RowCosts::linears, &ReplicaCost::linears, StepTerm::linears},
    Column{&RowCosts::small_kernels, &ReplicaCost::small_kernels, StepTerm::small_kernels},
    Column{&RowCosts::all_reduce, &ReplicaCost::all_reduce, StepTerm::all_reduce},
    Column{&RowCosts::exchange, &ReplicaCost::exchange, StepTerm::exchange},
    Column{&RowCosts::experts, &ReplicaCost::experts, StepTerm::experts},
    Column{&RowCosts::head, &ReplicaCost::head, StepTerm::head},
    Column{&RowCosts::draft, &ReplicaCost::draft, StepTerm::drafts},
    Column{&RowCosts::context_exchange, &ReplicaCost::context_exchange, StepTerm::context_exchange},
    Column{&RowCosts::send, &ReplicaCost::send, StepTerm::pipeline}};

void set_row_tables(ReplicaCost& cost, const RowCostTable& costs) {
  for (const Column& column : kColumns) {
    std::array<double, RowTable::kPoints> values{};
    for (std::size_t point = 0; point < costs.size(); ++point) {
      values[point] = (costs[point].*column.from).time.value();
    }
    cost.*column.to = RowTable(values);
    const Cost& usual = costs[kUsualPoint].*column.from;
    set_source(cost, column.term, usual.relative_spread, usual.provenance);
  }
}

// A decode reads and writes the states of its sequence; a prompt is scanned.
void set_state_cost(ReplicaCost& cost, const Model& model, const Device& device, double layers,
                    double tp) {
  if (layers == 0.0) return;
  cost.linear_layers = layers;
  cost.decode_state = state_layer_bytes(model) / tp * 2.0;
  const Numerics numerics;
  const TokenShape tokens{1, kScannedTokens, kScannedTokens};
  const LayerKind linear{.linear_attention = true};
  for (const Operator& op : layer_operators(model, linear, numerics, tokens, Layout{})) {
    if (!is_scan(op.kernel)) continue;
    const Cost scan = kernel_cost(op.kernel, op.forward_bytes, device);
    cost.prefill_scan = (scan.time - device.kernel_launch) / (tp * kScannedTokens);
  }
}

// Layers that see their context alike, whole attention first.
void set_attending_layers(ReplicaCost& cost, const Model& model, const ReplicaOptions& options) {
  LayerCounts counts;
  for (int i = 0; i < model.num_layers; ++i) counts.of(layer_kind(model, i)) += 1;
  const double share = kv_rank_share(model, options.layout);
  for (const LayerKind alike :
       {LayerKind{}, LayerKind{.sliding_window = true}, LayerKind{.without_indexer = true}}) {
    const double layers = counts.sum([&](LayerKind kind) {
      return attends(kind) && kind.sliding_window == alike.sliding_window &&
             kind.without_indexer == alike.without_indexer;
    });
    if (layers == 0) continue;
    AttendingLayers found{layers, seen_entries(model, alike), {}, {}};
    if (const auto indexer = indexer_of(model, alike)) {
      found.index_key = bytes(indexer->key_bytes(kv_number_bytes(options.kv_cache)) * share);
      found.index_pair = flops(indexer->pair_flops());
    }
    cost.attending.push_back(found);
  }
  // The trial's kernel computes all pairs and masks those outside a window afterwards.
  if (!cost.prefill_rate.hidden_pairs) return;
  for (AttendingLayers& layer : cost.attending) {
    if (layer.seen.rate == 0) layer = {layer.layers, {}, {}, {}};
  }
}

void set_attention_cost(ReplicaCost& cost, const Model& model, const ReplicaOptions& options,
                        const ServingCluster& cluster, const Engine& engine) {
  const InferenceRates& rates = cluster.inference;
  const double number = served_bytes(only_device(cluster));
  const AttentionForm form = model.mla ? AttentionForm::latent : AttentionForm::grouped;
  const bool sparse = indexer_of(model, {}).has_value();
  const double tp = options.layout.tensor_parallel_size;
  cost.heads = model.num_attention_heads / tp;
  const LatentAttention mla = model.mla.value_or(LatentAttention{});
  const double latent = mla.kv_lora_rank + mla.qk_pos_emb_head_dim;
  const double key_width =
      model.mla ? mla.qk_head_dim + mla.qk_pos_emb_head_dim : model.kv_channels;
  const double value_width = model.mla ? mla.v_head_dim : model.kv_channels;
  cost.decode_rate =
      decode_rate(rates, engine.kind, sparse ? AttentionForm::sparse : form, options.kv_cache);
  cost.prefill_rate =
      prefill_rate(rates, engine.kind, form,
                   static_cast<std::int64_t>((key_width + value_width) / 2), options.kv_cache);
  cost.decode_pair = flops(model.mla ? 2.0 * cost.heads * (latent + mla.kv_lora_rank)
                                     : 4.0 * cost.heads * model.kv_channels);
  cost.prefill_pair = flops(2.0 * cost.heads * (key_width + value_width));
  cost.decode_query = bytes(cost.heads * number *
                            (model.mla ? latent + mla.kv_lora_rank : 2.0 * model.kv_channels));
  if (sparse && !model.block_sparse_attention) {
    cost.decode_pair *= std::max(1.0, kSparseHeads / cost.heads);
  }
  if (sparse && model.mla) cost.sparse_pair = cost.decode_pair;
  cost.decode_key = kv_layer_bytes(model, {.without_indexer = sparse}, options.kv_cache).full *
                    kv_rank_share(model, options.layout);
  if (model.compressed_attention) {
    cost.decode_key *= seen_entries(model, {.without_indexer = true}).rate;
  }
  if (options.kv_cache == KvCacheFormat::bf16) cost.decode_key *= number / 2.0;
  set_attending_layers(cost, model, options);
  set_state_cost(cost, model, only_device(cluster), cached_layers(model, 1).linear, tp);
  cost.context_ranks = options.layout.decode_context_parallel_size;
  set_source(cost, StepTerm::decode_attention, cost.decode_rate.relative_spread,
             cost.decode_rate.provenance);
  set_source(cost, StepTerm::prefill_attention, cost.prefill_rate.relative_spread,
             cost.prefill_rate.provenance);
}

// Those of the nearest layout that steps were timed on; of two as near, that with its tensor ranks.
void set_remainders(ReplicaCost& cost, const std::vector<ServedRemainder>& remainders,
                    const ReplicaLayout& layout) {
  const auto doublings = [](double size, double of) { return std::abs(std::log2(size / of)); };
  const auto far = [&](const ServedRemainder& one) {
    const double tensor = doublings(one.tensor_parallel_size, layout.tensor_parallel_size);
    const double stages = doublings(one.pipeline_parallel_size, layout.pipeline_parallel_size);
    return std::make_pair(tensor + stages, tensor);
  };
  for (const bool prompts : {false, true}) {
    auto& rows = prompts ? cost.prompt_remainders : cost.decode_remainders;
    const ServedRemainder* nearest = nullptr;
    for (const ServedRemainder& one : remainders) {
      if (one.prompts == prompts && (nearest == nullptr || far(one) < far(*nearest))) {
        nearest = &one;
      }
    }
    if (nearest == nullptr) continue;
    for (const ServedRemainder& one : remainders) {
      if (one.prompts != prompts) continue;
      if (one.tensor_parallel_size != nearest->tensor_parallel_size) continue;
      if (one.pipeline_parallel_size != nearest->pipeline_parallel_size) continue;
      rows.push_back({one.rows, one.share, one.relative_spread});
    }
  }
}

void set_host_cost(ReplicaCost& cost, const Model& model, const ReplicaOptions& options,
                   const ServingCluster& cluster, const Engine& engine) {
  const double layers = model.num_layers,
               expert_layers = layer_counts(model, {0, model.num_layers}).experts();
  cost.host_step =
      engine.host.step + engine.host.layer * layers + engine.host.expert_layer * expert_layers;
  cost.host_sequence = engine.host.sequence;
  cost.host_prompt_token = engine.host.prompt_token;
  cost.host_eager = only_device(cluster).host_launch * (engine.host.launches_per_layer * layers);
  cost.time_factor = engine.time_factor;
  cost.prefill_factor = engine.prefill_factor;
  set_source(cost, StepTerm::host, kHostLaunchSpread,
             engine.fit.terms.empty() ? Provenance::assumed : Provenance::fitted);
  const HostStepRate* host = timed_host(cluster);
  if (host == nullptr) return;
  cost.host_step = host->step;
  cost.host_sequence = host->sequence;
  cost.host_prompt_token = {};
  cost.host_sample = host->logit * static_cast<double>(model.vocab_size);
  cost.host_eager = {};
  // The factors were fitted to runs on GPUs.
  cost.time_factor = cost.prefill_factor = 1.0;
  set_source(cost, StepTerm::host, host->relative_spread, host->provenance);
  set_remainders(cost, cluster.inference.step_remainders, options.layout);
}

void set_engine_rules(ReplicaCost& cost, const Engine& engine, const Device& device,
                      const ReplicaOptions& options) {
  cost.stages = options.layout.pipeline_parallel_size;
  cost.data_ranks = options.layout.data_parallel_size;
  cost.drafts = options.num_speculative_tokens;
  cost.graph_most = graph_max_batch(engine, device, options);
  cost.eager = options.enforce_eager;
  cost.own_spread = engine.relative_spread;
  cost.spread_ratio = engine.learnt.spread_ratio;
  cost.least_spread = engine.learnt.least_spread;
  cost.graphs = engine.graphs;
  cost.pads_to_graph = engine.pads_to_graph;
}

void set_device_rates(ReplicaCost& cost, const Device& device) {
  cost.device_peak = gemm_model_for(device, served_precision(WeightFormat::bf16, device)).peak;
  cost.memory_bandwidth = device.memory_bandwidth;
  cost.multiprocessors = device.num_multiprocessors;
}

}  // namespace

ReplicaCost replica_cost(const Model& model, const ServingCluster& cluster, const Engine& engine,
                         const ReplicaOptions& options) {
  const Device& device = only_device(cluster);
  ReplicaCost cost;
  set_row_tables(cost, row_costs(model, cluster, engine, options));
  set_attention_cost(cost, model, options, cluster, engine);
  set_host_cost(cost, model, options, cluster, engine);
  set_engine_rules(cost, engine, device, options);
  set_device_rates(cost, device);
  return cost;
}

}  // namespace meshwright
