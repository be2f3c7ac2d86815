// SPDX-License-Identifier: Apache-2.0
// Activations, biases, sums and the optimizer.
#include <cmath>

#include "calibrate/backends/cuda/kernels/column_sums.cuh"
#include "calibrate/backends/cuda/kernels/kernels.h"
#include "calibrate/backends/cuda/kernels/pack.cuh"

namespace meshwright::calibrate::cuda {
namespace {

// gelu(v) ~ v/2 (1 + tanh u), u = sqrt(2/pi) (v + 0.044715 v^3) (Hendrycks 2016, arXiv 1606.08415).
constexpr float kSqrtTwoOverPi = 0.79788456F;
constexpr float kCubic = 0.044715F;

struct Gelu {
  __device__ static float value(float v) {
    return 0.5F * v * (1.0F + tanhf(kSqrtTwoOverPi * v * (1.0F + kCubic * v * v)));
  }
  __device__ static float derivative(float v) {
    const float t = tanhf(kSqrtTwoOverPi * v * (1.0F + kCubic * v * v));
    const float du = kSqrtTwoOverPi * (1.0F + 3.0F * kCubic * v * v);
    return 0.5F * (1.0F + t) + 0.5F * v * (1.0F - t * t) * du;
  }
};

struct Silu {
  __device__ static float value(float v) { return v / (1.0F + expf(-v)); }
  __device__ static float derivative(float v) {
    const float s = 1.0F / (1.0F + expf(-v));
    return s + v * s * (1.0F - s);
  }
};

struct Relu {
  __device__ static float value(float v) { return v > 0.0F ? v : 0.0F; }
  __device__ static float derivative(float v) { return v > 0.0F ? 1.0F : 0.0F; }
};

struct Entry {
  Source x;
  std::int64_t cols;
  __device__ float operator()(std::int64_t i, std::int64_t j) const { return x[i * cols + j]; }
};

// A bias may be null.
__device__ Pack with_bias(Pack x, const float* bias, const Columns& cols, std::int64_t j) {
  if (bias == nullptr) return x;
  const Pack b = cols.load(bias, j);
  for (int k = 0; k < kPack; ++k) x.v[k] += b.v[k];
  return x;
}

template <typename Activation>
__global__ void activation_forward_kernel(Source x, const float* bias, Sink y, Columns cols) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * cols.count;
  const std::int64_t j = first_of_pack();
  if (j >= cols.count) return;
  Pack a = with_bias(cols.load(x, row, j), bias, cols, j);
  for (float& v : a.v) v = Activation::value(v);
  cols.store(y, row, j, a);
}

template <typename Activation>
__global__ void activation_backward_kernel(Source dy, Source x, const float* bias, Sink dx,
                                           Columns cols) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * cols.count;
  const std::int64_t j = first_of_pack();
  if (j >= cols.count) return;
  const Pack a = with_bias(cols.load(x, row, j), bias, cols, j);
  Pack d = cols.load(dy, row, j);
  for (int k = 0; k < kPack; ++k) d.v[k] *= Activation::derivative(a.v[k]);
  cols.store(dx, row, j, d);
}

// A block adds what its threads found once.
__global__ void count_different_kernel(const float* a, const float* b, std::int64_t count,
                                       unsigned long long* found) {
  __shared__ unsigned long long of_block;
  if (threadIdx.x == 0) of_block = 0;
  __syncthreads();
  unsigned long long mine = 0;
  for (std::int64_t i = first_index(); i < count; i += index_step()) mine += a[i] != b[i] ? 1 : 0;
  if (mine > 0) atomicAdd(&of_block, mine);
  __syncthreads();
  if (threadIdx.x == 0 && of_block > 0) atomicAdd(found, of_block);
}

template <typename Activation>
void activation_forward(ConstNumbers x, const float* bias, Numbers y, std::int64_t rows,
                        std::int64_t cols) {
  if (rows == 0 || cols == 0) return;
  activation_forward_kernel<Activation><<<row_packs(rows, cols), kThreads, 0, kStream>>>(
      Source(x), bias, Sink(y), Columns::of(cols, x.data, y.data));
  check_launch();
}

