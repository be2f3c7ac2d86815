// SPDX-License-Identifier: Apache-2.0
// A split backward pass (Qi 2024, arXiv 2401.10241, section 2) defers the GEMMs of weight
// gradients, as DualPipe's WeightGradStore does. Their operands are kept until then: inputs of
// linears, under sequence parallelism a rank's piece of them, and gradients of their outputs.
// Biases, norms and the embedding get their gradients at once.
#pragma once

#include <compare>
#include <map>
#include <vector>

#include "calibrate/trial/layer/product.h"

namespace meshwright::calibrate {

class WeightGradientStore {
 public:
  // A pass of this micro-batch through this chunk of the stage.
  struct Key {
    int chunk = 0, micro_batch = 0;
    auto operator<=>(const Key&) const = default;
  };

  explicit WeightGradientStore(Arena& arena) : arena_(arena) {}

  // Products from now on are put off as this pass's, until close().
  void open(Key key);
  void close() { open_ = nullptr; }
  [[nodiscard]] bool is_open() const { return open_ != nullptr; }
  [[nodiscard]] bool has(Key key) const { return deferred_.contains(key); }
  void defer(const MixedGemmCall& product, const SequencePiece& piece);
  // Runs the products of the pass and gives up what they read.
  void run(Key key, const TrialContext& context);

 private:
  struct Owed {
    MixedGemmCall product;
    SequencePiece piece;
  };

  Arena& arena_;
  std::map<Key, std::vector<Owed>> deferred_;
  std::vector<Owed>* open_ = nullptr;
};

}  // namespace meshwright::calibrate
