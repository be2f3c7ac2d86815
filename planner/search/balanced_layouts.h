// SPDX-License-Identifier: Apache-2.0
// Lists of layers for pipelines whose layers do not divide: few that a search looks at, whose exact
// prices decide.
#pragma once

#include <vector>

#include "sim/base/job.h"
#include "sim/hardware/cluster.h"
#include "sim/layout/pipeline_layout.h"
#include "sim/model/model.h"

namespace meshwright::planner {

// What the parts of a model weigh against one of its last layer's kind.
struct PartWeights {
  double embedding = 0.0;
  double first_layers = 1.0;  // each of the model's num_first_layers
  int num_first_layers = 0;   // that are of another kind
  double mtp = 0.0;           // all of it
  double loss = 0.0;
};
// Their seconds for one micro-batch of one sequence, with experts over as many ranks as there are.
PartWeights time_weights(const Model& model, const Cluster& cluster, const Job& job);

// For each number of chunks a stage up to `most_chunks` that recipes use (1, 2, 4, 8), no list
// twice:
// - alike chunks, the last one and then the first shorter by what embedding and loss weigh
//   ("Et|(tt|)*30mL" of DeepSeek-V3 over 8 stages of 4 chunks);
// - stages that take the same time, each one's layers spread over its chunks;
// - the same where a layer weighs more the more micro-batches a stage holds: twice as much on the
//   first as on a stage that holds none.
std::vector<PipelineLayout> balanced_layouts(const Model& model, const PartWeights& weights,
                                             int stages, int fewest_chunks, int most_chunks);

}  // namespace meshwright::planner
