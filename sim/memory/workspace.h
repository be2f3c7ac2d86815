// SPDX-License-Identifier: Apache-2.0
// Workspace of one micro-batch in a chunk, in addition to the activations that it leaves.
//
// Backward meets the chunk's last operator first, when nothing of the chunk has been freed yet; the
// gradients of activations are as large as the activations, and each operator frees what it kept.
// The largest sum over the head, multi-token prediction, the last layer of each kind, and the
// embedding counts.
#pragma once

#include "sim/memory/unit_bytes.h"

namespace meshwright {

struct Workspace {
  Bytes activations;  // change of what is held: freed before this point, or back from the host
  Bytes recompute;    // run again
  Bytes operators;    // outputs and gradients of the operators that run
  Bytes logits;       // change of logits and loss
  [[nodiscard]] Bytes total() const { return activations + recompute + operators + logits; }
};

// What of a pass counts: all of it, or its layers alone, when the head and its loss do not run.
enum class PeakScope { all, layers };

// The largest need of a chunk's forward, of its backward (or input gradient, where they are split)
// and of its weight gradient.
Workspace forward_workspace(const UnitBytes& units, const Chunk& chunk,
                            PeakScope scope = PeakScope::all);
Workspace backward_workspace(const UnitBytes& units, const Layout& layout,
                             const std::vector<LayerRun>& layers, const Chunk& chunk,
                             PeakScope scope = PeakScope::all);
Workspace weight_workspace(const UnitBytes& units, const Chunk& chunk);

}  // namespace meshwright
