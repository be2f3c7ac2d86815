// SPDX-License-Identifier: Apache-2.0
// Fused attention by cuDNN's graph API (attention_graph.h), with one plan a shape. The first engine
// of the heuristic whose plan the device accepts is kept.
//
// Not yet run on a device: the graphs are accepted by cuDNN 9.19's heuristic for sm_80, sm_90 and
// sm_100, and no time of a GPU stands behind them. The import of other tools' times stays the main
// way.
#pragma once

#include <memory>
#include <string>

#include "calibrate/backends/library_kernels.h"

namespace meshwright::calibrate::cuda {

class FusedAttention {
 public:
  FusedAttention() = default;
  FusedAttention(const FusedAttention&) = delete;
  FusedAttention& operator=(const FusedAttention&) = delete;
  virtual ~FusedAttention() = default;

  // Makes the plan of this shape. Empty where there is one, else the reason.
  [[nodiscard]] virtual std::string why_not(const AttentionCall& call) = 0;
  // Throws UnsupportedCall where there is no plan.
  virtual void run(const AttentionCall& call) = 0;
};

// Never null: without cuDNN it answers why_not() alone.
std::unique_ptr<FusedAttention> make_fused_attention();

// cuDNN's version as 91900, empty where it is not there.
std::string cudnn_version();

}  // namespace meshwright::calibrate::cuda
