// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/cuda/kernels/kernels.h"
#include "calibrate/backends/cuda/kernels/pack.cuh"

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

// A block a row. y[begin..end) = softmax(scale * x[begin..end)) beside a sink, the rest 0. Each
// number of y is written by the thread that read it last: y may be x.
__global__ void softmax_kernel(Source x, Sink y, float scale, Mask mask, AttentionSinks sinks,
                               Columns cols) {
  const std::int64_t query = blockIdx.x % mask.queries;
  const std::int64_t end = mask.first + query + (2 * query >= mask.queries ? mask.jump : 0) + 1;
  const std::int64_t begin = mask.window > 0 && end > mask.window ? end - mask.window : 0;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * mask.keys;
  const float sink =
      sinks.logits == nullptr ? -INFINITY : sinks.logits[sink_of(sinks, blockIdx.x / mask.queries)];
  const auto sees = [=](std::int64_t j) { return begin <= j && j < end; };
  const auto passes = [=](std::int64_t j) { return j + kPack > begin && j < end; };
  float most = -INFINITY, sum = 0.0F;
  cols.for_packs([&](std::int64_t j) {
    if (!passes(j)) return;
    const Pack a = cols.load(x, row, j);
    for (int k = 0; k < kPack; ++k) most = sees(j + k) ? fmaxf(most, scale * a.v[k]) : most;
  });
  const float maximum = fmaxf(sink, block_reduce(most, Max{}));
  cols.for_packs([&](std::int64_t j) {
    if (!passes(j)) return;
    const Pack a = cols.load(x, row, j);
    for (int k = 0; k < kPack; ++k) sum += sees(j + k) ? expf(scale * a.v[k] - maximum) : 0.0F;
  });
  const float inverse = 1.0F / (block_reduce(sum, Add{}) + expf(sink - maximum));
  cols.for_packs([&](std::int64_t j) {
    Pack a{};
    if (passes(j)) a = cols.load(x, row, j);
    for (int k = 0; k < kPack; ++k) {
      a.v[k] = sees(j + k) ? expf(scale * a.v[k] - maximum) * inverse : 0.0F;
    }
    cols.store(y, row, j, a);
  });
}

__global__ void softmax_backward_kernel(Source dy, Source y, Sink dx, float scale, Columns cols) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * cols.count;
  float products = 0.0F;
  cols.for_packs([&](std::int64_t j) {
    const Pack d = cols.load(dy, row, j), p = cols.load(y, row, j);
    for (int k = 0; k < kPack; ++k) products += d.v[k] * p.v[k];
  });
  const float sum = block_reduce(products, Add{});
  cols.for_packs([&](std::int64_t j) {
    Pack d = cols.load(dy, row, j);
    const Pack p = cols.load(y, row, j);
    for (int k = 0; k < kPack; ++k) d.v[k] = scale * p.v[k] * (d.v[k] - sum);
    cols.store(dx, row, j, d);
  });
}

// A block a row: p = 1 - sum(y) is the sink's probability, its logit's gradient -p sum(dy * y).
__global__ void sinks_backward_kernel(Source dy, Source y, AttentionSinks sinks, float* dlogits,
                                      std::int64_t queries, Columns cols) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * cols.count;
  float probabilities = 0.0F, products = 0.0F;
  cols.for_packs([&](std::int64_t j) {
    const Pack d = cols.load(dy, row, j), p = cols.load(y, row, j);
    for (int k = 0; k < kPack; ++k) {
      probabilities += p.v[k];
      products += d.v[k] * p.v[k];
    }
  });
  const float sum = block_reduce(probabilities, Add{});
  const float weighted = block_reduce(products, Add{});
  if (threadIdx.x == 0) {
    atomicAdd(dlogits + sink_of(sinks, blockIdx.x / queries), -(1.0F - sum) * weighted);
  }
}

struct Rotation {
  std::int64_t heads, rotated, positions;
  float sign;
};

// A block a position of a rotated head; `half` are half of its columns.
__global__ void rotary_kernel(Source from, Sink to, const float* table, Rotation r, Columns half) {
  const std::int64_t head = blockIdx.x / r.positions;
  const std::int64_t position = blockIdx.x % r.positions;
  const std::int64_t width = 2 * half.count;
  const std::int64_t row =
      ((head / r.rotated * r.heads + head % r.rotated) * r.positions + position) * width;
  table += position * width;
  for (std::int64_t j = static_cast<std::int64_t>(threadIdx.x) * kPack; j < half.count;
       j += static_cast<std::int64_t>(blockDim.x) * kPack) {
    Pack a = half.load(from, row, j), b = half.load(from, row + half.count, j);
    const Pack cosine = half.load(table, j), sine = half.load(table + half.count, j);
    for (int k = 0; k < kPack; ++k) {
      const float s = r.sign * sine.v[k];
      const float first = a.v[k] * cosine.v[k] - b.v[k] * s;
      b.v[k] = b.v[k] * cosine.v[k] + a.v[k] * s;
      a.v[k] = first;
    }
    half.store(to, row, j, a);
    half.store(to, row + half.count, j, b);
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

void CudaKernels::causal_softmax_forward(ConstNumbers x, Numbers y, float scale,
                                         std::int64_t matrices, std::int64_t queries,
                                         std::int64_t keys, std::int64_t first, std::int64_t window,
                                         std::int64_t jump, const AttentionSinks& sinks) {
  if (matrices * queries * keys == 0) return;
  softmax_kernel<<<one_block_a_row(matrices * queries), kThreads, 0, kStream>>>(
      Source(x), Sink(y), scale, Mask{queries, keys, first, window, jump}, sinks,
      Columns::of(keys, x.data, y.data));
  check_launch();
}

void CudaKernels::sinks_backward(ConstNumbers dy, ConstNumbers y, const AttentionSinks& sinks,
                                 float* dlogits, std::int64_t matrices, std::int64_t keys,
                                 std::int64_t queries) {
  if (matrices * queries * keys == 0) return;
  sinks_backward_kernel<<<one_block_a_row(matrices * queries), kThreads, 0, kStream>>>(
      Source(dy), Source(y), sinks, dlogits, queries, Columns::of(keys, dy.data, y.data));
  check_launch();
}

void CudaKernels::softmax_backward(ConstNumbers dy, ConstNumbers y, Numbers dx, float scale,
                                   std::int64_t matrices, std::int64_t keys, std::int64_t queries) {
  const std::int64_t rows = matrices * (queries > 0 ? queries : keys);
  if (rows * keys == 0) return;
  softmax_backward_kernel<<<one_block_a_row(rows), kThreads, 0, kStream>>>(
      Source(dy), Source(y), Sink(dx), scale, Columns::of(keys, dy.data, y.data, dx.data));
  check_launch();
}

void CudaKernels::rotary(Numbers x, const float* table, std::int64_t blocks, std::int64_t heads,
                         std::int64_t rotated, std::int64_t positions, std::int64_t width,
                         bool inverse) {
  if (blocks * rotated * positions == 0) return;
  rotary_kernel<<<one_block_a_row(blocks * rotated * positions), kWarp, 0, kStream>>>(
      Source(x), Sink(x), table, Rotation{heads, rotated, positions, inverse ? -1.0F : 1.0F},
      Columns::of(width / 2, static_cast<const void*>(x.data)));
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
