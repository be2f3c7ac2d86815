// SPDX-License-Identifier: Apache-2.0
#include "calibrate/service_workload.h"

#include "sim/operators/builders.h"
#include "sim/serving/weights.h"

namespace meshwright::calibrate {
namespace {

struct ServiceOf {
  const Model& model;
  Layout layout{};
  double share = 1.0;  // of one number of rows on one number of ranks
  double number_bytes = 4.0;

  // Forward alone: a weight is met in memory, its input was just written.
  void add_product(Workload& workload, const GemmShape& shape, double calls) const {
    workload.gemms.push_back({{.shape = shape, .fresh = {.a = true}}, calls * share});
  }

  void add_layer(Workload& workload, int layer, int rows) const {
    const TokenShape tokens{1, rows, rows};
    for (const Operator& op :
         layer_operators(model, layer_kind(model, layer), Numerics{}, tokens, layout)) {
      if (op.kind != OperatorKind::gemm || !op.has_weight) continue;
      add_product(workload, {op.batch, op.m, op.n, op.k}, 1.0);
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

  void add(Workload& workload, int rows) const {
    for (int layer = 0; layer < model.num_layers; ++layer) add_layer(workload, layer, rows);
    const std::int64_t columns = served_vocab_size(model) / layout.tensor_parallel_size;
    if (columns > 0) add_product(workload, {1, rows, columns, model.hidden_size}, 1.0);
    add_all_reduces(workload, rows);
  }
};

}  // namespace

void add_service(Workload& workload, const Model& model, const std::vector<int>& tensor_sizes,
                 double number_bytes) {
  const double share = 1.0 / static_cast<double>(tensor_sizes.size() * kServedRows.size());
  for (const int ranks : tensor_sizes) {
    ServiceOf service{model, {}, share, number_bytes};
    service.layout.tensor_parallel_size = ranks;
    for (const int rows : kServedRows) service.add(workload, rows);
  }
}

}  // namespace meshwright::calibrate
