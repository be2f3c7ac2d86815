// SPDX-License-Identifier: Apache-2.0
// Parameters that one rank of a stage holds.
#pragma once

#include "sim/base/numerics.h"
#include "sim/layout/layout.h"
#include "sim/layout/stages.h"
#include "sim/model/model.h"

namespace meshwright {

// Dense and expert, before ZeRO.
struct StageParameters {
  double dense = 0;
  double expert = 0;
};
StageParameters stage_parameters(const Model& model, const Numerics& numerics, const Layout& layout,
                                 const Stage& stage);
// The same as FSDP2 shards them: rows of each weight are padded to a multiple of the ranks that
// share it (torch _fsdp_param.py, _init_sharded_param). Experts are cut by their rows where they
// are fewer than ranks (torchtitan, apply_fsdp). Experts that all ranks hold count as dense: they
// are in the layer's unit.
StageParameters padded_parameters(const Model& model, const Numerics& numerics,
                                  const Layout& layout, const Stage& stage);
// Number of weights and vectors, experts stacked: those of all ranks count as dense.
StageParameters weight_tensors(const Model& model, const Numerics& numerics, const Layout& layout,
                               const Stage& stage);
// Tells whether experts are gathered with the rest of their layer.
constexpr bool experts_in_unit(const Layout& l) {
  return uses_fsdp(l) && uses_dtensor(l) && l.expert_parallel_size == 1 &&
         expert_tensor_size(l) == l.tensor_parallel_size;
}
// Parameters of its largest layer.
double largest_layer_parameters(const Model& model, const Layout& layout, const Stage& stage);
// Rows of the embedding on a tensor rank.
std::int64_t local_vocab_rows(const Model& model, const Numerics& numerics, const Layout& layout);

}  // namespace meshwright
