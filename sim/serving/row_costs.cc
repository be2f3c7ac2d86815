// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/row_costs.h"

#include <cmath>

#include "sim/block/attention.h"
#include "sim/collective/collective.h"
#include "sim/kernel_time/host.h"
#include "sim/kernel_time/slowest.h"
#include "sim/operators/builders.h"
#include "sim/serving/experts_touched.h"
#include "sim/serving/operator_time.h"
#include "sim/serving/step_volume.h"
#include "sim/serving/weights.h"

namespace meshwright {
namespace {

// Bytes that sampling moves for a logit: it is read in 16 bits, widened, normalized and sorted.
constexpr double kSamplingBytes = 14.0;

struct RowCompiler {
  const Model& model;
  const ServingCluster& cluster;
  const Engine& engine;
  const ReplicaOptions& options;
  Numerics numerics{};
  Layout layout{};
  int tp = 1, dp = 1;

  [[nodiscard]] const Device& device() const { return only_device(cluster); }
  [[nodiscard]] Bytes activation(double rows) const {
    return bytes(rows * model.hidden_size * served_bytes(device()));
  }
  [[nodiscard]] bool on_cores() const { return device().kind == DeviceKind::cpu; }

  // How the checkpoint stores the weight of this linear.
  [[nodiscard]] WeightScheme scheme_of(const Operator& op) const {
    return (options.weights.quantized & op.quantized) != 0 ? options.weights : WeightScheme{};
  }

  // Key-value heads are repeated where there are fewer than tensor ranks.
  [[nodiscard]] std::int64_t columns(const Operator& op) const {
    if (op.name != "attention.qkv" || tp <= model.num_query_groups) return op.n;
    const LayerPart part = query_key_value(model);
    return (part.outputs - part.group_outputs) / tp + part.group_outputs / part.groups;
  }

  void add_layer(RowCosts& sum, LayerKind kind, std::int64_t rows, double times_run) const {
    const TokenShape tokens{1, rows, rows};
    for (const Operator& op : layer_operators(model, kind, numerics, tokens, layout)) {
      if (op.of_expert || op.module == Module::experts || op.module == Module::expert_activation) {
        continue;
      }
      if (op.kind == OperatorKind::gemm && op.has_weight) {
        const WeightScheme scheme = scheme_of(op);
        const Cost one = linear_cost({op.batch, op.m, columns(op), op.k}, scheme, device());
        sum.linears = sum.linears + times(one, times_run);
        if (quantizes_input(scheme)) {
          const double moved = static_cast<double>(op.m) * static_cast<double>(op.k) * 3.0;
          sum.small_kernels =
              sum.small_kernels +
              times(kernel_cost(kernel::kQuantize, bytes(moved), device()), times_run);
        }
        continue;
      }
      // Residual sums run inside the norms behind them, but on cores; permutations inside the
      // experts' kernels.
      const bool summed = op.module == Module::residual && !on_cores();
      const bool fused = summed || op.module == Module::router || is_scan(op.kernel);
      if (op.kind != OperatorKind::memory_bound || fused) continue;
      sum.small_kernels =
          sum.small_kernels + times(kernel_cost(op.kernel, op.forward_bytes, device()), times_run);
    }
  }

  // Block scales are found by a kernel of its own; those of tensors and rows in the kernel before.
  [[nodiscard]] static bool quantizes_input(const WeightScheme& scheme) {
    return scheme.format == WeightFormat::fp8_block || scheme.format == WeightFormat::mxfp8 ||
           scheme.format == WeightFormat::nvfp4;
  }

  [[nodiscard]] Cost experts(double rows) const {
    if (!model.moe) return {};
    const MixtureOfExperts& moe = *model.moe;
    const ReplicaLayout& l = options.layout;
    const bool quantized = (options.weights.quantized & kQuantizedExperts) != 0;
    const WeightScheme scheme = quantized ? options.weights : WeightScheme{};
    const ExpertRate rate =
        expert_rate(cluster.inference, engine.kind, scheme.format, expert_sharding(l));
    const double ep = l.expert_parallel_size;
    const auto h = static_cast<double>(expert_hidden_size(model));
    const double number = served_bytes(device());
    const double width = static_cast<double>(moe.moe_ffn_hidden_size) / expert_tensor_size(l);
    const double tokens = rows * dp;
    const double shape = on_cores() ? kRandomRouting : kRoutingShape;
    const double touched = experts_touched(moe.num_moe_experts, moe.moe_router_topk, tokens, shape);
    // The rank with the most work sets the pace: each expert is hit with the same probability, and
    // each pair of a token and an expert falls on one rank of ep.
    const double share = touched / moe.num_moe_experts;
    const double hit =
        touched / ep * slowest_over_mean(ep, touched / ep, touched / ep * (1.0 - share));
    const double all_pairs = tokens * moe.moe_router_topk;
    const double popular = all_pairs / moe.num_moe_experts / shape;  // variance over mean
    const double pairs =
        all_pairs / ep *
        slowest_over_mean(ep, all_pairs / ep, all_pairs / ep * (1.0 - 1.0 / ep) * (1.0 + popular));
    if (on_cores() && cluster.inference.experts.empty()) {
      return expert_products_cost(hit, {pairs / hit, h, width, is_gated(model.activation)}, scheme,
                                  device());
    }
    const double matrices = is_gated(model.activation) ? 3.0 : 2.0;
    const Bytes weights = bytes(hit * matrices * h * width * read_weight_bytes(scheme, device()));
    // A rank that sees all tokens writes and sums the slots of pairs that other ranks computed.
    const ExpertExchange exchange = used_exchange(options, cluster);
    const bool sees_all = exchange == ExpertExchange::all_reduce ||
                          exchange == ExpertExchange::all_gather_reduce_scatter;
    const double elsewhere = sees_all ? all_pairs * (1.0 - 1.0 / ep) : 0.0;
    const Bytes moved =
        bytes(pairs * (4.0 * h + 3.0 * width) * number + (tokens + elsewhere) * h * (2.0 * number));
    const ExpertWork work{.weights = weights,
                          .activations = moved,
                          .products = flops(2.0 * pairs * matrices * h * width),
                          .rows = pairs / hit,
                          .width = width};
    return {expert_time(work, rate, device()), rate.relative_spread, rate.provenance};
  }

