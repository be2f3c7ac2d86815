// SPDX-License-Identifier: Apache-2.0
// The ledger of one step of a replica: every transfer that one rank takes part in, with payload and
// bytes sent. Exact: what a trial over ranks counts must be the same. The step's seconds are those
// of the same transfers (transfer_cost, row_costs.cc).
//
//   attention and MLP output all-reduce  rows * h * w, one each a layer (tensor ranks)
//   embedding all-reduce                 rows * h * w, once
//   logits gather                        sampled rows * V * w, once
//   dispatch, combine                    all ranks' rows * h * w (all-gather, and reduce-scatter or
//                                        all-reduce), or copies of own rows: topk (DeepEP's low
//                                        latency), or one for each rank with experts of the token
//   stage send                           rows * h * w a border
//   drafts                               each the same of its one layer, embedding and head
// w: 2 bytes of a number, on cores 4 (served_bytes). Sampled tokens go from the last stage back to
// the first over the hosts, 4 bytes each, and are no row: the scheduler hands them on (vLLM
// v1/worker/gpu_model_runner.py, _update_states).
#pragma once

#include <array>
#include <vector>

#include "sim/serving/step.h"
#include "sim/volume/volume.h"

namespace meshwright {

struct ServingTransfer {
  Transfer transfer{};
  StepTerm term = StepTerm::all_reduce;  // of the step's time, which has its seconds
  std::string_view algorithm{};          // one-shot, two-shot, ring ...; empty: point to point
};

// A window changes the time of attention alone: layers with one count as those without.
LayerCounts layer_counts(const Model& model, StageLayers layers);

// One pass over some layers.
struct PassPart {
  double rows = 0;     // new tokens
  double decodes = 0;  // of them, those of answers, with drafts that are verified
  double sampled = 0;  // rows with logits
  LayerCounts layers{};
  bool embedding = true, head = true;
  double sends = 0;  // to a next stage
};
// A pass of multi-token prediction; none: no layer and no rows.
PassPart draft_pass(const Model& model, const ReplicaOptions& options, double sequences);
// Without algorithms. Ranks alone in their group move nothing and are left out.
std::vector<ServingTransfer> pass_transfers(const Model& model, const ServingCluster& cluster,
                                            const ReplicaOptions& options, const PassPart& pass);

// Options with defaults.
std::vector<ServingTransfer> step_volume(const Model& model, const ServingCluster& cluster,
                                         const Engine& engine, const ReplicaOptions& options,
                                         const EngineStep& step);
// What one rank of one stage takes part in: its layers, the embedding of the first stage, the
// logits and drafts of the last, and the message to the next. The stages' calls and bytes add up to
// those above.
std::vector<ServingTransfer> stage_step_volume(const Model& model, const ServingCluster& cluster,
                                               const Engine& engine, const ReplicaOptions& options,
                                               const EngineStep& step, int stage);
Bytes bytes_sent(const std::vector<ServingTransfer>& transfers);

}  // namespace meshwright
