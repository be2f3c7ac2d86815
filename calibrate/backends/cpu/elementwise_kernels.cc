// SPDX-License-Identifier: Apache-2.0
// Activations, biases, sums, number formats and the optimizer.
#include <algorithm>
#include <cmath>

#include "calibrate/backends/bf16.h"
#include "calibrate/backends/cpu/fast_math.h"
#include "calibrate/backends/cpu/kernels.h"
#include "calibrate/backends/cpu/wide_numbers.h"
#include "sim/base/error.h"

namespace meshwright::calibrate::cpu {
namespace {

// gelu(v) ~ v/2 (1 + tanh u), u = sqrt(2/pi) (v + 0.044715 v^3) (Hendrycks 2016, arXiv 1606.08415);
// (1 + tanh u)/2 is the logistic function of 2u.
constexpr float kTwoSqrtTwoOverPi = 1.59576912F;
constexpr float kCubic = 0.044715F;

inline float gelu(float v) {
  return v * fast_logistic(kTwoSqrtTwoOverPi * v * (1.0F + kCubic * v * v));
}

inline float gelu_derivative(float v) {
  const float s = fast_logistic(kTwoSqrtTwoOverPi * v * (1.0F + kCubic * v * v));
  return s + v * s * (1.0F - s) * kTwoSqrtTwoOverPi * (1.0F + 3.0F * kCubic * v * v);
}

// silu(v) = v * logistic(v) (Shazeer 2020, arXiv 2002.05202, for its use as a gate).
inline float silu(float v) { return v * fast_logistic(v); }
inline float silu_derivative(float v) {
  const float s = fast_logistic(v);
  return s + v * s * (1.0F - s);
}

inline float relu(float v) { return v > 0.0F ? v : 0.0F; }
inline float relu_derivative(float v) { return v > 0.0F ? 1.0F : 0.0F; }

// sums += the column sums of x.
void add_column_sums(const float* x, float* sums, std::int64_t rows, std::int64_t cols) {
  for (std::int64_t i = 0; i < rows; ++i, x += cols) {
#pragma omp simd
    for (std::int64_t j = 0; j < cols; ++j) sums[j] += x[j];
  }
}

template <float (*F)(float)>
void bias_activation_forward(const float* x, const float* bias, float* y, std::int64_t rows,
                             std::int64_t cols) {
  for (std::int64_t i = 0; i < rows; ++i, x += cols, y += cols) {
    if (bias == nullptr) {
#pragma omp simd
      for (std::int64_t j = 0; j < cols; ++j) y[j] = F(x[j]);
    } else {
#pragma omp simd
      for (std::int64_t j = 0; j < cols; ++j) y[j] = F(x[j] + bias[j]);
    }
  }
}

template <float (*Derivative)(float)>
void bias_activation_backward(const float* dy, const float* x, const float* bias, float* dx,
                              float* dbias, std::int64_t rows, std::int64_t cols) {
  const float* first_dx = dx;
  for (std::int64_t i = 0; i < rows; ++i, dy += cols, x += cols, dx += cols) {
    if (bias == nullptr) {
#pragma omp simd
      for (std::int64_t j = 0; j < cols; ++j) dx[j] = dy[j] * Derivative(x[j]);
    } else {
#pragma omp simd
      for (std::int64_t j = 0; j < cols; ++j) dx[j] = dy[j] * Derivative(x[j] + bias[j]);
    }
  }
  if (dbias != nullptr) add_column_sums(first_dx, dbias, rows, cols);
}

// One row of a gated activation; a null bias is skipped.
template <float (*F)(float), bool Biased>
void gated_row(const float* x, const float* bias, float* y, std::int64_t cols) {
#pragma omp simd
  for (std::int64_t j = 0; j < cols; ++j) {
    const float gate = x[j] + (Biased ? bias[j] : 0.0F);
    const float value = x[cols + j] + (Biased ? bias[cols + j] : 0.0F);
    y[j] = F(gate) * value;
  }
}

template <float (*F)(float)>
void gated_forward(const float* x, const float* bias, float* y, std::int64_t rows,
                   std::int64_t cols) {
  for (std::int64_t i = 0; i < rows; ++i, x += 2 * cols, y += cols) {
    if (bias == nullptr) {
      gated_row<F, false>(x, nullptr, y, cols);
    } else {
      gated_row<F, true>(x, bias, y, cols);
    }
  }
}

template <float (*F)(float), float (*Derivative)(float), bool Biased>
void gated_gradient_row(const float* dy, const float* x, const float* bias, float* dx,
                        std::int64_t cols) {
#pragma omp simd
  for (std::int64_t j = 0; j < cols; ++j) {
    const float gate = x[j] + (Biased ? bias[j] : 0.0F);
    const float value = x[cols + j] + (Biased ? bias[cols + j] : 0.0F);
    dx[j] = dy[j] * value * Derivative(gate);
    dx[cols + j] = dy[j] * F(gate);
  }
}

template <float (*F)(float), float (*Derivative)(float)>
void gated_backward(const float* dy, const float* x, const float* bias, float* dx, float* dbias,
                    std::int64_t rows, std::int64_t cols) {
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t at = 2 * i * cols;
    if (bias == nullptr) {
      gated_gradient_row<F, Derivative, false>(dy + i * cols, x + at, nullptr, dx + at, cols);
    } else {
      gated_gradient_row<F, Derivative, true>(dy + i * cols, x + at, bias, dx + at, cols);
    }
  }
  if (dbias != nullptr) add_column_sums(dx, dbias, rows, 2 * cols);
}

void only_bf16(Precision precision) {
  invariant(precision == Precision::bf16, "the cpu backend converts to fp32 and bf16 only");
}

}  // namespace

