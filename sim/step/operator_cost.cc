// SPDX-License-Identifier: Apache-2.0
#include "sim/step/operator_cost.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "sim/base/hash.h"
#include "sim/base/narrow_format.h"
#include "sim/base/spread.h"
#include "sim/kernel_time/expert_products.h"
#include "sim/kernel_time/slowest.h"

namespace meshwright {
namespace {

// Without tensor cores 16-bit products run as fast as those of fp32.
Precision kernel_precision(const Operator& op, Precision precision, const KernelFacts& kernels) {
  const bool batched = op.kind == OperatorKind::gemm && !op.has_weight;
  if (!batched || !kernels.aligned_batched_products || rows_are_aligned(op)) return precision;
  return bytes_per_element(precision) == 2.0 ? Precision::fp32 : precision;
}

// Tells whether queries of one context rank meet the keys of others one after the other.
bool rings_attention(const Layout& layout) {
  return layout.context_parallel_size > 1 && layout.cp_comm_type != ContextParallelAlgorithm::a2a;
}

// Factor on a kernel's time, from the framework, long steps, and waits for the slowest device.
double time_factor(const Operator& op, const Numerics& numerics, const Layout& layout,
                   const Cluster& cluster) {
  const double slowest = slowest_of(cluster.num_gpus(), only_device(cluster));
  if (op.kind == OperatorKind::memory_bound) {
    const bool of_expert_rows = op.of_expert && op.kernel != kernel::kTranspose;
    return cluster.kernel_time_factor() * slowest *
           (of_expert_rows ? cluster.framework.experts.kernel_time_factor : 1.0);
  }
  const bool ring = op.kind == OperatorKind::attention && rings_attention(layout);
  double factor = ring ? cluster.framework.kernels.ring_attention_time_factor : 1.0;
  if (op.of_expert) factor *= cluster.framework.experts.gemm_time_factor;
  if (is_narrow(compute_precision(op, numerics.precision))) {
    factor *= narrow_format(numerics).gemm_time_factor *
              cluster.framework.kernels.narrow_gemm_time_factor;
  }
  return factor * slowest * cluster.gemm_time_factor() /
         only_device(cluster).sustained_clock_fraction;
}

double fullest_rank(const Operator& op, const UnitScope& unit) {
  return op.of_expert ? load_imbalance(*unit.scenario.model.moe, unit.scenario.job) : 1.0;
}

// Experts' products are one kernel where a graph of the whole step has them fused.
bool runs_one_each(const Operator& op, const UnitScope& unit) {
  return op.of_expert && unit.scenario.cluster.framework.experts.launches_each &&
         !captures_experts(unit.layout);
}

OperatorCost product_of_experts(const Operator& op, Precision precision, const UnitScope& unit) {
  const Device& device = only_device(unit.scenario.cluster);
  const auto rounds = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    const GemmShape all{op.batch, m, n, k};
    return runs_one_each(op, unit) ? rounds_on_streams(all) : ProductRounds{all};
  };
  const ProductRounds forward = rounds(op.m, op.n, op.k), input = rounds(op.m, op.k, op.n),
                      weight = rounds(op.k, op.n, op.m);
  const double buffer = bytes_per_element(unit.scenario.job.gradient_precision);
  // One call for all, unless they run one each; a single expert's is a product like any other.
  const auto grouped = [&](const Cost& batched) {
    const bool one_call = op.batch > 1 && !runs_one_each(op, unit);
    return one_call ? as_grouped(batched, precision, device) : batched;
  };
  OperatorCost cost{grouped(times(gemm_cost(forward.shape, precision, device), forward.count)),
                    grouped(times(gemm_cost(input.shape, precision, device), input.count)), Cost{}};
  if (trains_weight(op)) {
    cost.weight =
        grouped(times(gradient_cost(weight.shape, precision, buffer, device), weight.count));
  }
  return cost;
}

OperatorCost computed_kernel_costs(const Operator& op, const UnitScope& unit) {
  const Device& device = only_device(unit.scenario.cluster);
  const Precision precision =
      kernel_precision(op, unit.scenario.job.precision, unit.scenario.cluster.framework.kernels);
  if (op.of_expert && op.kind == OperatorKind::gemm) {
    return product_of_experts(op, compute_precision(op, precision), unit);
  }
  const int version = unit.scenario.cluster.framework.kernels.flash_attention_version;
  const BackwardCost backward = backward_cost(op, precision, device, version);
  OperatorCost cost{forward_cost(op, precision, device, version), backward.input,
                    op.has_weight ? backward.weight : Cost{}};
  if (!runs_one_each(op, unit) || op.launches <= 1) return cost;
  // One kernel after the other.
  const Seconds starts = device.kernel_launch * static_cast<double>(op.launches - 1);
  for (Cost* pass : {&cost.forward, &cost.input}) {
    if (pass->time > seconds(0)) pass->time += starts;
  }
  return cost;
}

// On the average device, alone.
OperatorCost kernel_costs(const Operator& op, const UnitScope& unit) {
  if (unit.known == nullptr) return computed_kernel_costs(op, unit);
  const KernelKey key{op, captures_experts(unit.layout)};
  const auto found = unit.known->find(key);
  if (found != unit.known->end()) return found->second;
  return unit.known->emplace(key, computed_kernel_costs(op, unit)).first->second;
}

// A product's rate errs by no more than runs under this software, where its factor was fitted.
double most_spread(const Operator& op, const UnitScope& unit) {
  const bool narrow = op.kind == OperatorKind::gemm &&
                      is_narrow(compute_precision(op, unit.scenario.job.precision));
  const bool fitted = unit.scenario.cluster.framework.kernels.narrow_gemm_time_factor != 1.0;
  return narrow && fitted ? kFittedNarrowSpread : std::numeric_limits<double>::infinity();
}

}  // namespace

std::size_t KernelKeyHash::operator()(const KernelKey& key) const {
  const Operator& op = key.op;
  std::uint64_t hash = mixed(kHashStart, key.captures_experts ? 1 : 0);
  for (const std::int64_t size : {op.batch, op.m, op.n, op.k}) {
    hash = mixed(hash, static_cast<std::uint64_t>(size));
  }
  hash = mixed(hash, std::bit_cast<std::uint64_t>(op.forward_bytes.value()));
  return finished(mixed(hash, op.name.size()));
}

OperatorCost operator_cost(const Operator& op, const UnitScope& unit) {
  const double factor = time_factor(op, unit.scenario.job, unit.layout, unit.scenario.cluster) *
                        fullest_rank(op, unit);
  const double most = most_spread(op, unit);
  const OperatorCost cost = kernel_costs(op, unit);
  const auto in_step = [&](const Cost& pass) {
    Cost result = times(pass, factor);
    result.relative_spread = std::min(result.relative_spread, most);
    return result;
  };
  return {in_step(cost.forward), in_step(cost.input), in_step(cost.weight)};
}

Seconds pass_time(Operator op, LinearPass pass, int pieces, const UnitScope& unit) {
  if (pieces > 1) op.m = std::max<std::int64_t>(1, op.m / pieces);
  const double factor = time_factor(op, unit.scenario.job, unit.layout, unit.scenario.cluster) *
                        fullest_rank(op, unit) * pieces;
  const OperatorCost cost = kernel_costs(op, unit);
  if (pass == LinearPass::forward) return cost.forward.time * factor;
  if (pass == LinearPass::input_gradient) return cost.input.time * factor;
  if (pass == LinearPass::weight_gradient) return cost.weight.time * factor;
  return (cost.input.time + cost.weight.time) * factor;
}

}  // namespace meshwright
