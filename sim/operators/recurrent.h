// SPDX-License-Identifier: Apache-2.0
// The scan of a recurrent mixer, which differs from kind to kind.
#pragma once

#include "sim/block/recurrent.h"
#include "sim/operators/builders.h"

namespace meshwright {

inline constexpr double kFp32Bytes = 4.0;
inline constexpr double kDeltaChunk = 64.0;  // tokens that a delta rule works on together

// Of one token and all heads of a layer.
struct ScanWork {
  std::string_view kernel;
  double flops = 0;
  double bytes = 0;  // read and written, forward
  double saved = 0;  // by fused kernels, beside the convolution's and the norm's inputs
  // Fused kernels keep what enters the convolution and what leaves it; else the first alone.
  bool keeps_convolution = true;
  int launches = 1;
  // What transformers' own code keeps of a mixer: of a token, and once a sequence. The norm in
  // front of the mixer is not in it.
  double torch_token = 0, torch_sequence = 0;
};

// In sequences of `positions` tokens; `width`: bytes of a stored number.
ScanWork scan_work(const Model& model, double width, double positions);

ScanWork delta_net_scan(const DeltaNet& net, double width);
ScanWork state_space_scan(const Model& model, double width, double positions);
ScanWork selective_scan_work(const SelectiveScan& scan, double width);
ScanWork kimi_delta_scan(const KimiDelta& kda, double width);
ScanWork short_convolution_scan(const Model& model, double width);
ScanWork lightning_scan(const Lightning& lightning, double width, double positions);

}  // namespace meshwright
