// SPDX-License-Identifier: Apache-2.0
// The rows of a question: clusters, GPU counts and global batches, each with the best layout.
//
// Where the batch follows, a count is judged with the stated batch or with a multiple near it that
// data-parallel ranks of the count divide better. A question that refines also has counts between
// one that misses the deadline and one that keeps it, until they are one node or 2 % apart. With a
// budget and no deadline the counts lie between one within it and one above it.
#pragma once

#include <vector>

#include "planner/capacity/capacity_study.h"

namespace meshwright::planner {

std::vector<RowKey> grid_of(const CapacityQuestion& question);

// The stated batch, and the nearest multiples of the count's odd part times 1, 2, 4, ... that
// divide the count; the nearest first, an eighth away at most.
std::vector<int> batches_near(int stated, int gpus);
// The key with one of those: the nearest of which no other ends the training 1 % earlier.
RowKey with_suited_batch(const CapacityQuestion& question, RowKey key, LayoutFinder& finder);

// In the order of clusters, batches and GPUs.
std::vector<CapacityRow> capacity_rows(const CapacityQuestion& question, LayoutFinder& finder,
                                       const CapacityProgress& progress = {});

}  // namespace meshwright::planner
