// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/cuda/kernels.h"
#include "calibrate/backends/cuda/reduce.cuh"

namespace meshwright::calibrate::cuda {
namespace {

// Keys that a query sees.
struct Mask {
  std::int64_t queries, keys, first, window, jump;
};

// The place of a matrix's logit among the sinks.
__device__ std::int64_t sink_of(const AttentionSinks& sinks, std::int64_t matrix) {
  const std::int64_t heads = sinks.heads_of_group;
  return matrix / (sinks.sequences * heads) * heads + matrix % heads;
}

// A block a row. y[begin..end) = softmax(scale * x[begin..end)) beside a sink, the rest 0.
__global__ void softmax_kernel(const float* x, float* y, float scale, Mask mask,
                               AttentionSinks sinks) {
  const std::int64_t query = blockIdx.x % mask.queries;
  const std::int64_t end = mask.first + query + (2 * query >= mask.queries ? mask.jump : 0) + 1;
  const std::int64_t begin = mask.window > 0 && end > mask.window ? end - mask.window : 0;
  x += static_cast<std::int64_t>(blockIdx.x) * mask.keys;
  y += static_cast<std::int64_t>(blockIdx.x) * mask.keys;
  const float sink =
      sinks.logits == nullptr ? -INFINITY : sinks.logits[sink_of(sinks, blockIdx.x / mask.queries)];
  const float maximum = fmaxf(
      sink, reduce_row(end - begin, Max{}, [=](std::int64_t j) { return scale * x[begin + j]; }));
  const float of_keys = reduce_row(end - begin, Add{}, [=](std::int64_t j) {
    const float e = expf(scale * x[begin + j] - maximum);
    y[begin + j] = e;
    return e;
  });
  const float inverse = 1.0F / (of_keys + expf(sink - maximum));
  __syncthreads();  // another thread wrote what this one scales
  for (std::int64_t j = threadIdx.x; j < mask.keys; j += kThreads) {
    y[j] = begin <= j && j < end ? y[j] * inverse : 0.0F;
  }
}

__global__ void softmax_backward_kernel(const float* dy, const float* y, float* dx, float scale,
                                        std::int64_t positions) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * positions;
  dy += row;
  y += row;
  dx += row;
  const float sum = reduce_row(positions, Add{}, [=](std::int64_t j) { return dy[j] * y[j]; });
  for (std::int64_t j = threadIdx.x; j < positions; j += kThreads) {
    dx[j] = scale * y[j] * (dy[j] - sum);
  }
}

// A block a row: p = 1 - sum(y) is the sink's probability, its logit's gradient -p sum(dy * y).
__global__ void sinks_backward_kernel(const float* dy, const float* y, AttentionSinks sinks,
                                      float* dlogits, std::int64_t keys, std::int64_t queries) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * keys;
  const float sum = reduce_row(keys, Add{}, [=](std::int64_t j) { return y[row + j]; });
  const float weighted =
      reduce_row(keys, Add{}, [=](std::int64_t j) { return dy[row + j] * y[row + j]; });
  if (threadIdx.x == 0) {
    atomicAdd(dlogits + sink_of(sinks, blockIdx.x / queries), -(1.0F - sum) * weighted);
  }
}

// A block a position of a rotated head.
__global__ void rotary_kernel(float* x, const float* table, std::int64_t heads,
                              std::int64_t rotated, std::int64_t positions, std::int64_t width,
                              float sign) {
  const std::int64_t head = blockIdx.x / positions;
  const std::int64_t position = blockIdx.x % positions;
  x += ((head / rotated * heads + head % rotated) * positions + position) * width;
  table += position * width;
  const std::int64_t half = width / 2;
  for (std::int64_t j = threadIdx.x; j < half; j += blockDim.x) {
    const float cosine = table[j];
    const float sine = sign * table[half + j];
    const float a = x[j];
    const float b = x[half + j];
    x[j] = a * cosine - b * sine;
    x[half + j] = b * cosine + a * sine;
  }
}

struct HeadShape {
  std::int64_t positions, batch;
  int blocks, heads, width;
};

