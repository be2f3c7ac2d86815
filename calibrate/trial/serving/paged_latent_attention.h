// SPDX-License-Identifier: Apache-2.0
// Multi-latent attention (DeepSeek-V2, arXiv 2405.04434, 2.1) of a tensor rank's heads over a paged
// cache of latents, which every tensor rank holds whole. Keys and values are never made: the key's
// up projection is applied to queries, and the value's to what attention puts out (absorbed, as
// engines decode: vLLM v1/attention/backends/mla).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/trial/layer/linear.h"
#include "calibrate/trial/layer/norm.h"
#include "calibrate/trial/serving/paged_cache.h"

namespace meshwright::calibrate {

// A rank's heads, and how wide their parts are.
struct LatentHeads {
  std::int64_t heads = 1;
  std::int64_t rank = 1;    // of a latent
  std::int64_t plain = 1;   // of a key that the up projection makes
  std::int64_t turned = 1;  // of a rotary key
  std::int64_t value = 1;
  std::int64_t window = 0;              // positions that a query sees; 0: all before it
  const float* key_value_up = nullptr;  // rank x (heads * (plain + value))
  [[nodiscard]] std::int64_t key_width() const { return plain + turned; }
};
struct LatentRows {
  const Tensor& query;       // rows x (heads * key width), rotated
  const Tensor& latent;      // rows x rank, normed
  const Tensor& rotary_key;  // rows x turned, rotated
};

// Caches the new rows of all sequences of a pass, and lets each attend to what it has: rows x
// (heads * value). The sequences' rows are all rows of the pass.
Tensor attend_latents(const TrialContext& context, const LatentHeads& shape, const LatentRows& rows,
                      const std::vector<SequenceRows>& sequences, const PagedCache& cache,
                      std::size_t layer);

class PagedLatentAttention {
 public:
  PagedLatentAttention(const TrialContext& context, ParameterStore& store, const std::string& name,
                       std::int64_t window);

  [[nodiscard]] PageShape page_shape(int block_size) const;
  // x: rows x hidden. The sequences' rows are all rows of x.
  [[nodiscard]] Tensor forward(const Tensor& x, const std::vector<SequenceRows>& sequences,
                               const PagedCache& cache, std::size_t layer) const;

 private:
  [[nodiscard]] Tensor query_of(const Tensor& x) const;
  // Columns from `at` on of each of `rows` rows, without gaps.
  [[nodiscard]] Tensor columns(const float* from, std::int64_t stride, std::int64_t rows,
                               std::int64_t cols) const;
  // The last columns of `rows` x `groups` vectors of `width`.
  void rotate(const Tensor& x, std::int64_t groups, std::int64_t width) const;

  const TrialContext& context_;
  const LatentAttention& mla_;
  std::int64_t heads_, key_width_, window_;
  ColumnParallelLinear query_up_;
  Parameter& key_value_down_;
  Norm key_value_norm_;
  Parameter& key_value_up_;
  RowParallelLinear projection_;
  Parameter* query_down_ = nullptr;
  std::optional<Norm> query_norm_;
};

}  // namespace meshwright::calibrate
