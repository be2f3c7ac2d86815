// SPDX-License-Identifier: Apache-2.0
// Scores, softmax and context of this rank's heads, through memory (no fused kernel), with what
// context parallelism exchanges for them. The queries of a group are one matrix against the group's
// key and value.
#pragma once

#include <optional>

#include "calibrate/trial/ranks/context_exchange.h"
#include "calibrate/trial/states/parameters.h"

namespace meshwright::calibrate {

// 1 / sqrt(width of a head's keys), by which scores are multiplied before the softmax.
float score_scale(std::int64_t width);

struct CoreSaved {
  Tensor probabilities;  // (blocks, queries, own positions, keys); empty where they are recomputed
  Tensor heads;          // of all positions, where these were exchanged for heads
};

class CoreAttention {
 public:
  // window: positions that a query sees, itself included; 0: all before it. sinks: one learned
  // logit a head of this rank; null: none.
  CoreAttention(const TrialContext& context, const HeadShape& shape, std::int64_t window,
                const Parameter* sinks = nullptr);

  // (blocks, queries, positions, value_width) from the heads. Context ranks that exchange heads
  // keep these in `saved` and need no others for backward.
  [[nodiscard]] Tensor forward(const Tensor& heads, CoreSaved& saved, Phase phase) const;
  // The gradient of the heads.
  [[nodiscard]] Tensor backward(const Tensor& dout, const Tensor& heads, CoreSaved& saved) const;
  [[nodiscard]] std::int64_t window() const { return window_; }
  [[nodiscard]] bool exchanges_heads() const;
  // Sinks of the heads whose scores are on this rank.
  [[nodiscard]] AttentionSinks sinks() const;

 private:
  // Queries against keys and values, block by block.
  struct View {
    std::int64_t blocks, query_positions, key_positions;
    Numbers queries, keys, values;
    std::int64_t query_stride, key_stride, value_stride;
  };
  [[nodiscard]] std::int64_t rows(const View& v) const {
    return shape_.queries * v.query_positions;
  }
  // Among the rank's sinks, of the first head whose scores are here.
  [[nodiscard]] std::int64_t first_sink() const;
  [[nodiscard]] View square(Numbers heads) const;
  [[nodiscard]] View against(Numbers heads, Numbers keys) const;
  [[nodiscard]] Tensor probabilities(const View& v) const;
  [[nodiscard]] Tensor context(const View& v, const Tensor& probabilities) const;
  // d: where the gradients go, fp32.
  void gradient(const View& v, const View& d, const Tensor& dout,
                const Tensor& probabilities) const;
  [[nodiscard]] Tensor ring_backward(const Tensor& dout, const Tensor& heads,
                                     const CoreSaved& saved) const;

  const TrialContext& context_;
  HeadShape shape_;
  std::int64_t window_;
  const Parameter* sinks_;
  std::optional<ContextExchange> exchange_;
};

}  // namespace meshwright::calibrate
