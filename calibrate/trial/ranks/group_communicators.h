// SPDX-License-Identifier: Apache-2.0
// The communicators of a layout's groups. Each takes memory of a GPU: groups of the same ranks in
// the same order share one, and a group of one rank has none.
#pragma once

#include <memory>
#include <vector>

#include "calibrate/backends/communicator.h"
#include "calibrate/backends/compute.h"
#include "sim/layout/layout.h"

namespace meshwright::calibrate {

// Null: this rank is alone in the group.
using SharedCommunicator = std::shared_ptr<Communicator>;

struct GroupCommunicators {
  // Collective over `ranks`, exactly world_size(layout) of them.
  GroupCommunicators(const Layout& layout, Communicator& ranks);

  // Makes one small call of each, at which NCCL takes the memory of its buffers. Collective.
  void connect(Compute& compute) const;

  SharedCommunicator tensor, context, data, pipeline;
  // The stages once more, for gradients, which do not queue behind activations; null where a send
  // starts only together with a receive: in two groups it would never start.
  SharedCommunicator pipeline_backward;
  SharedCommunicator embedding, mirrored;
  SharedCommunicator expert, expert_tensor, expert_data;
  SharedCommunicator data_shard, data_copies, expert_data_shard, expert_data_copies;

  std::vector<SharedCommunicator> all;  // of this rank, each once
};

}  // namespace meshwright::calibrate
