// SPDX-License-Identifier: Apache-2.0
// RMS norm (Zhang 2019, arXiv 1910.07467), a block a row; epsilon 1e-5 as Megatron's default.
#include "calibrate/backends/cuda/kernels/column_sums.cuh"
#include "calibrate/backends/cuda/kernels/kernels.h"
#include "calibrate/backends/cuda/kernels/pack.cuh"

namespace meshwright::calibrate::cuda {
namespace {

constexpr float kEpsilon = 1e-5F;

__global__ void forward_kernel(Source x, const float* gamma, Sink y, float* rstd, Columns cols) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * cols.count;
  float sum = 0.0F;
  cols.for_packs([&](std::int64_t j) {
    const Pack a = cols.load(x, row, j);
    for (const float v : a.v) sum += v * v;
  });
  const float square = block_reduce(sum, Add{}) / static_cast<float>(cols.count);
  const float r = rsqrtf(square + kEpsilon);
  if (threadIdx.x == 0) rstd[blockIdx.x] = r;
  cols.for_packs([&](std::int64_t j) {
    Pack a = cols.load(x, row, j);
    const Pack g = cols.load(gamma, j);
    for (int k = 0; k < kPack; ++k) a.v[k] *= r * g.v[k];
    cols.store(y, row, j, a);
  });
}

// With xhat = x * rstd and g = dy * gamma: dx = rstd * (g - xhat * average(g * xhat)).
__global__ void backward_kernel(Source dy, Source x, const float* gamma, const float* rstd, Sink dx,
                                Columns cols) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * cols.count;
  const float r = rstd[blockIdx.x];
  float sum = 0.0F;
  cols.for_packs([&](std::int64_t j) {
    const Pack d = cols.load(dy, row, j), a = cols.load(x, row, j), g = cols.load(gamma, j);
    for (int k = 0; k < kPack; ++k) sum += d.v[k] * g.v[k] * a.v[k] * r;
  });
  const float average = block_reduce(sum, Add{}) / static_cast<float>(cols.count);
  cols.for_packs([&](std::int64_t j) {
    Pack d = cols.load(dy, row, j);
    const Pack a = cols.load(x, row, j), g = cols.load(gamma, j);
    for (int k = 0; k < kPack; ++k) d.v[k] = r * (d.v[k] * g.v[k] - a.v[k] * r * average);
    cols.store(dx, row, j, d);
  });
}

struct GammaGradient {
  Source dy, x;
  const float* rstd;
  std::int64_t cols;
  __device__ float operator()(std::int64_t i, std::int64_t j) const {
    return dy[i * cols + j] * x[i * cols + j] * rstd[i];
  }
};

}  // namespace

void CudaKernels::rms_norm_forward(ConstNumbers x, const float* gamma, Numbers y, float* rstd,
                                   std::int64_t rows, std::int64_t cols) {
  if (rows == 0 || cols == 0) return;
  forward_kernel<<<one_block_a_row(rows), kThreads, 0, kStream>>>(
      Source(x), gamma, Sink(y), rstd, Columns::of(cols, x.data, y.data));
  check_launch();
}

// The parameter's gradient first: dx may be dy's memory.
void CudaKernels::rms_norm_backward(ConstNumbers dy, ConstNumbers x, const float* gamma,
                                    const float* rstd, Numbers dx, float* dgamma, std::int64_t rows,
                                    std::int64_t cols) {
  if (rows == 0 || cols == 0) return;
  add_column_sums(GammaGradient{Source(dy), Source(x), rstd, cols}, dgamma, rows, cols);
  backward_kernel<<<one_block_a_row(rows), kThreads, 0, kStream>>>(
      Source(dy), Source(x), gamma, rstd, Sink(dx), Columns::of(cols, dy.data, x.data, dx.data));
  check_launch();
}

}  // namespace meshwright::calibrate::cuda
