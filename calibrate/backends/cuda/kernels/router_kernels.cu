// SPDX-License-Identifier: Apache-2.0
// Routing of tokens to experts (Megatron-LM moe_utils.py, topk_routing_with_score_function).
#include <climits>

#include "calibrate/backends/cuda/kernels/kernels.h"
#include "calibrate/backends/cuda/kernels/reduce.cuh"

namespace meshwright::calibrate::cuda {
namespace {

// A score and where it stands. Larger scores come first, of equals the first.
struct Score {
  float value;
  int place;
};
__device__ bool comes_before(Score a, Score b) {
  return a.value > b.value || (a.value == b.value && a.place < b.place);
}
__device__ Score none() { return {-INFINITY, INT_MAX}; }
__device__ Score first() { return {INFINITY, -1}; }

// The first of all scores that come after `last`, of every `step`-th from `begin` on.
__device__ Score next_of(const float* scores, int begin, int step, int count, Score last) {
  Score best = none();
  for (int i = begin; i < count; i += step) {
    const Score score{scores[i], i};
    if (comes_before(last, score) && comes_before(score, best)) best = score;
  }
  return best;
}

// The same over a warp, of all of them.
__device__ Score next_of_warp(const float* scores, int count, Score last) {
  Score best = next_of(scores, static_cast<int>(threadIdx.x), kWarp, count, last);
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    const Score other{__shfl_xor_sync(kWholeWarp, best.value, offset),
                      __shfl_xor_sync(kWholeWarp, best.place, offset)};
    if (comes_before(other, best)) best = other;
  }
  return best;
}

struct Router {
  int experts, topk, groups, group_topk;
};

// Sums of the groups' best experts, a lane a group; then all but the best groups are closed.
__device__ void close_groups(float* scores, float* sums, bool* open, const Router& r) {
  const int size = r.experts / r.groups;
  const int best = r.group_topk > 0 && r.topk / r.group_topk > 1 ? r.topk / r.group_topk : 1;
  for (int g = static_cast<int>(threadIdx.x); g < r.groups; g += kWarp) {
    Score last = first();
    float sum = 0.0F;
    for (int k = 0; k < best; ++k) {
      last = next_of(scores + g * size, 0, 1, size, last);
      sum += last.value;
    }
    sums[g] = sum;
    open[g] = false;
  }
  __syncwarp();
  Score last = first();
  for (int k = 0; k < r.group_topk; ++k) {
    last = next_of_warp(sums, r.groups, last);
    if (threadIdx.x == 0 && last.place < r.groups) open[last.place] = true;
  }
  __syncwarp();
  for (int e = static_cast<int>(threadIdx.x); e < r.experts; e += kWarp) {
    if (!open[e / size]) scores[e] = -INFINITY;
  }
  __syncwarp();
}

// A warp a token. Shared: experts scores, and as many sums and marks as there are groups. An expert
// whose score is not a number is never the first of what is left: then the k-th is taken.
__global__ void top_k_kernel(const float* logits, std::int32_t* chosen, Router r) {
  extern __shared__ float shared[];
  float* scores = shared;
  float* sums = scores + r.experts;
  bool* open = reinterpret_cast<bool*>(sums + r.groups);
  logits += static_cast<std::int64_t>(blockIdx.x) * r.experts;
  chosen += static_cast<std::int64_t>(blockIdx.x) * r.topk;
  for (int e = static_cast<int>(threadIdx.x); e < r.experts; e += kWarp) scores[e] = logits[e];
  __syncwarp();
  if (r.groups > 0) close_groups(scores, sums, open, r);
  Score last = first();
  for (int k = 0; k < r.topk; ++k) {
    last = next_of_warp(scores, r.experts, last);
    if (threadIdx.x == 0) chosen[k] = last.place < r.experts ? last.place : k;
  }
}

// A thread a token: topk is 16 at most.
__global__ void softmax_kernel(const float* logits, const std::int32_t* chosen,
                               float* probabilities, std::int64_t tokens, Router r) {
  for (std::int64_t token = first_index(); token < tokens; token += index_step()) {
    const float* of_token = logits + token * r.experts;
    const std::int32_t* experts = chosen + token * r.topk;
    float most = -INFINITY, sum = 0.0F;
    for (int k = 0; k < r.topk; ++k) most = fmaxf(most, of_token[experts[k]]);
    for (int k = 0; k < r.topk; ++k) sum += expf(of_token[experts[k]] - most);
    for (int k = 0; k < r.topk; ++k) {
      probabilities[token * r.topk + k] = expf(of_token[experts[k]] - most) / sum;
    }
  }
}

// dlogits is zero.
__global__ void softmax_backward_kernel(const std::int32_t* chosen, const float* probabilities,
                                        const float* dprobabilities, float* dlogits,
                                        std::int64_t tokens, Router r) {
  for (std::int64_t token = first_index(); token < tokens; token += index_step()) {
    const float* p = probabilities + token * r.topk;
    const float* dp = dprobabilities + token * r.topk;
    float mean = 0.0F;
    for (int k = 0; k < r.topk; ++k) mean += p[k] * dp[k];
    for (int k = 0; k < r.topk; ++k) {
      dlogits[token * r.experts + chosen[token * r.topk + k]] = p[k] * (dp[k] - mean);
    }
  }
}

// A block an expert.
__global__ void count_kernel(const std::int32_t* chosen, std::int32_t* counts,
                             std::int64_t copies) {
  const int expert = static_cast<int>(blockIdx.x);
  int count = 0;
  for (std::int64_t begin = 0; begin < copies; begin += kThreads) {
    const std::int64_t i = begin + threadIdx.x;
    count += __syncthreads_count(i < copies && chosen[i] == expert ? 1 : 0);
  }
  if (threadIdx.x == 0) counts[expert] = count;
}

// A block an expert: its copies follow those of the experts before it, in the order of their
// places.
__global__ void order_kernel(const std::int32_t* chosen, const std::int32_t* counts,
                             std::int32_t* order, std::int32_t* tokens, std::int64_t copies,
                             int topk) {
  __shared__ int of_warp[kThreads / kWarp];
  const int expert = static_cast<int>(blockIdx.x);
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  std::int64_t next = 0;
  for (int e = 0; e < expert; ++e) next += counts[e];
  for (std::int64_t begin = 0; begin < copies; begin += kThreads) {
    const std::int64_t i = begin + threadIdx.x;
    const bool mine = i < copies && chosen[i] == expert;
    const unsigned in_warp = __ballot_sync(kWholeWarp, mine ? 1 : 0);
    if (lane == 0) of_warp[warp] = __popc(in_warp);
    __syncthreads();
    std::int64_t at = next + __popc(in_warp & ((1U << static_cast<unsigned>(lane)) - 1U));
    for (int w = 0; w < kThreads / kWarp; ++w) {
      if (w < warp) at += of_warp[w];
      next += of_warp[w];
    }
    if (mine) {
      order[at] = static_cast<std::int32_t>(i);
      tokens[at] = static_cast<std::int32_t>(i / topk);
    }
    __syncthreads();  // the next round writes of_warp
  }
}

Router router_of(const RouterShape& s) {
  return {static_cast<int>(s.experts), static_cast<int>(s.topk), static_cast<int>(s.groups),
          static_cast<int>(s.group_topk)};
}

}  // namespace