  // The pass's transfers, each in the term that `term` gives. Calls that follow each other are
  // often alike.
  template <typename Term>
  void add_transfers(const PassPart& pass, Term term) const {
    Transfer before;
    Cost call;
    for (const ServingTransfer& one : pass_transfers(model, cluster, options, pass)) {
      const Transfer& t = one.transfer;
      const bool alike = t.group == before.group && t.collective == before.collective &&
                         t.payload == before.payload;
      if (!alike) call = transfer_cost(t, options, engine, cluster);
      before = t;
      Cost& sum = term(one.term);
      sum = sum + times(call, t.times_per_step);
    }
  }

  [[nodiscard]] Cost head(std::int64_t rows) const {
    if (model.vocab_size == 0) return {};
    const std::int64_t columns = served_vocab_size(model) / tp;
    const bool quantized = (options.weights.quantized & kQuantizedHead) != 0;
    Cost sum = linear_cost({1, rows, columns, model.hidden_size},
                           quantized ? options.weights : WeightScheme{}, device());
    const double logits = static_cast<double>(rows) * static_cast<double>(served_vocab_size(model));
    // The trial's host takes the likeliest: HostStepRate.
    if (timed_host(cluster) == nullptr) {
      sum = sum + kernel_cost(kernel::kSoftmax, bytes(logits * kSamplingBytes), device());
    }
    return sum;
  }

  // On cores, where neither is hidden behind other work: the rows of the embedding, and, between
  // tensor ranks, the first rank's clock, which all schedulers go by.
  [[nodiscard]] Cost outside_layers(double rows) const {
    const Cost words = kernel_cost(kernel::kEmbedding, activation(rows) * 2.0, device());
    if (tp == 1 || timed_host(cluster) == nullptr) return words;
    return words + collective_cost(Collective::broadcast, bytes(sizeof(double)),
                                   place(Group::tensor, layout, cluster), cluster);
  }

  [[nodiscard]] RowCosts at(double exact, const LayerCounts& layers) const {
    const auto rows = static_cast<std::int64_t>(std::ceil(exact));
    RowCosts sum;
    if (on_cores()) sum.small_kernels = outside_layers(exact);
    for (std::size_t k = 0; k < kLayerKinds; ++k) {
      const LayerKind kind = layer_kind_of(k);
      const double count = layers.of(kind);
      if (count > 0) add_layer(sum, kind, rows, count);
    }
    sum.experts = times(experts(exact), layers.experts());
    if (on_cores() && tp > 1) {
      // Ranks of cores wait for the slowest of them at each all-reduce, as in training.
      const Cost computed = sum.linears + sum.small_kernels + sum.experts;
      sum.all_reduce = times(computed, wait_for_slowest(tp, device()));
    }
    sum.head = head(rows);
    const PassPart draft = draft_pass(model, options, exact);
    if (draft.rows > 0) {
      RowCosts one;
      add_layer(one, {.mixture_of_experts = draft.layers.experts() > 0}, rows, 1.0);
      const std::int64_t h = model.hidden_size;
      sum.draft = one.linears + one.small_kernels +
                  linear_cost({1, rows, h, 2 * h}, WeightScheme{}, device()) +
                  times(experts(exact), draft.layers.experts()) + sum.head;
      add_transfers(draft, [&](StepTerm) -> Cost& { return sum.draft; });
    }
    // One message: step_time() has as many as there are borders.
    const double sends = layout.pipeline_parallel_size > 1 ? 1.0 : 0.0;
    add_transfers(
        {.rows = exact, .decodes = exact, .sampled = exact, .layers = layers, .sends = sends},
        [&](StepTerm term) -> Cost& {
          switch (term) {
            case StepTerm::exchange:
              return sum.exchange;
            case StepTerm::context_exchange:
              return sum.context_exchange;
            case StepTerm::head:
              return sum.head;
            case StepTerm::pipeline:
              return sum.send;
            default:
              return sum.all_reduce;
          }
        });
    return sum;
  }
};

}  // namespace

const HostStepRate* timed_host(const ServingCluster& cluster) {
  const auto& host = cluster.inference.host_step;
  return only_device(cluster).kind == DeviceKind::cpu && host ? &*host : nullptr;
}

RowCostTable row_costs(const Model& model, const ServingCluster& cluster, const Engine& engine,
                       const ReplicaOptions& options) {
  RowCompiler compiler{model, cluster, engine, options};
  compiler.layout = dense_layout(options.layout);
  compiler.tp = options.layout.tensor_parallel_size;
  compiler.dp = options.layout.data_parallel_size;
  if (compiler.on_cores()) compiler.numerics.precision = Precision::fp32;
  const LayerCounts layers = layer_counts(model, {0, model.num_layers});
  RowCostTable costs{};
  for (int point = 0; point < RowTable::kPoints; ++point) {
    costs[static_cast<std::size_t>(point)] = compiler.at(RowTable::rows_of(point), layers);
  }
  return costs;
}

}  // namespace meshwright
