// SPDX-License-Identifier: Apache-2.0
// Layer norm (Ba 2016, arXiv 1607.06450), a block a row; epsilon 1e-5 as Megatron's default.
#include "calibrate/backends/cuda/kernels/column_sums.cuh"
#include "calibrate/backends/cuda/kernels/kernels.h"
#include "calibrate/backends/cuda/kernels/pack.cuh"

namespace meshwright::calibrate::cuda {
namespace {

constexpr float kEpsilon = 1e-5F;

__global__ void forward_kernel(Source x, const float* gamma, const float* beta, Sink y, float* mean,
                               float* rstd, Columns cols) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * cols.count;
  const float share = 1.0F / static_cast<float>(cols.count);
  float sum = 0.0F, squares = 0.0F;
  cols.for_packs([&](std::int64_t j) {
    const Pack a = cols.load(x, row, j);
    for (const float v : a.v) sum += v;
  });
  const float m = share * block_reduce(sum, Add{});
  cols.for_packs([&](std::int64_t j) {
    const Pack a = cols.load(x, row, j);
    for (int k = 0; k < cols.in_pack(j); ++k) squares += (a.v[k] - m) * (a.v[k] - m);
  });
  const float r = rsqrtf(share * block_reduce(squares, Add{}) + kEpsilon);
  if (threadIdx.x == 0) {
    mean[blockIdx.x] = m;
    rstd[blockIdx.x] = r;
  }
  cols.for_packs([&](std::int64_t j) {
    Pack a = cols.load(x, row, j);
    const Pack g = cols.load(gamma, j), b = cols.load(beta, j);
    for (int k = 0; k < kPack; ++k) a.v[k] = (a.v[k] - m) * r * g.v[k] + b.v[k];
    cols.store(y, row, j, a);
  });
}

// With xhat = (x - mean) * rstd and g = dy * gamma:
// dx = rstd * (g - average(g) - xhat * average(g * xhat)).
__global__ void backward_kernel(Source dy, Source x, const float* gamma, const float* mean,
                                const float* rstd, Sink dx, Columns cols) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * cols.count;
  const float m = mean[blockIdx.x];
  const float r = rstd[blockIdx.x];
  const float share = 1.0F / static_cast<float>(cols.count);
  float sum_g = 0.0F, sum_gx = 0.0F;
  cols.for_packs([&](std::int64_t j) {
    const Pack d = cols.load(dy, row, j), a = cols.load(x, row, j), w = cols.load(gamma, j);
    for (int k = 0; k < kPack; ++k) {
      const float g = d.v[k] * w.v[k];
      sum_g += g;
      sum_gx += g * (a.v[k] - m) * r;
    }
  });
  const float average_g = share * block_reduce(sum_g, Add{});
  const float average_gx = share * block_reduce(sum_gx, Add{});
  cols.for_packs([&](std::int64_t j) {
    Pack d = cols.load(dy, row, j);
    const Pack a = cols.load(x, row, j), w = cols.load(gamma, j);
    for (int k = 0; k < kPack; ++k) {
      d.v[k] = r * (d.v[k] * w.v[k] - average_g - (a.v[k] - m) * r * average_gx);
    }
    cols.store(dx, row, j, d);
  });
}

struct GammaGradient {
  Source dy, x;
  const float *mean, *rstd;
  std::int64_t cols;
  __device__ float operator()(std::int64_t i, std::int64_t j) const {
    return dy[i * cols + j] * (x[i * cols + j] - mean[i]) * rstd[i];
  }
};

struct BetaGradient {
  Source dy;
  std::int64_t cols;
  __device__ float operator()(std::int64_t i, std::int64_t j) const { return dy[i * cols + j]; }
};

}  // namespace

void CudaKernels::layer_norm_forward(ConstNumbers x, const float* gamma, const float* beta,
                                     Numbers y, float* mean, float* rstd, std::int64_t rows,
                                     std::int64_t cols) {
  if (rows == 0 || cols == 0) return;
  forward_kernel<<<one_block_a_row(rows), kThreads, 0, kStream>>>(
      Source(x), gamma, beta, Sink(y), mean, rstd, Columns::of(cols, x.data, y.data));
  check_launch();
}

// The parameters' gradients first: dx may be dy's memory.
void CudaKernels::layer_norm_backward(ConstNumbers dy, ConstNumbers x, const float* gamma,
                                      const float* mean, const float* rstd, Numbers dx,
                                      float* dgamma, float* dbeta, std::int64_t rows,
                                      std::int64_t cols) {
  if (rows == 0 || cols == 0) return;
  add_column_sums(GammaGradient{Source(dy), Source(x), mean, rstd, cols}, dgamma, rows, cols);
  add_column_sums(BetaGradient{Source(dy), cols}, dbeta, rows, cols);
  backward_kernel<<<one_block_a_row(rows), kThreads, 0, kStream>>>(
      Source(dy), Source(x), gamma, mean, rstd, Sink(dx),
      Columns::of(cols, dy.data, x.data, dx.data));
  check_launch();
}

}  // namespace meshwright::calibrate::cuda
