// SPDX-License-Identifier: Apache-2.0
// Lists of layers for pipelines whose layers do not divide: few that a search looks at, whose exact
// prices decide.
#pragma once

#include <vector>

#include "sim/layout/pipeline_layout.h"
#include "sim/model/model.h"
#include "sim/step/scenario.h"

namespace meshwright::planner {

// Cost of the parts of a model, relative to a layer of the last kind.
struct PartWeights {
  double embedding = 0.0;
  double first_layers = 1.0;  // each of the model's num_first_layers
  int num_first_layers = 0;   // layers at the start that are of another kind
  double mtp = 0.0;           // all of it
  double loss = 0.0;
};
// Their seconds for one micro-batch of one sequence, with experts over as many ranks as there are.
PartWeights time_weights(const Scenario& scenario);

// For each number of chunks a stage that recipes use (1, 2, 4), from `fewest_chunks` on, no list
// twice:
// - alike chunks, the last one and then the first shorter by what embedding and loss weigh
//   ("Et|(tt|)*30mL" of DeepSeek-V3 over 8 stages of 4 chunks);
// - stages that take the same time, each one's layers spread over its chunks;
// - with one chunk a stage, where the first holds the most micro-batches by far, the same with
//   layers that weigh more the more of them a stage holds: twice as much on the first as on one
//   that holds none.
// Measured on DeepSeek-V3 and Kimi K2 over 256 to 1,024 H100 and GB200: 8 chunks gained no more
// than 0.1 %, and lists balanced by memory with several chunks lost 3 % and more.
std::vector<PipelineLayout> balanced_layouts(const Model& model, const PartWeights& weights,
                                             int stages, int fewest_chunks = 1);

}  // namespace meshwright::planner
