// SPDX-License-Identifier: Apache-2.0
// What the host submits for a layer with experts, where a framework's kernels were counted
// (ExpertFacts), and what graphs take away of it.
#pragma once

#include <vector>

#include "sim/hardware/framework.h"
#include "sim/layout/layout.h"
#include "sim/model/model.h"
#include "sim/operators/operators.h"

namespace meshwright {

// Kernels and calls of a layer's passes. Those after a wait for the counts of tokens (dispatch and
// experts) cannot be submitted before it.
struct LayerLaunches {
  double forward = 0, backward = 0;
  double forward_waited = 0,
         backward_waited = 0;  // launches before which the host waits for the device
};

// `whole`: the layer is recomputed from its input.
LayerLaunches expert_layer_launches(const std::vector<Operator>& ops, const ExpertFacts& facts,
                                    const MixtureOfExperts& moe, const Layout& layout, bool whole);

}  // namespace meshwright
