// SPDX-License-Identifier: Apache-2.0
// Layer norm (Ba 2016, arXiv 1607.06450), a row at a time; epsilon 1e-5 as Megatron's default.
#include <cmath>

#include "calibrate/backends/cpu/kernels.h"
#include "calibrate/backends/cpu/wide_numbers.h"

namespace meshwright::calibrate::cpu {
namespace {

constexpr float kLayerNormEpsilon = 1e-5F;

float row_mean(const float* x, std::int64_t cols) {
  float sum = 0.0F;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t j = 0; j < cols; ++j) sum += x[j];
  return sum / static_cast<float>(cols);
}

float row_variance(const float* x, float mean, std::int64_t cols) {
  float sum = 0.0F;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t j = 0; j < cols; ++j) sum += (x[j] - mean) * (x[j] - mean);
  return sum / static_cast<float>(cols);
}

void forward(const float* x, const float* gamma, const float* beta, float* y, float* mean,
             float* rstd, std::int64_t rows, std::int64_t cols) {
  for (std::int64_t i = 0; i < rows; ++i, x += cols, y += cols) {
    const float m = row_mean(x, cols);
    const float r = 1.0F / std::sqrt(row_variance(x, m, cols) + kLayerNormEpsilon);
    mean[i] = m;
    rstd[i] = r;
#pragma omp simd
    for (std::int64_t j = 0; j < cols; ++j) y[j] = (x[j] - m) * r * gamma[j] + beta[j];
  }
}

// With xhat = (x - mean) * rstd and g = dy * gamma:
// dx = rstd * (g - average(g) - xhat * average(g * xhat)).
void backward(const float* dy, const float* x, const float* gamma, const float* mean,
              const float* rstd, float* dx, float* dgamma, float* dbeta, std::int64_t rows,
              std::int64_t cols) {
  const float share = 1.0F / static_cast<float>(cols);
  for (std::int64_t i = 0; i < rows; ++i, dy += cols, x += cols, dx += cols) {
    const float m = mean[i];
    const float r = rstd[i];
    float sum_g = 0.0F;
    float sum_gx = 0.0F;
#pragma omp simd reduction(+ : sum_g, sum_gx)
    for (std::int64_t j = 0; j < cols; ++j) {
      const float g = dy[j] * gamma[j];
      sum_g += g;
      sum_gx += g * (x[j] - m) * r;
    }
#pragma omp simd
    for (std::int64_t j = 0; j < cols; ++j) {
      const float xhat = (x[j] - m) * r;
      dgamma[j] += dy[j] * xhat;
      dbeta[j] += dy[j];
      dx[j] = r * (dy[j] * gamma[j] - share * sum_g - xhat * share * sum_gx);
    }
  }
}

}  // namespace

void CpuKernels::layer_norm_forward(ConstNumbers x, const float* gamma, const float* beta,
                                    Numbers y, float* mean, float* rstd, std::int64_t rows,
                                    std::int64_t cols) {
  const WideSource from(*this, x, rows * cols);
  const WideResult to(*this, y, rows * cols);
  forward(from.data(), gamma, beta, to.data(), mean, rstd, rows, cols);
}

void CpuKernels::layer_norm_backward(ConstNumbers dy, ConstNumbers x, const float* gamma,
                                     const float* mean, const float* rstd, Numbers dx,
                                     float* dgamma, float* dbeta, std::int64_t rows,
                                     std::int64_t cols) {
  const WideSource gradient(*this, dy, rows * cols), input(*this, x, rows * cols);
  const WideResult to(*this, dx, rows * cols);
  backward(gradient.data(), input.data(), gamma, mean, rstd, to.data(), dgamma, dbeta, rows, cols);
}

}  // namespace meshwright::calibrate::cpu
