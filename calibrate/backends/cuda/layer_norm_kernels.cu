// SPDX-License-Identifier: Apache-2.0
// Layer norm (Ba 2016, arXiv 1607.06450), a block a row; epsilon 1e-5 as Megatron's default.
#include "calibrate/backends/cuda/column_sums.cuh"
#include "calibrate/backends/cuda/kernels.h"

namespace meshwright::calibrate::cuda {
namespace {

constexpr float kEpsilon = 1e-5F;

__global__ void forward_kernel(const float* x, const float* gamma, const float* beta, float* y,
                               float* mean, float* rstd, std::int64_t cols) {
  const std::int64_t row = blockIdx.x;
  x += row * cols;
  y += row * cols;
  const float share = 1.0F / static_cast<float>(cols);
  const float m = share * reduce_row(cols, Add{}, [=](std::int64_t j) { return x[j]; });
  const float variance =
      share * reduce_row(cols, Add{}, [=](std::int64_t j) { return (x[j] - m) * (x[j] - m); });
  const float r = rsqrtf(variance + kEpsilon);
  if (threadIdx.x == 0) {
    mean[row] = m;
    rstd[row] = r;
  }
  for (std::int64_t j = threadIdx.x; j < cols; j += kThreads) {
    y[j] = (x[j] - m) * r * gamma[j] + beta[j];
  }
}

// With xhat = (x - mean) * rstd and g = dy * gamma:
// dx = rstd * (g - average(g) - xhat * average(g * xhat)).
__global__ void backward_kernel(const float* dy, const float* x, const float* gamma,
                                const float* mean, const float* rstd, float* dx,
                                std::int64_t cols) {
  const std::int64_t row = blockIdx.x;
  dy += row * cols;
  x += row * cols;
  dx += row * cols;
  const float m = mean[row];
  const float r = rstd[row];
  const float share = 1.0F / static_cast<float>(cols);
  const float average_g =
      share * reduce_row(cols, Add{}, [=](std::int64_t j) { return dy[j] * gamma[j]; });
  const float average_gx = share * reduce_row(cols, Add{}, [=](std::int64_t j) {
                             return dy[j] * gamma[j] * (x[j] - m) * r;
                           });
  for (std::int64_t j = threadIdx.x; j < cols; j += kThreads) {
    dx[j] = r * (dy[j] * gamma[j] - average_g - (x[j] - m) * r * average_gx);
  }
}

struct GammaGradient {
  const float *dy, *x, *mean, *rstd;
  std::int64_t cols;
  __device__ float operator()(std::int64_t i, std::int64_t j) const {
    return dy[i * cols + j] * (x[i * cols + j] - mean[i]) * rstd[i];
  }
};

}  // namespace

void CudaKernels::layer_norm_forward(const float* x, const float* gamma, const float* beta,
                                     float* y, float* mean, float* rstd, std::int64_t rows,
                                     std::int64_t cols) {
  if (rows == 0 || cols == 0) return;
  forward_kernel<<<one_block_a_row(rows), kThreads, 0, kStream>>>(x, gamma, beta, y, mean, rstd,
                                                                  cols);
  check_launch();
}

// The parameters' gradients first: dx may be dy's memory.
void CudaKernels::layer_norm_backward(const float* dy, const float* x, const float* gamma,
                                      const float* mean, const float* rstd, float* dx,
                                      float* dgamma, float* dbeta, std::int64_t rows,
                                      std::int64_t cols) {
  if (rows == 0 || cols == 0) return;
  add_column_sums(GammaGradient{dy, x, mean, rstd, cols}, dgamma, rows, cols);
  bias_backward(dy, dbeta, rows, cols);
  backward_kernel<<<one_block_a_row(rows), kThreads, 0, kStream>>>(dy, x, gamma, mean, rstd, dx,
                                                                   cols);
  check_launch();
}

}  // namespace meshwright::calibrate::cuda
