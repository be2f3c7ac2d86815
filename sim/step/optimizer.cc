// SPDX-License-Identifier: Apache-2.0
#include "sim/step/optimizer.h"

#include "sim/base/spread.h"
#include "sim/kernel_time/compute.h"
#include "sim/kernel_time/remainder.h"
#include "sim/memory/model_state.h"

namespace meshwright {
namespace {

// Bytes that one optimizer step touches a parameter of the rank's share: it reads gradient, weight
// and moments and writes weight and moments in their formats, and the 16-bit copy. Remainders are
// read and written with the 16-bit weight; an optimizer on the host keeps none (Megatron-LM
// optimizer/__init__.py: HybridDeviceOptimizer updates fp32 weights).
double optimizer_traffic(Job job, const Layout& layout) {
  if (layout.optimizer_offload) job.store_param_remainders = false;
  const double stored = weight_bytes(job.precision);
  const double master = master_bytes(job);
  const double own = master > 0.0 ? master : stored;
  const double copy = master <= 0.0 ? 0.0 : master < 4.0 ? 2.0 * stored : stored;
  return gradient_bytes(job, layout) + 2.0 * (own + moment_bytes(job)) + copy;
}

// The pass as a calibration saw it whole; tokens do not count in it.
Cost adam_cost(Bytes traffic, const Cluster& cluster) {
  const Device& device = only_device(cluster);
  const Cost kernel =
      times(kernel_cost(kernel::kAdam, traffic, device), cluster.kernel_time_factor());
  return with_remainder(kernel, device, ComputePass::optimizer, 1);
}

}  // namespace

Cost optimizer_cost(const StageParameters& parameters, const Job& job, const Layout& layout,
                    const Cluster& cluster) {
  const bool sharded = layout.zero_stage > 0;
  const double dense = parameters.dense / (sharded ? zero_shard_group_size(layout) : 1);
  const double expert = parameters.expert / (sharded ? expert_shard_group_size(layout) : 1);
  const DataParallelFacts& known = cluster.framework.data_parallel;
  const double facts = layout.optimizer_offload && known.host_optimizer_bytes > 0
                           ? known.host_optimizer_bytes
                           : known.optimizer_bytes;
  const Bytes traffic =
      bytes((dense + expert) * (facts > 0 ? facts : optimizer_traffic(job, layout)));
  // Before a step all gradients of the rank are set to zero (Megatron-LM zero_grad_buffer); FSDP
  // drops them.
  const Bytes zeroed = bytes(uses_fsdp(layout) ? 0.0
                                               : (parameters.dense + parameters.expert) *
                                                     gradient_bytes(job, layout));
  if (!layout.optimizer_offload) return adam_cost(traffic + zeroed, cluster);
  // On the host: gradients go there and weights come back; the step itself runs at the host link's
  // pace.
  const Cost host{traffic / only_device(cluster).host_link, kHostLinkSpread, Provenance::assumed};
  return zeroed > bytes(0) ? host + adam_cost(zeroed, cluster) : host;
}

}  // namespace meshwright
