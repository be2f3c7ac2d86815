// SPDX-License-Identifier: Apache-2.0
// sums[j] += f(i, j) over all rows i: a tile of kWarp columns times kRowsOfTile rows a block, its
// threads' sums joined in shared memory, one atomic addition a column and block. The order of those
// additions is the device's, so the last bits of a sum may differ from run to run.
#pragma once

#include "calibrate/backends/cuda/kernels/reduce.cuh"

namespace meshwright::calibrate::cuda {

inline constexpr int kRowThreads = kThreads / kWarp;
inline constexpr std::int64_t kRowsOfTile = 256;
inline constexpr std::int64_t kMostRowTiles = 65'535;  // CUDA's limit of gridDim.y

template <typename F>
__global__ void column_sums_kernel(F f, float* sums, std::int64_t rows, std::int64_t cols) {
  __shared__ float partial[kRowThreads][kWarp];
  const std::int64_t j = static_cast<std::int64_t>(blockIdx.x) * kWarp + threadIdx.x;
  float sum = 0.0F;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * kRowThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.y) * kRowThreads + threadIdx.y;
       j < cols && i < rows; i += step) {
    sum += f(i, j);
  }
  partial[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || j >= cols) return;
  for (int row = 1; row < kRowThreads; ++row) sum += partial[row][threadIdx.x];
  atomicAdd(sums + j, sum);
}

template <typename F>
void add_column_sums(F f, float* sums, std::int64_t rows, std::int64_t cols) {
  const std::int64_t tiles = blocks_for(rows, kRowsOfTile);
  const dim3 grid(static_cast<unsigned>(blocks_for(cols, kWarp)),
                  static_cast<unsigned>(tiles < kMostRowTiles ? tiles : kMostRowTiles));
  column_sums_kernel<<<grid, dim3(kWarp, kRowThreads), 0, kStream>>>(f, sums, rows, cols);
  check_launch();
}

}  // namespace meshwright::calibrate::cuda
