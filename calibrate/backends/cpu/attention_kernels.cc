// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <limits>

#include "calibrate/backends/cpu/fast_math.h"
#include "calibrate/backends/cpu/kernels.h"
#include "calibrate/backends/cpu/wide_numbers.h"

namespace meshwright::calibrate::cpu {
namespace {

// The place of a matrix's logit among the sinks.
std::int64_t sink_of(const AttentionSinks& sinks, std::int64_t matrix) {
  const std::int64_t heads = sinks.heads_of_group;
  return matrix / (sinks.sequences * heads) * heads + matrix % heads;
}

// y[begin..end) = softmax(scale * x[begin..end)) beside `sink`, which may be null; the rest 0.
void softmax_row(const float* x, float* y, float scale, std::int64_t begin, std::int64_t end,
                 std::int64_t cols, const float* sink) {
  std::fill(y, y + begin, 0.0F);
  std::fill(y + end, y + cols, 0.0F);
  x += begin;
  y += begin;
  const std::int64_t valid = end - begin;
  float maximum = sink == nullptr ? -std::numeric_limits<float>::infinity() : *sink;
#pragma omp simd reduction(max : maximum)
  for (std::int64_t j = 0; j < valid; ++j) maximum = std::max(maximum, scale * x[j]);
  float sum = sink == nullptr ? 0.0F : fast_exp(*sink - maximum);
#pragma omp simd reduction(+ : sum)
  for (std::int64_t j = 0; j < valid; ++j) {
    const float e = fast_exp(scale * x[j] - maximum);
    y[j] = e;
    sum += e;
  }
  const float inverse = 1.0F / sum;
#pragma omp simd
  for (std::int64_t j = 0; j < valid; ++j) y[j] *= inverse;
}

// cosines and sines of one position: table[0..half) and table[half..2 * half).
void rotate_row(float* x, const float* table, float sign, std::int64_t half) {
#pragma omp simd
  for (std::int64_t j = 0; j < half; ++j) {
    const float cosine = table[j];
    const float sine = sign * table[half + j];
    const float a = x[j];
    const float b = x[half + j];
    x[j] = a * cosine - b * sine;
    x[half + j] = b * cosine + a * sine;
  }
}

// Calls move(index in (positions, batch, blocks, heads), index in (blocks, batch, heads,
// positions)) for each head row of `width` numbers.
template <typename Move>
void for_each_head_row(std::int64_t positions, std::int64_t batch, std::int64_t blocks,
                       std::int64_t heads, const Move& move) {
  const std::int64_t tokens = positions * batch;
  for (std::int64_t token = 0; token < tokens; ++token) {
    const std::int64_t s = token / batch;
    const std::int64_t b = token % batch;
    for (std::int64_t row = 0; row < blocks * heads; ++row) {
      const std::int64_t block = row / heads;
      const std::int64_t head = row % heads;
      move(token * blocks * heads + row, ((block * batch + b) * heads + head) * positions + s);
    }
  }
}

}  // namespace

void CpuKernels::causal_softmax_forward(ConstNumbers x, Numbers y, float scale,
                                        std::int64_t matrices, std::int64_t queries,
                                        std::int64_t keys, std::int64_t first, std::int64_t window,
                                        std::int64_t jump, const AttentionSinks& sinks) {
  const std::int64_t count = matrices * queries * keys;
  const WideSource from(*this, x, count);
  const WideResult to(*this, y, count);
  for (std::int64_t row = 0; row < matrices * queries; ++row) {
    const std::int64_t query = row % queries;
    const std::int64_t end = first + query + (2 * query >= queries ? jump : 0) + 1;
    const std::int64_t begin = window > 0 ? std::max<std::int64_t>(0, end - window) : 0;
    const float* sink =
        sinks.logits == nullptr ? nullptr : sinks.logits + sink_of(sinks, row / queries);
    softmax_row(from.data() + row * keys, to.data() + row * keys, scale, begin, end, keys, sink);
  }
}

// p = 1 - sum(y) is the sink's probability and its value is nothing, so that its logit's gradient
// is p * (0 - sum(dy * y)).
void CpuKernels::sinks_backward(ConstNumbers dy, ConstNumbers y, const AttentionSinks& sinks,
                                float* dlogits, std::int64_t matrices, std::int64_t keys,
                                std::int64_t queries) {
  const std::int64_t count = matrices * queries * keys;
  const WideSource wide_gradient(*this, dy, count), wide_result(*this, y, count);
  const float *gradient = wide_gradient.data(), *result = wide_result.data();
  for (std::int64_t row = 0; row < matrices * queries; ++row) {
    const std::int64_t offset = row * keys;
    float sum = 0.0F, weighted = 0.0F;
#pragma omp simd reduction(+ : sum, weighted)
    for (std::int64_t j = 0; j < keys; ++j) {
      sum += result[offset + j];
      weighted += gradient[offset + j] * result[offset + j];
    }
    dlogits[sink_of(sinks, row / queries)] -= (1.0F - sum) * weighted;
  }
}

void CpuKernels::softmax_backward(ConstNumbers dy, ConstNumbers y, Numbers dx, float scale,
                                  std::int64_t matrices, std::int64_t keys, std::int64_t queries) {
  const std::int64_t rows = matrices * (queries > 0 ? queries : keys);
  const WideSource wide_gradient(*this, dy, rows * keys), wide_result(*this, y, rows * keys);
  const WideResult wide(*this, dx, rows * keys);
  const float *gradient = wide_gradient.data(), *result = wide_result.data();
  float* to = wide.data();
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t offset = row * keys;
    float sum = 0.0F;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = 0; j < keys; ++j) sum += gradient[offset + j] * result[offset + j];
#pragma omp simd
    for (std::int64_t j = 0; j < keys; ++j) {
      to[offset + j] = scale * result[offset + j] * (gradient[offset + j] - sum);
    }
  }
}

void CpuKernels::rotary(Numbers x, const float* table, std::int64_t blocks, std::int64_t heads,
                        std::int64_t rotated, std::int64_t positions, std::int64_t width,
                        bool inverse) {
  const float sign = inverse ? -1.0F : 1.0F;
  const WideResult wide(*this, x, blocks * heads * positions * width, true);
  for (std::int64_t head = 0; head < blocks * rotated; ++head) {
    float* of_head = wide.data() + (head / rotated * heads + head % rotated) * positions * width;
    for (std::int64_t s = 0; s < positions; ++s) {
      rotate_row(of_head + s * width, table + s * width, sign, width / 2);
    }
  }
}

void CpuKernels::to_heads(const float* x, float* y, std::int64_t positions, std::int64_t batch,
                          std::int64_t blocks, std::int64_t heads, std::int64_t width) {
  const std::size_t row_bytes = static_cast<std::size_t>(width) * sizeof(float);
  for_each_head_row(positions, batch, blocks, heads, [&](std::int64_t token, std::int64_t head) {
    std::memcpy(y + head * width, x + token * width, row_bytes);
  });
}

void CpuKernels::from_heads(const float* x, float* y, std::int64_t positions, std::int64_t batch,
                            std::int64_t blocks, std::int64_t heads, std::int64_t width) {
  const std::size_t row_bytes = static_cast<std::size_t>(width) * sizeof(float);
  for_each_head_row(positions, batch, blocks, heads, [&](std::int64_t token, std::int64_t head) {
    std::memcpy(y + token * width, x + head * width, row_bytes);
  });
}

}  // namespace meshwright::calibrate::cpu
