// SPDX-License-Identifier: Apache-2.0
// One transformer layer of an inference engine on one tensor rank: attention over a paged cache,
// then an MLP or routed experts. One all-reduce behind each of the two.
#pragma once

#include <optional>
#include <vector>

#include "calibrate/trial/layer/experts.h"
#include "calibrate/trial/layer/mlp.h"
#include "calibrate/trial/layer/norm.h"
#include "calibrate/trial/serving/paged_attention.h"
#include "calibrate/trial/serving/paged_latent_attention.h"

namespace meshwright::calibrate {

class ServingLayer {
 public:
  // index: in the model. cached: among the layers of this rank's cache.
  ServingLayer(const TrialContext& context, ParameterStore& store, int index, int cached);

  [[nodiscard]] PageShape page_shape(int block_size) const {
    return latent_ ? latent_->page_shape(block_size) : attention_->page_shape(block_size);
  }
  [[nodiscard]] Tensor forward(Tensor x, const std::vector<SequenceRows>& sequences,
                               const PagedCache& cache) const;

 private:
  [[nodiscard]] Tensor mlp_forward(const Tensor& x) const;

  const TrialContext& context_;
  std::size_t cached_;
  Norm mlp_norm_;
  std::optional<Mlp> mlp_;  // or the shared expert
  std::optional<Experts> experts_;
  Norm attention_norm_;
  std::optional<PagedAttention> attention_;
  std::optional<PagedLatentAttention> latent_;  // instead
};

}  // namespace meshwright::calibrate
