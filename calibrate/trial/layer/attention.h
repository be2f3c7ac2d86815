// SPDX-License-Identifier: Apache-2.0
// Causal attention of a tensor rank's heads: qkv, core attention, projection. One entry here for
// each of sim/operators/attention.cc.
#pragma once

#include <string>

#include "calibrate/trial/layer/core_attention.h"
#include "calibrate/trial/layer/key_value_cache.h"
#include "calibrate/trial/layer/product.h"
#include "calibrate/trial/layer/query_key_value.h"

namespace meshwright::calibrate {

struct AttentionSaved {
  HeadNormsSaved norms;
  Tensor heads;  // q, k and v by heads; of the rank's own positions
  CoreSaved core;
  Tensor merged;  // the projection's input
};

// A logit for each head of this rank, where the model has them; else null.
const Parameter* attention_sinks(const TrialContext& context, ParameterStore& store,
                                 const std::string& name);

class Attention {
 public:
  // window: positions that a query sees; 0: all before it.
  Attention(const TrialContext& context, ParameterStore& store, const std::string& name,
            std::int64_t window);

  [[nodiscard]] Tensor forward(const Tensor& x, AttentionSaved& saved, Phase phase) const;
  [[nodiscard]] Tensor backward(const Tensor& dy, const Tensor& x, AttentionSaved& saved) const;

  // Inference: the context's positions attend to the cached ones and to themselves, and are cached.
  [[nodiscard]] KeyValueCache make_cache(std::int64_t capacity) const;
  [[nodiscard]] Tensor forward_cached(const Tensor& x, KeyValueCache& cache) const;

 private:
  // First number of the heads' keys and values.
  [[nodiscard]] float* keys(const Tensor& heads) const;
  [[nodiscard]] float* values(const Tensor& heads) const;
  [[nodiscard]] std::int64_t query_rows() const;  // of one group and sequence
  void multiply_blocks(MixedGemmCall call) const;
  void store(const Tensor& heads, KeyValueCache& cache) const;
  [[nodiscard]] Tensor attend(const Tensor& heads, const KeyValueCache& cache) const;
  [[nodiscard]] Tensor merged(const Tensor& by_heads) const;

  const TrialContext& context_;
  QueryKeyValue qkv_;
  CoreAttention core_;
  RowParallelLinear projection_;
};

}  // namespace meshwright::calibrate
