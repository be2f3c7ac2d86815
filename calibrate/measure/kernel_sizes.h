// SPDX-License-Identifier: Apache-2.0
// Sizes of the memory-bound kernels of one layer and its head, as one tensor-parallel rank has
// them.
#pragma once

#include <cstdint>

namespace meshwright::calibrate {

struct KernelSizes {
  std::int64_t positions = 256, batch = 2;  // rows = positions * batch
  std::int64_t hidden = 512, ffn = 2048, heads = 8, vocab = 8192;
  bool gated = false;  // the MLP's activation is swiglu, else gelu
  [[nodiscard]] std::int64_t rows() const { return positions * batch; }
  bool operator==(const KernelSizes&) const = default;
};

}  // namespace meshwright::calibrate
