// SPDX-License-Identifier: Apache-2.0
// Reductions over one block of kThreads threads: warp shuffles, then one warp over the warps'
// results. Every thread gets the result; every thread of the block must call.
#pragma once

#include "calibrate/backends/cuda/kernels/launch.cuh"

namespace meshwright::calibrate::cuda {

inline constexpr int kWarp = 32;
inline constexpr unsigned kWholeWarp = 0xFFFFFFFFU;

struct Add {
  static constexpr float kNeutral = 0.0F;
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Max {
  static constexpr float kNeutral = -INFINITY;
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

template <typename Op>
__device__ float warp_reduce(float value, Op op) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    value = op(value, __shfl_xor_sync(kWholeWarp, value, offset));
  }
  return value;
}

template <typename Op>
__device__ float block_reduce(float value, Op op) {
  __shared__ float of_warp[kThreads / kWarp];
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  value = warp_reduce(value, op);
  __syncthreads();  // a reduction before this one may still be reading of_warp
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  return warp_reduce(lane < kThreads / kWarp ? of_warp[lane] : Op::kNeutral, op);
}

// f(j) over the columns j of a row, reduced over the block.
template <typename Op, typename F>
__device__ float reduce_row(std::int64_t cols, Op op, const F& f) {
  float value = Op::kNeutral;
  for (std::int64_t j = threadIdx.x; j < cols; j += kThreads) value = op(value, f(j));
  return block_reduce(value, op);
}

}  // namespace meshwright::calibrate::cuda
