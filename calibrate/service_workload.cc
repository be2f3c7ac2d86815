// SPDX-License-Identifier: Apache-2.0
#include "calibrate/service_workload.h"

#include <algorithm>

#include "sim/operators/builders.h"
#include "sim/serving/weights.h"

namespace meshwright::calibrate {
namespace {

// A training step has thousands of times a decode step's products: a short budget would not come to
// those.
constexpr double kBesideAService = 1e-4;

struct ServiceOf {
  const Model& model;
  Layout layout{};
  double share = 1.0;  // of one number of rows on one number of ranks
  double number_bytes = 4.0;
  Bytes weights{};  // of a rank, which every step reads

  // Forward alone: its input was just written, and a weight was last used a step ago.
  void add_product(Workload& workload, const GemmShape& shape, double calls) const {
    workload.gemms.push_back(
        {{.shape = shape, .fresh = {.a = true}, .reused_after = weights}, calls * share});
  }

  // Of all layers and the output layer.
  [[nodiscard]] Bytes rank_weights() const {
    double numbers = static_cast<double>(served_vocab_size(model)) / layout.tensor_parallel_size *
                     model.hidden_size;
    for (int layer = 0; layer < model.num_layers; ++layer) {
      for (const Operator& op : layer_operators(model, layer_kind(model, layer), Numerics{},
                                                TokenShape{1, 1, 1}, layout)) {
        if (op.kind != OperatorKind::gemm || !op.has_weight) continue;
        numbers +=
            static_cast<double>(op.batch) * static_cast<double>(op.n) * static_cast<double>(op.k);
      }
    }
    return bytes(numbers * number_bytes);
  }

  void add_layer(Workload& workload, int layer, int rows) const {
    const TokenShape tokens{1, rows, rows};
    for (const Operator& op :
         layer_operators(model, layer_kind(model, layer), Numerics{}, tokens, layout)) {
      if (op.kind != OperatorKind::gemm || !op.has_weight) continue;
      // Tensor ranks share the router's tokens: of fewer tokens than ranks, one has a row.
      add_product(workload, {op.batch, std::max<std::int64_t>(1, op.m), op.n, op.k}, 1.0);
    }
  }

  // Two all-reduces a layer, one where attention and MLP run side by side, and the embedding's.
  void add_all_reduces(Workload& workload, int rows) const {
    const int ranks = layout.tensor_parallel_size;
    if (ranks < 2) return;
    const double blocks = model.parallel_attention_mlp ? 1.0 : 2.0;
    const Bytes payload = bytes(rows * number_bytes * model.hidden_size);
    workload.collectives.push_back(
        {Collective::all_reduce, ranks, payload, (blocks * model.num_layers + 1.0) * share});
  }

  // Padded logits of all ranks.
  void add_logits(Workload& workload, int rows) const {
    const int ranks = layout.tensor_parallel_size;
    if (ranks < 2 || model.vocab_size == 0) return;
    const double logits = static_cast<double>(rows) * static_cast<double>(served_vocab_size(model));
    workload.collectives.push_back(
        {Collective::all_gather, ranks, bytes(logits * number_bytes), share});
  }

  // Forward and backward together, as kernels are timed (kernel_bench.h).
  void add_kernels(Workload& workload, int rows) const {
    const int ranks = layout.tensor_parallel_size;
    KernelSizes sizes;
    sizes.positions = rows;
    sizes.batch = 1;
    sizes.hidden = model.hidden_size;
    sizes.ffn = std::max(1, model.ffn_hidden_size / ranks);
    sizes.heads = std::max(1, model.num_attention_heads / ranks);
    if (sizes.hidden % sizes.heads != 0) sizes.heads = 1;
    sizes.vocab = std::max<std::int64_t>(8, served_vocab_size(model) / ranks);
    sizes.gated = is_gated(model.activation);
    workload.kernels.push_back(sizes);
  }

  void add_attention(Workload& workload) const {
    const int ranks = layout.tensor_parallel_size;
    PagedAttentionShape shape;
    shape.heads = model.num_attention_heads / ranks;
    shape.query_groups = std::max(1, model.num_query_groups / ranks);
    shape.head_dim = model.kv_channels;
    if (model.mla) {
      shape.query_groups = 1;
      shape.head_dim = model.mla->qk_head_dim;
      shape.latent_rank = model.mla->kv_lora_rank;
      shape.rotary_dim = model.mla->qk_pos_emb_head_dim;
      shape.value_dim = model.mla->v_head_dim;
    }
    const std::int64_t most =
        model.max_position_embeddings > 0 ? model.max_position_embeddings : kServedContexts.back();
    const auto add = [&](std::int64_t sequences, std::int64_t rows, std::int64_t cached) {
      if (cached + rows > most) return;
      shape.sequences = sequences;
      shape.rows = rows;
      shape.cached = cached;
      workload.paged_attentions.push_back(shape);
    };
    for (const int sequences : {8, 1, 32}) {
      for (const int context : kServedContexts) add(sequences, 1, context - 1);
    }
    for (const int chunk : kServedChunks) {
      add(1, chunk, 0);
      add(1, chunk, kServedContexts[1]);
    }
    add(4, kServedChunks.front(), 0);
  }

  // Prompts of a decode and of a prefill pool with as many ranks.
  void add_cache_copies(Workload& workload) const {
    CacheCopyShape shape;
    shape.layers = model.num_layers;
    shape.groups =
        model.mla ? 1 : std::max(1, model.num_query_groups / layout.tensor_parallel_size);
    shape.key_width = model.mla ? model.mla->kv_lora_rank : model.kv_channels;
    shape.value_width = model.mla ? model.mla->qk_pos_emb_head_dim : model.kv_channels;
    for (const int tokens : kServedContexts) {
      if (model.max_position_embeddings > 0 && tokens > model.max_position_embeddings) continue;
      shape.tokens = tokens;
      const auto& all = workload.cache_copies;
      if (std::find(all.begin(), all.end(), shape) == all.end()) {
        workload.cache_copies.push_back(shape);
      }
    }
  }

  void add(Workload& workload, int rows) const {
    for (int layer = 0; layer < model.num_layers; ++layer) add_layer(workload, layer, rows);
    const std::int64_t columns = served_vocab_size(model) / layout.tensor_parallel_size;
    if (columns > 0) add_product(workload, {1, rows, columns, model.hidden_size}, 1.0);
    add_all_reduces(workload, rows);
    add_logits(workload, rows);
  }
};

}  // namespace

void add_service(Workload& workload, const Model& model, const std::vector<int>& tensor_sizes,
                 double number_bytes) {
  for (GemmDemand& demand : workload.gemms) demand.calls *= kBesideAService;
  for (CollectiveDemand& demand : workload.collectives) demand.calls *= kBesideAService;
  const double share = 1.0 / static_cast<double>(tensor_sizes.size() * kServedRows.size());
  for (const int ranks : tensor_sizes) {
    ServiceOf service{model, {}, share, number_bytes};
    service.layout.tensor_parallel_size = ranks;
    service.weights = service.rank_weights();
    for (const int rows : kServedRows) service.add(workload, rows);
    for (const int rows : kServedKernelRows) service.add_kernels(workload, rows);
    service.add_attention(workload);
    service.add_cache_copies(workload);
  }
  for (const std::int64_t sequences : {1, 8, 32}) {
    const std::int64_t vocab = std::max(model.vocab_size, 1);
    workload.engine_steps.push_back({sequences, vocab});
    workload.engine_steps.push_back({sequences, std::max<std::int64_t>(64, vocab / 4)});
  }
}

}  // namespace meshwright::calibrate
