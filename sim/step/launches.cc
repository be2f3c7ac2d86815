// SPDX-License-Identifier: Apache-2.0
#include "sim/step/launches.h"

#include <algorithm>

namespace meshwright {
namespace {

// Layers that run again whole are in no graph of their own (Megatron-LM transformer_config.py).
bool has_graphs(const Layout& layout) {
  return layout.cuda_graph_impl == CudaGraphImpl::full_iteration ||
         layout.recompute_granularity != RecomputeGranularity::full;
}

struct OperatorLaunches {
  double forward = 0, backward = 0, waited = 0;
};

OperatorLaunches launches_of(const Operator& op, const ExpertFacts& facts, const Layout& layout) {
  const bool graphs = has_graphs(layout);
  const double passes = op.kind == OperatorKind::gemm ? 2.0 : 1.0;
  if (op.of_expert) {
    if (captures_experts(layout)) return {};
    const double count = facts.launches_each ? static_cast<double>(op.launches) : 1.0;
    return {count, count * passes, count};
  }
  if (op.module == Module::router) {
    const double count = graphs && captures_router(layout) ? 0.0 : facts.router_launches;
    return {count, count, 0.0};
  }
  const bool shared = op.module == Module::shared_expert;
  const bool captured = shared ? captures_router(layout) : captures_attention(layout);
  if (graphs && captured) return {};
  const double kernels = std::max(facts.launches_per_operator, static_cast<double>(op.launches));
  return {kernels, kernels * passes, 0.0};
}

// The router's decisions for the dispatch can be in a graph with it; the calls themselves cannot.
double dispatch_launches(const ExpertFacts& facts, const Layout& layout) {
  if (captures_experts(layout)) return 0.0;
  const bool prepared = layout.cuda_graph_impl != CudaGraphImpl::none && has_graphs(layout) &&
                        (layout.cuda_graph_modules == CudaGraphModules::moe_router_preprocess ||
                         layout.cuda_graph_modules == CudaGraphModules::attn_moe_router_preprocess);
  return facts.dispatch_launches * (prepared ? 0.5 : 1.0);
}

}  // namespace

LayerLaunches expert_layer_launches(const std::vector<Operator>& ops, const ExpertFacts& facts,
                                    const MixtureOfExperts& moe, const Layout& layout, bool whole) {
  const double sends = dispatch_launches(facts, layout);
  LayerLaunches sum{sends, sends, sends, 0.0};
  double again = 0.0, waited_again = 0.0;
  for (const Operator& op : ops) {
    const OperatorLaunches one = launches_of(op, facts, layout);
    sum.forward += one.forward;
    sum.backward += one.backward;
    sum.forward_waited += one.waited;
    if (recomputed_share(op, layout, whole) == 0.0) continue;
    again += one.forward;
    waited_again += one.waited;
  }
  sum.backward += again;
  // Buffers of a fixed size need no counts.
  const bool counts = facts.waits_for_counts && moe.moe_expert_capacity_factor == 0.0;
  if (!counts) sum.forward_waited = 0.0;
  sum.backward_waited = counts && whole ? waited_again + sends : 0.0;
  return sum;
}

}  // namespace meshwright
