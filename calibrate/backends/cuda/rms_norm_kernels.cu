// SPDX-License-Identifier: Apache-2.0
// RMS norm (Zhang 2019, arXiv 1910.07467), a block a row; epsilon 1e-5 as Megatron's default.
#include "calibrate/backends/cuda/column_sums.cuh"
#include "calibrate/backends/cuda/kernels.h"

namespace meshwright::calibrate::cuda {
namespace {

constexpr float kEpsilon = 1e-5F;

__global__ void forward_kernel(const float* x, const float* gamma, float* y, float* rstd,
                               std::int64_t cols) {
  const std::int64_t row = blockIdx.x;
  x += row * cols;
  y += row * cols;
  const float share = 1.0F / static_cast<float>(cols);
  const float square = share * reduce_row(cols, Add{}, [=](std::int64_t j) { return x[j] * x[j]; });
  const float r = rsqrtf(square + kEpsilon);
  if (threadIdx.x == 0) rstd[row] = r;
  for (std::int64_t j = threadIdx.x; j < cols; j += kThreads) y[j] = x[j] * r * gamma[j];
}

// With xhat = x * rstd and g = dy * gamma: dx = rstd * (g - xhat * average(g * xhat)).
__global__ void backward_kernel(const float* dy, const float* x, const float* gamma,
                                const float* rstd, float* dx, std::int64_t cols) {
  const std::int64_t row = blockIdx.x;
  dy += row * cols;
  x += row * cols;
  dx += row * cols;
  const float r = rstd[row];
  const float share = 1.0F / static_cast<float>(cols);
  const float average =
      share * reduce_row(cols, Add{}, [=](std::int64_t j) { return dy[j] * gamma[j] * x[j] * r; });
  for (std::int64_t j = threadIdx.x; j < cols; j += kThreads) {
    dx[j] = r * (dy[j] * gamma[j] - x[j] * r * average);
  }
}

struct GammaGradient {
  const float *dy, *x, *rstd;
  std::int64_t cols;
  __device__ float operator()(std::int64_t i, std::int64_t j) const {
    return dy[i * cols + j] * x[i * cols + j] * rstd[i];
  }
};

}  // namespace

void CudaKernels::rms_norm_forward(const float* x, const float* gamma, float* y, float* rstd,
                                   std::int64_t rows, std::int64_t cols) {
  if (rows == 0 || cols == 0) return;
  forward_kernel<<<one_block_a_row(rows), kThreads, 0, kStream>>>(x, gamma, y, rstd, cols);
  check_launch();
}

// The parameter's gradient first: dx may be dy's memory.
void CudaKernels::rms_norm_backward(const float* dy, const float* x, const float* gamma,
                                    const float* rstd, float* dx, float* dgamma, std::int64_t rows,
                                    std::int64_t cols) {
  if (rows == 0 || cols == 0) return;
  add_column_sums(GammaGradient{dy, x, rstd, cols}, dgamma, rows, cols);
  backward_kernel<<<one_block_a_row(rows), kThreads, 0, kStream>>>(dy, x, gamma, rstd, dx, cols);
  check_launch();
}

}  // namespace meshwright::calibrate::cuda