void CpuKernels::bias_swiglu_forward(ConstNumbers x, const float* bias, Numbers y,
                                     std::int64_t rows, std::int64_t cols) {
  const WideSource from(*this, x, 2 * rows * cols);
  const WideResult to(*this, y, rows * cols);
  gated_forward<silu>(from.data(), bias, to.data(), rows, cols);
}

void CpuKernels::bias_swiglu_backward(ConstNumbers dy, ConstNumbers x, const float* bias,
                                      Numbers dx, float* dbias, std::int64_t rows,
                                      std::int64_t cols) {
  const WideSource gradient(*this, dy, rows * cols), input(*this, x, 2 * rows * cols);
  const WideResult to(*this, dx, 2 * rows * cols);
  gated_backward<silu, silu_derivative>(gradient.data(), input.data(), bias, to.data(), dbias, rows,
                                        cols);
}

void CpuKernels::bias_geglu_forward(ConstNumbers x, const float* bias, Numbers y, std::int64_t rows,
                                    std::int64_t cols) {
  const WideSource from(*this, x, 2 * rows * cols);
  const WideResult to(*this, y, rows * cols);
  gated_forward<gelu>(from.data(), bias, to.data(), rows, cols);
}

void CpuKernels::bias_geglu_backward(ConstNumbers dy, ConstNumbers x, const float* bias, Numbers dx,
                                     float* dbias, std::int64_t rows, std::int64_t cols) {
  const WideSource gradient(*this, dy, rows * cols), input(*this, x, 2 * rows * cols);
  const WideResult to(*this, dx, 2 * rows * cols);
  gated_backward<gelu, gelu_derivative>(gradient.data(), input.data(), bias, to.data(), dbias, rows,
                                        cols);
}

void CpuKernels::clamp_gated_forward(const float* x, const float* bias, float* y, float limit,
                                     std::int64_t rows, std::int64_t cols) {
  for (std::int64_t i = 0; i < rows; ++i, x += 2 * cols, y += 2 * cols) {
#pragma omp simd
    for (std::int64_t j = 0; j < 2 * cols; ++j) {
      const float v = x[j] + (bias == nullptr ? 0.0F : bias[j]);
      const float least = j < cols ? v : -limit;  // gates have no lower limit
      y[j] = std::min(std::max(v, least), limit);
    }
  }
}

void CpuKernels::clamp_gated_backward(const float* dy, const float* x, const float* bias, float* dx,
                                      float* dbias, float limit, std::int64_t rows,
                                      std::int64_t cols) {
  const float* first_dx = dx;
  for (std::int64_t i = 0; i < rows; ++i, dy += 2 * cols, x += 2 * cols, dx += 2 * cols) {
#pragma omp simd
    for (std::int64_t j = 0; j < 2 * cols; ++j) {
      const float v = x[j] + (bias == nullptr ? 0.0F : bias[j]);
      const bool inside = v <= limit && (j < cols || v >= -limit);
      dx[j] = inside ? dy[j] : 0.0F;
    }
  }
  if (dbias != nullptr) add_column_sums(first_dx, dbias, rows, 2 * cols);
}

void CpuKernels::bias_gelu_forward(ConstNumbers x, const float* bias, Numbers y, std::int64_t rows,
                                   std::int64_t cols) {
  const WideSource from(*this, x, rows * cols);
  const WideResult to(*this, y, rows * cols);
  bias_activation_forward<gelu>(from.data(), bias, to.data(), rows, cols);
}