// A block a token: its blocks x heads rows of `width` numbers lie together in (positions, batch,
// blocks, heads, width) and apart in (blocks, batch, heads, positions, width).
template <bool kToHeads>
__global__ void heads_kernel(const float* x, float* y, HeadShape s) {
  const std::int64_t token = blockIdx.x;
  const std::int64_t position = token / s.batch;
  const std::int64_t sequence = token % s.batch;
  const int features = s.blocks * s.heads * s.width;
  for (int f = static_cast<int>(threadIdx.x); f < features; f += kThreads) {
    const int row = f / s.width;
    const std::int64_t head_row =
        ((row / s.heads * s.batch + sequence) * s.heads + row % s.heads) * s.positions + position;
    const std::int64_t by_head = head_row * s.width + f % s.width;
    const std::int64_t by_token = token * features + f;
    if (kToHeads) {
      y[by_head] = x[by_token];
    } else {
      y[by_token] = x[by_head];
    }
  }
}

template <bool kToHeads>
void move_heads(const float* x, float* y, std::int64_t positions, std::int64_t batch,
                std::int64_t blocks, std::int64_t heads, std::int64_t width) {
  if (positions * batch == 0) return;
  const HeadShape shape{positions, batch, static_cast<int>(blocks), static_cast<int>(heads),
                        static_cast<int>(width)};
  heads_kernel<kToHeads><<<one_block_a_row(positions * batch), kThreads, 0, kStream>>>(x, y, shape);
  check_launch();
}

}  // namespace

void CudaKernels::causal_softmax_forward(const float* x, float* y, float scale,
                                         std::int64_t matrices, std::int64_t queries,
                                         std::int64_t keys, std::int64_t first, std::int64_t window,
                                         std::int64_t jump, const AttentionSinks& sinks) {
  if (matrices * queries * keys == 0) return;
  softmax_kernel<<<one_block_a_row(matrices * queries), kThreads, 0, kStream>>>(
      x, y, scale, Mask{queries, keys, first, window, jump}, sinks);
  check_launch();
}

void CudaKernels::sinks_backward(const float* dy, const float* y, const AttentionSinks& sinks,
                                 float* dlogits, std::int64_t matrices, std::int64_t keys,
                                 std::int64_t queries) {
  if (matrices * queries * keys == 0) return;
  sinks_backward_kernel<<<one_block_a_row(matrices * queries), kThreads, 0, kStream>>>(
      dy, y, sinks, dlogits, keys, queries);
  check_launch();
}

void CudaKernels::softmax_backward(const float* dy, const float* y, float* dx, float scale,
                                   std::int64_t matrices, std::int64_t keys, std::int64_t queries) {
  const std::int64_t rows = matrices * (queries > 0 ? queries : keys);
  if (rows * keys == 0) return;
  softmax_backward_kernel<<<one_block_a_row(rows), kThreads, 0, kStream>>>(dy, y, dx, scale, keys);
  check_launch();
}

void CudaKernels::rotary(float* x, const float* table, std::int64_t blocks, std::int64_t heads,
                         std::int64_t rotated, std::int64_t positions, std::int64_t width,
                         bool inverse) {
  if (blocks * rotated * positions == 0) return;
  constexpr int kRotaryThreads = 64;  // heads are 64 to 256 wide
  rotary_kernel<<<one_block_a_row(blocks * rotated * positions), kRotaryThreads, 0, kStream>>>(
      x, table, heads, rotated, positions, width, inverse ? -1.0F : 1.0F);
  check_launch();
}

void CudaKernels::to_heads(const float* x, float* y, std::int64_t positions, std::int64_t batch,
                           std::int64_t blocks, std::int64_t heads, std::int64_t width) {
  move_heads<true>(x, y, positions, batch, blocks, heads, width);
}

void CudaKernels::from_heads(const float* x, float* y, std::int64_t positions, std::int64_t batch,
                             std::int64_t blocks, std::int64_t heads, std::int64_t width) {
  move_heads<false>(x, y, positions, batch, blocks, heads, width);
}

}  // namespace meshwright::calibrate::cuda
