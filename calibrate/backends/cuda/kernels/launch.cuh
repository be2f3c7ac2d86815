// SPDX-License-Identifier: Apache-2.0
// How kernels cover arrays. Rows are blockIdx.x (up to 2^31 - 1 of them), columns are chunks of
// kChunk in blockIdx.y, so that no thread divides by a row's length.
#pragma once

#include <cstdint>

#include "calibrate/backends/cuda/check.h"
#include "calibrate/backends/cuda/stream.h"

namespace meshwright::calibrate::cuda {

inline constexpr int kThreads = 256;
inline constexpr std::int64_t kChunk = 4 * kThreads;  // columns that one block of row_chunks covers
inline constexpr std::int64_t kMostBlocks = 1 << 20;

inline std::int64_t blocks_for(std::int64_t count, std::int64_t per_block) {
  return (count + per_block - 1) / per_block;
}

// For `for (i = first_index(); i < count; i += index_step())`.
inline dim3 flat(std::int64_t count) {
  const std::int64_t blocks = blocks_for(count, kThreads);
  return dim3(static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks));
}
inline dim3 row_chunks(std::int64_t rows, std::int64_t cols) {
  return dim3(static_cast<unsigned>(rows), static_cast<unsigned>(blocks_for(cols, kChunk)));
}
inline dim3 one_block_a_row(std::int64_t rows) { return dim3(static_cast<unsigned>(rows)); }

__device__ inline std::int64_t first_index() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t index_step() {
  return static_cast<std::int64_t>(gridDim.x) * blockDim.x;
}

// Calls f(column) for the columns of this block's chunk.
template <typename F>
__device__ void for_columns_of_chunk(std::int64_t cols, const F& f) {
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.y) * kChunk;
  const std::int64_t end = begin + kChunk < cols ? begin + kChunk : cols;
  for (std::int64_t j = begin + threadIdx.x; j < end; j += kThreads) f(j);
}

inline void check_launch() { CUDA_CHECK(cudaGetLastError()); }

}  // namespace meshwright::calibrate::cuda
