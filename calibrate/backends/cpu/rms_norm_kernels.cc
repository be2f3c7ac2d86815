// SPDX-License-Identifier: Apache-2.0
// RMS norm (Zhang 2019, arXiv 1910.07467), a row at a time; epsilon 1e-5 as Megatron's default.
#include <cmath>

#include "calibrate/backends/cpu/kernels.h"
#include "calibrate/backends/cpu/wide_numbers.h"

namespace meshwright::calibrate::cpu {
namespace {

constexpr float kRmsNormEpsilon = 1e-5F;

void forward(const float* x, const float* gamma, float* y, float* rstd, std::int64_t rows,
             std::int64_t cols) {
  for (std::int64_t i = 0; i < rows; ++i, x += cols, y += cols) {
    float sum = 0.0F;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = 0; j < cols; ++j) sum += x[j] * x[j];
    const float r = 1.0F / std::sqrt(sum / static_cast<float>(cols) + kRmsNormEpsilon);
    rstd[i] = r;
#pragma omp simd
    for (std::int64_t j = 0; j < cols; ++j) y[j] = x[j] * r * gamma[j];
  }
}

// With xhat = x * rstd and g = dy * gamma: dx = rstd * (g - xhat * average(g * xhat)).
void backward(const float* dy, const float* x, const float* gamma, const float* rstd, float* dx,
              float* dgamma, std::int64_t rows, std::int64_t cols) {
  const float share = 1.0F / static_cast<float>(cols);
  for (std::int64_t i = 0; i < rows; ++i, dy += cols, x += cols, dx += cols) {
    const float r = rstd[i];
    float sum = 0.0F;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = 0; j < cols; ++j) sum += dy[j] * gamma[j] * x[j] * r;
#pragma omp simd
    for (std::int64_t j = 0; j < cols; ++j) {
      const float xhat = x[j] * r;
      dgamma[j] += dy[j] * xhat;
      dx[j] = r * (dy[j] * gamma[j] - xhat * share * sum);
    }
  }
}

}  // namespace

void CpuKernels::rms_norm_forward(ConstNumbers x, const float* gamma, Numbers y, float* rstd,
                                  std::int64_t rows, std::int64_t cols) {
  const WideSource from(*this, x, rows * cols);
  const WideResult to(*this, y, rows * cols);
  forward(from.data(), gamma, to.data(), rstd, rows, cols);
}

void CpuKernels::rms_norm_backward(ConstNumbers dy, ConstNumbers x, const float* gamma,
                                   const float* rstd, Numbers dx, float* dgamma, std::int64_t rows,
                                   std::int64_t cols) {
  const WideSource gradient(*this, dy, rows * cols), input(*this, x, rows * cols);
  const WideResult to(*this, dx, rows * cols);
  backward(gradient.data(), input.data(), gamma, rstd, to.data(), dgamma, rows, cols);
}

}  // namespace meshwright::calibrate::cpu
