// SPDX-License-Identifier: Apache-2.0
#include "calibrate/bench/point_bench.h"

#include "calibrate/bench/attention_bench.h"
#include "calibrate/bench/collective_bench.h"
#include "calibrate/bench/gemm_bench.h"
#include "calibrate/bench/grouped_gemm_bench.h"
#include "calibrate/bench/kernel_bench.h"
#include "calibrate/bench/memory_bench.h"
#include "sim/base/error.h"
#include "sim/base/overloaded.h"

namespace meshwright::calibrate {

bool can_be_timed(const MeasuredPoint& point) {
  if (const auto* kernel = point.as<timed::Kernel>()) return kernel->sizes.has_value();
  if (!point.source.empty()) return false;  // by somebody else, perhaps elsewhere
  // StepCheck and ServiceCheck time whole steps.
  if (point.is<timed::StepPass>() || point.is<timed::ServedStep>()) return false;
  const GroupCall* call = call_of(point.subject);
  return call == nullptr || call->ranks_per_node > 0;
}

std::unique_ptr<Bench> make_point_bench(Compute& compute, Communicator& group,
                                        const MeasuredPoint& point) {
  invariant(can_be_timed(point), "a point that does not say what was timed");
  using Made = std::unique_ptr<Bench>;
  const auto product = [&](const Product& p) {
    return make_gemm_bench(compute, p.variant, p.precision);
  };
  return std::visit(
      Overloaded{
          [&](const timed::Gemm& s) { return product(s.product); },
          [&](const timed::SustainedGemm& s) { return product(s.product); },
          [&](const timed::Kernel& s) { return make_kernel_bench(compute, s.name, *s.sizes); },
          [&](const timed::MemoryCopy&) { return make_copy_bench(compute, point.amount * 0.5); },
          [&](const timed::HostLink& s) {
            return make_host_link_bench(compute, point.amount, s.direction);
          },
          [&](const timed::KernelLaunch&) { return make_launch_bench(compute); },
          [&](const timed::HostLaunch&) { return make_launch_bench(compute); },
          [&](const timed::CollectiveCall& s) {
            return make_collective_bench(compute, group, s.call.collective, point.amount,
                                         s.call.cold);
          },
          [](const timed::Overlap&) { return Made(); },      // measure_overlap times it
          [](const timed::CopyOverlap&) { return Made(); },  // measure_copy_overlap times it
          [&](const timed::Attention& s) {
            return make_attention_bench(compute, s.shape, s.precision);
          },
          [&](const timed::GroupedGemm& s) {
            return make_grouped_gemm_bench(compute, s.product.variant, s.product.precision);
          },
          [](const timed::StepPass&) { return Made(); },        // can_be_timed refuses these
          [](const timed::PagedAttention&) { return Made(); },  // make_serving_bench
          [](const timed::EngineStep&) { return Made(); },
          [](const timed::CacheCopy&) { return Made(); },
          [](const timed::ServedStep&) { return Made(); }},
      point.subject);
}

}  // namespace meshwright::calibrate
