// SPDX-License-Identifier: Apache-2.0
// Causal attention of a tensor rank's heads over a paged cache: each sequence of a pass attends to
// what it has cached and to its new rows, and caches these. A pass has rows of many sequences:
// those that decode have one, a prompt has a chunk.
#pragma once

#include <string>
#include <vector>

#include "calibrate/trial/layer/linear.h"
#include "calibrate/trial/layer/query_key_value.h"
#include "calibrate/trial/serving/paged_cache.h"

namespace meshwright::calibrate {

// Keys are taken by so many: libraries prepare every new size of a product (attention.cc).
inline constexpr std::int64_t kPagedKeys = 64;
constexpr std::int64_t paged_keys(std::int64_t seen) {
  return (seen + kPagedKeys - 1) / kPagedKeys * kPagedKeys;
}

// A rank's heads as the projection of a pass leaves them (query_key_value.h): of each group its
// queries, a key and a value, (rows of the pass, width) each.
struct PagedHeads {
  std::int64_t groups = 1, queries = 1, width = 1;
  std::int64_t window = 0;  // positions that a query sees; 0: all before it
  const float* sinks = nullptr;
};

// Caches the new rows of all sequences of a pass, and lets each attend to what it has: rows x
// (groups * queries * width). The sequences' rows are all rows of the pass, context.positions.
Tensor attend_pages(const TrialContext& context, const PagedHeads& shape, const Tensor& heads,
                    const std::vector<SequenceRows>& sequences, const PagedCache& cache,
                    std::size_t layer);

class PagedAttention {
 public:
  // window: positions that a query sees; 0: all before it.
  PagedAttention(const TrialContext& context, ParameterStore& store, const std::string& name,
                 std::int64_t window);

  [[nodiscard]] PageShape page_shape(int block_size) const;
  // x: rows x hidden. The sequences' rows are all rows of x.
  [[nodiscard]] Tensor forward(const Tensor& x, const std::vector<SequenceRows>& sequences,
                               const PagedCache& cache, std::size_t layer) const;

 private:
  const TrialContext& context_;
  QueryKeyValue qkv_;
  std::int64_t window_;
  const Parameter* sinks_;
  RowParallelLinear projection_;
};

}  // namespace meshwright::calibrate