template <typename Activation>
void activation_backward(ConstNumbers dy, ConstNumbers x, const float* bias, Numbers dx,
                         float* dbias, std::int64_t rows, std::int64_t cols) {
  if (rows == 0 || cols == 0) return;
  activation_backward_kernel<Activation><<<row_packs(rows, cols), kThreads, 0, kStream>>>(
      Source(dy), Source(x), bias, Sink(dx), Columns::of(cols, dy.data, x.data, dx.data));
  check_launch();
  if (dbias != nullptr) add_column_sums(Entry{Source(dx), cols}, dbias, rows, cols);
}

__device__ float biased(const float* x, const float* bias, std::int64_t j) {
  return x[j] + (bias == nullptr ? 0.0F : bias[j]);
}

// The values' part of a bias, behind the gates'; null where that is.
__device__ const float* values_of(const float* bias, const Columns& cols) {
  return bias == nullptr ? nullptr : bias + cols.count;
}

// A row of x: `cols` gates, then `cols` values.
template <typename Activation>
__global__ void gated_forward_kernel(Source x, const float* bias, Sink y, Columns cols) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * cols.count;
  const std::int64_t j = first_of_pack();
  if (j >= cols.count) return;
  Pack gate = with_bias(cols.load(x, 2 * row, j), bias, cols, j);
  const Pack value =
      with_bias(cols.load(x, 2 * row + cols.count, j), values_of(bias, cols), cols, j);
  for (int k = 0; k < kPack; ++k) gate.v[k] = Activation::value(gate.v[k]) * value.v[k];
  cols.store(y, row, j, gate);
}

template <typename Activation>
__global__ void gated_backward_kernel(Source dy, Source x, const float* bias, Sink dx,
                                      Columns cols) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * cols.count;
  const std::int64_t j = first_of_pack();
  if (j >= cols.count) return;
  Pack gate = with_bias(cols.load(x, 2 * row, j), bias, cols, j);
  Pack value = with_bias(cols.load(x, 2 * row + cols.count, j), values_of(bias, cols), cols, j);
  const Pack d = cols.load(dy, row, j);
  for (int k = 0; k < kPack; ++k) {
    const float of_gate = d.v[k] * value.v[k] * Activation::derivative(gate.v[k]);
    value.v[k] = d.v[k] * Activation::value(gate.v[k]);
    gate.v[k] = of_gate;
  }
  cols.store(dx, 2 * row, j, gate);
  cols.store(dx, 2 * row + cols.count, j, value);
}

// A row of x: `cols` gates, at most `limit`, then `cols` values between -limit and limit.
__global__ void clamp_gated_kernel(const float* x, const float* bias, float* y, float limit,
                                   std::int64_t cols) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * 2 * cols;
  for_columns_of_chunk(2 * cols, [=](std::int64_t j) {
    const float v = biased(x + row, bias, j);
    y[row + j] = fminf(j < cols ? v : fmaxf(v, -limit), limit);
  });
}

__global__ void clamp_gated_backward_kernel(const float* dy, const float* x, const float* bias,
                                            float* dx, float limit, std::int64_t cols) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * 2 * cols;
  for_columns_of_chunk(2 * cols, [=](std::int64_t j) {
    const float v = biased(x + row, bias, j);
    dx[row + j] = v <= limit && (j < cols || v >= -limit) ? dy[row + j] : 0.0F;
  });
}

template <typename Activation>
void gated_forward(ConstNumbers x, const float* bias, Numbers y, std::int64_t rows,
                   std::int64_t cols) {
  if (rows == 0 || cols == 0) return;
  gated_forward_kernel<Activation><<<row_packs(rows, cols), kThreads, 0, kStream>>>(
      Source(x), bias, Sink(y), Columns::of(cols, x.data, y.data));
  check_launch();
}