void CpuKernels::bias_gelu_backward(ConstNumbers dy, ConstNumbers x, const float* bias, Numbers dx,
                                    float* dbias, std::int64_t rows, std::int64_t cols) {
  const WideSource gradient(*this, dy, rows * cols), input(*this, x, rows * cols);
  const WideResult to(*this, dx, rows * cols);
  bias_activation_backward<gelu_derivative>(gradient.data(), input.data(), bias, to.data(), dbias,
                                            rows, cols);
}

void CpuKernels::bias_relu_forward(ConstNumbers x, const float* bias, Numbers y, std::int64_t rows,
                                   std::int64_t cols) {
  const WideSource from(*this, x, rows * cols);
  const WideResult to(*this, y, rows * cols);
  bias_activation_forward<relu>(from.data(), bias, to.data(), rows, cols);
}

void CpuKernels::bias_relu_backward(ConstNumbers dy, ConstNumbers x, const float* bias, Numbers dx,
                                    float* dbias, std::int64_t rows, std::int64_t cols) {
  const WideSource gradient(*this, dy, rows * cols), input(*this, x, rows * cols);
  const WideResult to(*this, dx, rows * cols);
  bias_activation_backward<relu_derivative>(gradient.data(), input.data(), bias, to.data(), dbias,
                                            rows, cols);
}

void CpuKernels::add_bias(float* y, const float* bias, std::int64_t rows, std::int64_t cols) {
  for (std::int64_t i = 0; i < rows; ++i, y += cols) {
#pragma omp simd
    for (std::int64_t j = 0; j < cols; ++j) y[j] += bias[j];
  }
}

void CpuKernels::bias_backward(const float* dy, float* dbias, std::int64_t rows,
                               std::int64_t cols) {
  add_column_sums(dy, dbias, rows, cols);
}

void CpuKernels::scale_rows(const float* x, const float* scale, float* y, std::int64_t rows,
                            std::int64_t cols) {
  for (std::int64_t i = 0; i < rows; ++i, x += cols, y += cols) {
    const float factor = scale[i];
#pragma omp simd
    for (std::int64_t j = 0; j < cols; ++j) y[j] = factor * x[j];
  }
}

void CpuKernels::row_dots(const float* a, const float* b, float* dots, std::int64_t rows,
                          std::int64_t cols) {
  for (std::int64_t i = 0; i < rows; ++i, a += cols, b += cols) {
    float sum = 0.0F;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = 0; j < cols; ++j) sum += a[j] * b[j];
    dots[i] += sum;
  }
}

void CpuKernels::add(const float* a, const float* b, float* y, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] = a[i] + b[i];
}

void CpuKernels::convert(void* to, Precision precision, const float* from, std::int64_t count) {
  if (precision == Precision::fp32) return copy(to, from, static_cast<std::size_t>(count) * 4);
  only_bf16(precision);
  auto* numbers = static_cast<std::uint16_t*>(to);
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) numbers[i] = bf16_of(from[i]);
}

void CpuKernels::widen(float* to, const void* from, Precision precision, std::int64_t count) {
  if (precision == Precision::fp32) return copy(to, from, static_cast<std::size_t>(count) * 4);
  only_bf16(precision);
  const auto* numbers = static_cast<const std::uint16_t*>(from);
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) to[i] = float_of_bf16(numbers[i]);
}

void CpuKernels::round(float* data, Precision precision, std::int64_t count) {
  only_bf16(precision);
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) data[i] = float_of_bf16(bf16_of(data[i]));
}

// Adam (Kingma 2014, arXiv 1412.6980, algorithm 1) with decoupled weight decay (1711.05101).
void CpuKernels::adam(float* weight, const float* gradient, float* exp_avg, float* exp_avg_sq,
                      std::int64_t count, const AdamStep& step) {
  const auto t = static_cast<double>(step.step);
  const auto scale = static_cast<float>(step.learning_rate / (1.0 - std::pow(step.beta1, t)));
  const auto correction = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(step.beta2, t)));
  const float decay = 1.0F - step.learning_rate * step.weight_decay;
  const AdamStep s = step;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = gradient[i];
    const float m = s.beta1 * exp_avg[i] + (1.0F - s.beta1) * g;
    const float v = s.beta2 * exp_avg_sq[i] + (1.0F - s.beta2) * g * g;
    exp_avg[i] = m;
    exp_avg_sq[i] = v;
    weight[i] = decay * weight[i] - scale * m / (std::sqrt(v) * correction + s.epsilon);
  }
}

}  // namespace meshwright::calibrate::cpu
