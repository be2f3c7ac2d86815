// SPDX-License-Identifier: Apache-2.0
// The ledger: every transfer of one training step, as one rank of one pipeline stage sees it.
//
// payload is the array passed to the collective (nccl-tests' S). Bytes that one rank sends for it:
// all-reduce 2(n-1)/n S, all-gather, reduce-scatter, all-to-all (n-1)/n S, send S (nccl-tests
// doc/PERFORMANCE.md). For all-gather, reduce-scatter and all-to-all, payload is the whole array,
// not one rank's piece. Routing is assumed to be balanced.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/enum_names.h"
#include "sim/base/job.h"
#include "sim/base/units.h"
#include "sim/hardware/placement.h"
#include "sim/layout/layout.h"
#include "sim/layout/stages.h"
#include "sim/model/model.h"
#include "sim/model/routing.h"

namespace meshwright {

enum class Phase { forward, backward, recompute, step };
inline constexpr std::array kPhaseNames{
    EnumName{Phase::forward, "forward"}, EnumName{Phase::backward, "backward"},
    EnumName{Phase::recompute, "recompute"}, EnumName{Phase::step, "step"}};
constexpr std::string_view name_of(Phase v) { return name_in(kPhaseNames, v); }

struct Transfer {
  std::string_view name;  // "attention output all-reduce"
  Group group = Group::tensor;
  Collective collective = Collective::all_reduce;
  Phase phase = Phase::forward;
  int group_size = 1;                // number of ranks
  double times_per_step = 0;         // calls by one rank of this stage
  Bytes payload;                     // bytes per call
  bool overlappable = false;         // the layout's switches (or the framework always) compute
                                     // something else meanwhile
  std::string_view formula;          // payload in the field's letters: "b*s*h*w/c"
  Routing routing{};                 // routing of tokens that are sent once to each NVLink domain
  [[nodiscard]] Bytes sent() const;  // by one rank, one call, bandwidth-optimal algorithm
  [[nodiscard]] Bytes sent_per_step() const { return sent() * times_per_step; }
  [[nodiscard]] Bytes payload_per_step() const { return payload * times_per_step; }
};

// Bytes that one of n ranks sends for one call with a bandwidth-optimal algorithm.
Bytes bytes_sent(Collective collective, Bytes payload, int group_size);

struct StageVolume {
  int stage = 0;                    // pipeline stage, from 0
  std::vector<Transfer> transfers;  // groups of size 1 are left out
  [[nodiscard]] Bytes sent(Group group) const;
  [[nodiscard]] Bytes sent() const;
};

struct Volume {
  std::vector<StageVolume> stages;
  [[nodiscard]] const StageVolume& busiest() const;
};

// The calls of one micro-batch on one model chunk: tensor, context and expert groups, and the data
// groups where ZeRO-2/3 communicates for every micro-batch. times_per_step counts this one
// micro-batch. The first `recomputed` layers of the chunk are run again, whole.
std::vector<Transfer> chunk_transfers(const Model& model, const Job& job, const Layout& layout,
                                      const Chunk& chunk, int recomputed);

// The ledger of one stage: its chunks' calls times the micro-batches that each chunk sees
// (half of them where stages are mirrored), the sends to its neighbours, and what happens once a
// step.
StageVolume stage_volume(const Model& model, const Job& job, const Layout& layout,
                         const Stage& stage, int stage_index);
// Micro-batches that one chunk sees in a step: mirrored stages take half from each end.
double micro_batches_of_chunk(const Job& job, const Layout& layout);
// The part of it that goes over the data groups or once a step: what depends on the data size.
// ZeRO-3's gathers for layers that are run again are in it, whether the layout runs any again or
// not: recompute is no matter of the data side.
StageVolume data_volume(const Model& model, const Job& job, const Layout& layout,
                        const Stage& stage, int stage_index);
// One message of a micro-batch to the next stage.
Transfer stage_send(const Model& model, const Job& job, const Layout& layout);
// Linears of a layer as DeepSpeed's ZeRO-3 gathers them: query, key and value together, projection
// and two of the MLP (Megatron-LM's modules), or each by itself (Hugging Face's gated models).
int linears_of_layer(const Model& model);
// Tells whether each tensor rank sends its piece of it, and what puts the pieces together again.
bool scatters_sends(const Layout& layout);
Transfer received_gather(const Model& model, const Job& job, const Layout& layout);
Volume volume(const Model& model, const Job& job, const Layout& layout);

// The three published orders, as elements moved per batch (b: sequences that one data-parallel rank
// sees in a step), and beside them the exact bytes that one rank of the busiest stage sends on that
// axis in a whole step. The rule of thumb is "TP > DP > PP"; the two booleans say whether the exact
// bytes obey it.
struct PublishedOrders {
  double data_parallel = 0;                        // h^2 * l
  double pipeline_parallel = 0;                    // b * s * h * l / k, k = layers of a stage
  double tensor_parallel = 0;                      // b * s * h * l
  Bytes data_exact, pipeline_exact, tensor_exact;  // sent per rank and step
  bool tensor_exceeds_data = false;
  bool data_exceeds_pipeline = false;
};
PublishedOrders published_orders(const Model& model, const Job& job, const Layout& layout);

}  // namespace meshwright
