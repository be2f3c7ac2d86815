// SPDX-License-Identifier: Apache-2.0
#include "sim/step/data_parallel.h"

#include <algorithm>
#include <numeric>

#include "sim/block/transfer_names.h"
#include "sim/volume/transfer.h"

namespace meshwright {
namespace {

// Sums of gradients that data ranks do not reduce, of norms and of counts.
bool comes_after_reduction(const Transfer& transfer) {
  const bool data = transfer.group == Group::data || transfer.group == Group::expert_data;
  const bool gradients = transfer.collective != Collective::all_reduce ||
                         transfer.name == transfer_names::kGradientAllReduce ||
                         transfer.name == transfer_names::kShardAllReduce;
  return !transfer.overlappable && !(data && gradients);
}

bool of_each_micro_batch(const Transfer& transfer) { return transfer.phase != Phase::step; }

}  // namespace

double last_bucket_share(double parameters, double embedding, double bucket) {
  if (bucket <= 0.0 || parameters <= 0.0) return 0.0;
  return std::min(1.0, std::max(bucket, embedding) / parameters);
}

double bucket_parameters(const DataParallelFacts& facts, int data_ranks) {
  return std::max(facts.bucket_parameters, facts.bucket_parameters_per_rank * data_ranks);
}

void wait_for_last_bucket(DataCost& cost, double share) {
  cost.after = cost.after + times(cost.reduce, share) + times(cost.gather, share);
  cost.reduce = times(cost.reduce, 1.0 - share);
  cost.gather = times(cost.gather, 1.0 - share);
}

Bytes fsdp_copies(const Transfer& transfer, const Job& job, const FsdpCopies& copies) {
  const double weight = weight_bytes(job.precision);
  const double gradient = bytes_per_element(job.gradient_precision);
  const double touches = transfer.collective == Collective::all_gather ? copies.gather
                         : transfer.collective == Collective::reduce_scatter
                             ? copies.reduce_gradients + copies.reduce_weights * weight / gradient
                             : 0.0;
  return transfer.payload_per_step() * touches;
}

Bytes sharded_sums(const Transfer& transfer) {
  return transfer.payload_per_step() * (1.0 + 3.0 / transfer.group_size);
}

DataCost data_cost(const StageVolume& volume, const Job& job, const Layout& layout,
                   const Cluster& cluster) {
  DataCost cost;
  const bool fsdp = uses_fsdp(layout);
  for (const Transfer& transfer : volume.transfers) {
    const bool data = transfer.group == Group::data || transfer.group == Group::expert_data;
    if (!data && transfer.phase != Phase::step) continue;
    const Cost call = transfer_cost(transfer, layout, cluster);
    if (fsdp && data) {
      cost.alone = cost.alone +
                   kernel_cost(kernel::kAdd,
                               fsdp_copies(transfer, job, cluster.framework.data_parallel.copies),
                               only_device(cluster));
    }
    const bool summed = transfer.collective == Collective::reduce_scatter &&
                        of_each_micro_batch(transfer) && data && !fsdp;
    if (summed && only_device(cluster).kind == DeviceKind::cpu) {
      cost.alone =
          cost.alone + kernel_cost(kernel::kAdd, sharded_sums(transfer), only_device(cluster));
    }
    if (fsdp && !transfer.overlappable && of_each_micro_batch(transfer)) {
      cost.alone = cost.alone + call;
    } else if (transfer.phase == Phase::forward) {
      cost.forward_gather = cost.forward_gather + call;
    } else if (transfer.phase == Phase::recompute) {
      cost.recompute_gather = cost.recompute_gather + call;
    } else if (transfer.phase == Phase::backward) {
      cost.backward_gather = cost.backward_gather + call;
    } else if (data && transfer.collective == Collective::all_gather) {
      cost.gather = cost.gather + call;
    } else if (comes_after_reduction(transfer)) {
      cost.after = cost.after + call;
    } else {
      cost.reduce = cost.reduce + call;
    }
  }
  return cost;
}

std::array<double, kLinears> linear_shares(const Model& model) {
  const double h = model.hidden_size;
  const double heads = static_cast<double>(query_size(model));
  const double mlp = static_cast<double>(model.ffn_hidden_size) * h;
  std::array<double, kLinears> linears{(heads + 2.0 * static_cast<double>(key_size(model))) * h,
                                       heads * h, mlp * (is_gated(model.activation) ? 2.0 : 1.0),
                                       mlp};
  const double layer = std::accumulate(linears.begin(), linears.end(), 0.0);
  for (double& linear : linears) linear /= layer;
  return linears;
}

DataOverlap data_overlap(const Model& model, const Layout& layout, const Cluster& cluster) {
  // FSDP always prefetches the next unit and reduces the one before; below a pipeline it reduces
  // after the last backward.
  if (uses_fsdp(layout)) {
    return {!fsdp_below_pipeline(layout),          true, true, true,
            only_device(cluster).overlap_slowdown, {}};
  }
  const bool able = !reduces_after_backward(layout);
  const bool prefetch = layout.zero_stage == 3;
  DataOverlap overlap{able && layout.overlap_grad_reduce, able && layout.overlap_param_gather,
                      prefetch, prefetch || (able && layout.overlap_grad_reduce),
                      only_device(cluster).overlap_slowdown};
  const bool layers_alike = model.num_attention_heads > 0 && !model.moe && !model.mla &&
                            model.hybrid_layer_pattern.empty();
  if (prefetch && layers_alike) overlap.linears = linear_shares(model);
  return overlap;
}

Cost exposed_cost(const DataCost& cost, const ExposedData& exposed) {
  return with_time(cost.reduce, exposed.reduce) + with_time(cost.gather, exposed.gather) +
         with_time(cost.forward_gather, exposed.forward_gather) +
         with_time(cost.backward_gather, exposed.backward_gather) +
         with_time(cost.alone, exposed.alone) + with_time(cost.after, exposed.after);
}

}  // namespace meshwright