void CudaKernels::top_k(const float* logits, std::int32_t* chosen, const RouterShape& shape) {
  if (shape.tokens == 0) return;
  const auto shared = static_cast<std::size_t>(shape.experts + shape.groups) * sizeof(float) +
                      static_cast<std::size_t>(shape.groups) * sizeof(bool);
  top_k_kernel<<<one_block_a_row(shape.tokens), kWarp, shared, kStream>>>(logits, chosen,
                                                                          router_of(shape));
  check_launch();
}

void CudaKernels::chosen_softmax(const float* logits, const std::int32_t* chosen,
                                 float* probabilities, const RouterShape& shape) {
  if (shape.tokens == 0) return;
  softmax_kernel<<<flat(shape.tokens), kThreads, 0, kStream>>>(logits, chosen, probabilities,
                                                               shape.tokens, router_of(shape));
  check_launch();
}

void CudaKernels::chosen_softmax_backward(const std::int32_t* chosen, const float* probabilities,
                                          const float* dprobabilities, float* dlogits,
                                          const RouterShape& shape) {
  if (shape.tokens == 0) return;
  fill_zero(dlogits, static_cast<std::size_t>(shape.tokens * shape.experts) * sizeof(float));
  softmax_backward_kernel<<<flat(shape.tokens), kThreads, 0, kStream>>>(
      chosen, probabilities, dprobabilities, dlogits, shape.tokens, router_of(shape));
  check_launch();
}

void CudaKernels::order_by_expert(const std::int32_t* chosen, std::int32_t* order,
                                  std::int32_t* tokens, std::int32_t* counts,
                                  const RouterShape& shape) {
  const std::int64_t copies = shape.tokens * shape.topk;
  const dim3 blocks = one_block_a_row(shape.experts);
  count_kernel<<<blocks, kThreads, 0, kStream>>>(chosen, counts, copies);
  check_launch();
  order_kernel<<<blocks, kThreads, 0, kStream>>>(chosen, counts, order, tokens, copies,
                                                 static_cast<int>(shape.topk));
  check_launch();
}

}  // namespace meshwright::calibrate::cuda
