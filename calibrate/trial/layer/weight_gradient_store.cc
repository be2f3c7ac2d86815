// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/layer/weight_gradient_store.h"

#include "sim/base/error.h"

namespace meshwright::calibrate {

void WeightGradientStore::open(Key key) {
  const auto [found, is_new] = deferred_.try_emplace(key);
  invariant(is_new, "a micro-batch goes back through a chunk once");
  open_ = &found->second;
}

void WeightGradientStore::defer(const MixedGemmCall& product, const SequencePiece& piece) {
  arena_.hold(product.a);
  arena_.hold(product.b);
  open_->push_back({product, piece});
}

void WeightGradientStore::run(Key key, const TrialContext& context) {
  const auto found = deferred_.find(key);
  invariant(found != deferred_.end(), "weight gradients come after the input's");
  for (const auto& [product, piece] : found->second) {
    multiply_gathered(context, product, piece);
    arena_.let_go(product.a);
    arena_.let_go(product.b);
  }
  deferred_.erase(found);
}

}  // namespace meshwright::calibrate
