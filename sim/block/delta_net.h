// SPDX-License-Identifier: Apache-2.0
// Parts of a gated delta net (arXiv 2412.06464), as Qwen3-Next has it: K = key heads x key width,
// V = value heads x value width, H value heads.
#pragma once

#include "sim/block/part.h"

namespace meshwright {

// Queries, keys, values and output gate, and two numbers a value head: h -> 2K + 2V + 2H. With it
// the weights of the convolution over queries, keys and values, a decay and a step width a head,
// and the gated norm's.
LayerPart delta_net_input(const Model& model);
// V -> h.
LayerPart delta_net_projection(const Model& model);
LayerParts delta_net_parts(const Model& model);

// Channels that the convolution runs over: 2K + V.
std::int64_t delta_net_channels(const Model& model);
// Numbers of the states of one sequence in one layer: H x key width x value width.
std::int64_t delta_net_state(const Model& model);

}  // namespace meshwright