template <typename Activation>
void gated_backward(ConstNumbers dy, ConstNumbers x, const float* bias, Numbers dx, float* dbias,
                    std::int64_t rows, std::int64_t cols) {
  if (rows == 0 || cols == 0) return;
  gated_backward_kernel<Activation><<<row_packs(rows, cols), kThreads, 0, kStream>>>(
      Source(dy), Source(x), bias, Sink(dx), Columns::of(cols, dy.data, x.data, dx.data));
  check_launch();
  if (dbias != nullptr) add_column_sums(Entry{Source(dx), 2 * cols}, dbias, rows, 2 * cols);
}

__global__ void add_bias_kernel(float* y, const float* bias, std::int64_t cols) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * cols;
  for_columns_of_chunk(cols, [=](std::int64_t j) { y[row + j] += bias[j]; });
}

__global__ void scale_rows_kernel(const float* x, const float* scale, float* y, std::int64_t cols) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * cols;
  const float factor = scale[blockIdx.x];
  for_columns_of_chunk(cols, [=](std::int64_t j) { y[row + j] = factor * x[row + j]; });
}

__global__ void row_dots_kernel(const float* a, const float* b, float* dots, std::int64_t cols) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * cols;
  const float sum =
      reduce_row(cols, Add{}, [=](std::int64_t j) { return a[row + j] * b[row + j]; });
  if (threadIdx.x == 0) dots[blockIdx.x] += sum;
}

__global__ void add_kernel(const float* a, const float* b, float* y, std::int64_t count) {
  for (std::int64_t i = first_index(); i < count; i += index_step()) y[i] = a[i] + b[i];
}

// Factors that are the same for every number of a step.
struct AdamFactors {
  float beta1, beta2, epsilon, scale, correction, decay;
};

__global__ void adam_kernel(float* weight, const float* gradient, float* exp_avg, float* exp_avg_sq,
                            std::int64_t count, AdamFactors f) {
  for (std::int64_t i = first_index(); i < count; i += index_step()) {
    const float g = gradient[i];
    const float m = f.beta1 * exp_avg[i] + (1.0F - f.beta1) * g;
    const float v = f.beta2 * exp_avg_sq[i] + (1.0F - f.beta2) * g * g;
    exp_avg[i] = m;
    exp_avg_sq[i] = v;
    weight[i] = f.decay * weight[i] - f.scale * m / (sqrtf(v) * f.correction + f.epsilon);
  }
}

}  // namespace

void CudaKernels::clamp_gated_forward(const float* x, const float* bias, float* y, float limit,
                                      std::int64_t rows, std::int64_t cols) {
  if (rows == 0 || cols == 0) return;
  clamp_gated_kernel<<<row_chunks(rows, 2 * cols), kThreads, 0, kStream>>>(x, bias, y, limit, cols);
  check_launch();
}

void CudaKernels::clamp_gated_backward(const float* dy, const float* x, const float* bias,
                                       float* dx, float* dbias, float limit, std::int64_t rows,
                                       std::int64_t cols) {
  if (rows == 0 || cols == 0) return;
  clamp_gated_backward_kernel<<<row_chunks(rows, 2 * cols), kThreads, 0, kStream>>>(dy, x, bias, dx,
                                                                                    limit, cols);
  check_launch();
  if (dbias != nullptr) bias_backward(dx, dbias, rows, 2 * cols);
}

void CudaKernels::bias_gelu_forward(ConstNumbers x, const float* bias, Numbers y, std::int64_t rows,
                                    std::int64_t cols) {
  activation_forward<Gelu>(x, bias, y, rows, cols);
}

void CudaKernels::bias_gelu_backward(ConstNumbers dy, ConstNumbers x, const float* bias, Numbers dx,
                                     float* dbias, std::int64_t rows, std::int64_t cols) {
  activation_backward<Gelu>(dy, x, bias, dx, dbias, rows, cols);
}

void CudaKernels::bias_relu_forward(ConstNumbers x, const float* bias, Numbers y, std::int64_t rows,
                                    std::int64_t cols) {
  activation_forward<Relu>(x, bias, y, rows, cols);
}

