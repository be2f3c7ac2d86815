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
// Parameters of its largest layer.
double largest_layer_parameters(const Model& model, const Layout& layout, const Stage& stage);
// Rows of the embedding on a tensor rank.
std::int64_t local_vocab_rows(const Model& model, const Numerics& numerics, const Layout& layout);

}  // namespace meshwright
