// SPDX-License-Identifier: Apache-2.0
// The ledger of one step of a replica: every transfer that one rank takes part in, with payload and
// bytes sent. Exact: what a trial over ranks counts must be the same.
//
//   attention and MLP output all-reduce  rows * h * 2, one each a layer (tensor ranks)
//   embedding all-reduce                 rows * h * 2, once
//   logits gather                        sampled rows * V * 2, once
//   dispatch, combine                    all ranks' rows * h * 2 (all-gather, reduce-scatter), or
//                                        rows * topk * h copies (DeepEP)
//   stage send                           rows * h * 2 a border
// Sampled tokens go from the last stage back to the first over the hosts, 4 bytes each, and are no
// row: the scheduler hands them on (vLLM v1/worker/gpu_model_runner.py, _update_states).
#pragma once

#include <vector>

#include "sim/serving/step.h"
#include "sim/volume/volume.h"

namespace meshwright {

struct ServingTransfer {
  Transfer transfer{};
  std::string_view algorithm{};  // one-shot, two-shot, ring ...; empty: point to point
};

// Options with defaults. Ranks alone in their group move nothing and are left out.
std::vector<ServingTransfer> step_volume(const Model& model, const ServingCluster& cluster,
                                         const Engine& engine, const ReplicaOptions& options,
                                         const EngineStep& step);
// What one rank of one stage takes part in: its layers, the embedding of the first stage, the
// logits of the last, and the message to the next. The stages' calls and bytes add up to those
// above.
std::vector<ServingTransfer> stage_step_volume(const Model& model, const ServingCluster& cluster,
                                               const Engine& engine, const ReplicaOptions& options,
                                               const EngineStep& step, int stage);
Bytes bytes_sent(const std::vector<ServingTransfer>& transfers);

}  // namespace meshwright