void CudaKernels::bias_relu_backward(ConstNumbers dy, ConstNumbers x, const float* bias, Numbers dx,
                                     float* dbias, std::int64_t rows, std::int64_t cols) {
  activation_backward<Relu>(dy, x, bias, dx, dbias, rows, cols);
}

void CudaKernels::bias_swiglu_forward(ConstNumbers x, const float* bias, Numbers y,
                                      std::int64_t rows, std::int64_t cols) {
  gated_forward<Silu>(x, bias, y, rows, cols);
}

void CudaKernels::bias_swiglu_backward(ConstNumbers dy, ConstNumbers x, const float* bias,
                                       Numbers dx, float* dbias, std::int64_t rows,
                                       std::int64_t cols) {
  gated_backward<Silu>(dy, x, bias, dx, dbias, rows, cols);
}

void CudaKernels::bias_geglu_forward(ConstNumbers x, const float* bias, Numbers y,
                                     std::int64_t rows, std::int64_t cols) {
  gated_forward<Gelu>(x, bias, y, rows, cols);
}

void CudaKernels::bias_geglu_backward(ConstNumbers dy, ConstNumbers x, const float* bias,
                                      Numbers dx, float* dbias, std::int64_t rows,
                                      std::int64_t cols) {
  gated_backward<Gelu>(dy, x, bias, dx, dbias, rows, cols);
}

void CudaKernels::add_bias(float* y, const float* bias, std::int64_t rows, std::int64_t cols) {
  if (rows == 0 || cols == 0) return;
  add_bias_kernel<<<row_chunks(rows, cols), kThreads, 0, kStream>>>(y, bias, cols);
  check_launch();
}

void CudaKernels::bias_backward(const float* dy, float* dbias, std::int64_t rows,
                                std::int64_t cols) {
  if (rows == 0 || cols == 0) return;
  add_column_sums(Entry{Source(dy), cols}, dbias, rows, cols);
}

void CudaKernels::scale_rows(const float* x, const float* scale, float* y, std::int64_t rows,
                             std::int64_t cols) {
  if (rows == 0 || cols == 0) return;
  scale_rows_kernel<<<row_chunks(rows, cols), kThreads, 0, kStream>>>(x, scale, y, cols);
  check_launch();
}

void CudaKernels::row_dots(const float* a, const float* b, float* dots, std::int64_t rows,
                           std::int64_t cols) {
  if (rows == 0) return;
  row_dots_kernel<<<one_block_a_row(rows), kThreads, 0, kStream>>>(a, b, dots, cols);
  check_launch();
}

void CudaKernels::add(const float* a, const float* b, float* y, std::int64_t count) {
  if (count == 0) return;
  add_kernel<<<flat(count), kThreads, 0, kStream>>>(a, b, y, count);
  check_launch();
}

// Adam (Kingma 2014, arXiv 1412.6980, algorithm 1) with decoupled weight decay (1711.05101).
void CudaKernels::adam(float* weight, const float* gradient, float* exp_avg, float* exp_avg_sq,
                       std::int64_t count, const AdamStep& step) {
  if (count == 0) return;
  const auto t = static_cast<double>(step.step);
  const AdamFactors factors{
      step.beta1,
      step.beta2,
      step.epsilon,
      static_cast<float>(step.learning_rate / (1.0 - std::pow(step.beta1, t))),
      static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(step.beta2, t))),
      1.0F - step.learning_rate * step.weight_decay};
  adam_kernel<<<flat(count), kThreads, 0, kStream>>>(weight, gradient, exp_avg, exp_avg_sq, count,
                                                     factors);
  check_launch();
}

void count_different(const float* a, const float* b, std::int64_t count,
                     unsigned long long* found) {
  count_different_kernel<<<flat(count), kThreads, 0, kStream>>>(a, b, count, found);
  check_launch();
}

}  // namespace meshwright::calibrate::cuda
