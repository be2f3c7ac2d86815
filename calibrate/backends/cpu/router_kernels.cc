// SPDX-License-Identifier: Apache-2.0
// Routing of tokens to experts (Megatron-LM moe_utils.py, topk_routing_with_score_function).
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "calibrate/backends/cpu/kernels.h"

namespace meshwright::calibrate::cpu {
namespace {

constexpr float kClosed = -std::numeric_limits<float>::infinity();

// The places of the `count` largest scores, the largest first; of equals the first.
std::vector<std::int32_t> largest(const std::vector<float>& scores, std::int64_t count) {
  std::vector<std::int32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  const auto before = [&](std::int32_t a, std::int32_t b) {
    const float x = scores[static_cast<std::size_t>(a)], y = scores[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  };
  const auto end = order.begin() + count;
  std::partial_sort(order.begin(), end, order.end(), before);
  order.resize(static_cast<std::size_t>(count));
  return order;
}

void close_groups(std::vector<float>& scores, const RouterShape& shape) {
  if (shape.groups == 0) return;
  const std::int64_t size = shape.experts / shape.groups;
  const std::int64_t best =
      std::max<std::int64_t>(1, shape.topk / std::max<std::int64_t>(1, shape.group_topk));
  std::vector<float> sums;
  for (std::int64_t g = 0; g < shape.groups; ++g) {
    const auto begin = scores.begin() + g * size;
    std::vector<float> group(begin, begin + size);
    std::sort(group.begin(), group.end(), std::greater<>());
    sums.push_back(std::accumulate(group.begin(), group.begin() + best, 0.0F));
  }
  const std::vector<std::int32_t> open = largest(sums, shape.group_topk);
  for (std::int64_t g = 0; g < shape.groups; ++g) {
    if (std::find(open.begin(), open.end(), static_cast<std::int32_t>(g)) != open.end()) continue;
    std::fill_n(scores.begin() + g * size, size, kClosed);
  }
}

}  // namespace

void CpuKernels::top_k(const float* logits, std::int32_t* chosen, const RouterShape& shape) {
  for (std::int64_t token = 0; token < shape.tokens; ++token) {
    const float* of_token = logits + token * shape.experts;
    std::vector<float> scores(of_token, of_token + shape.experts);
    close_groups(scores, shape);
    const std::vector<std::int32_t> best = largest(scores, shape.topk);
    std::copy(best.begin(), best.end(), chosen + token * shape.topk);
  }
}

void CpuKernels::chosen_softmax(const float* logits, const std::int32_t* chosen,
                                float* probabilities, const RouterShape& shape) {
  for (std::int64_t token = 0; token < shape.tokens; ++token) {
    const float* of_token = logits + token * shape.experts;
    const std::int32_t* experts = chosen + token * shape.topk;
    float* p = probabilities + token * shape.topk;
    float most = kClosed, sum = 0.0F;
    for (std::int64_t k = 0; k < shape.topk; ++k) most = std::max(most, of_token[experts[k]]);
    for (std::int64_t k = 0; k < shape.topk; ++k) sum += std::exp(of_token[experts[k]] - most);
    for (std::int64_t k = 0; k < shape.topk; ++k)
      p[k] = std::exp(of_token[experts[k]] - most) / sum;
  }
}

void CpuKernels::chosen_softmax_backward(const std::int32_t* chosen, const float* probabilities,
                                         const float* dprobabilities, float* dlogits,
                                         const RouterShape& shape) {
  std::fill_n(dlogits, shape.tokens * shape.experts, 0.0F);
  for (std::int64_t token = 0; token < shape.tokens; ++token) {
    const float* p = probabilities + token * shape.topk;
    const float* dp = dprobabilities + token * shape.topk;
    const float mean = std::inner_product(p, p + shape.topk, dp, 0.0F);
    for (std::int64_t k = 0; k < shape.topk; ++k) {
      dlogits[token * shape.experts + chosen[token * shape.topk + k]] = p[k] * (dp[k] - mean);
    }
  }
}

// A counting sort.
void CpuKernels::order_by_expert(const std::int32_t* chosen, std::int32_t* order,
                                 std::int32_t* tokens, std::int32_t* counts,
                                 const RouterShape& shape) {
  const std::int64_t copies = shape.tokens * shape.topk;
  std::fill_n(counts, shape.experts, 0);
  for (std::int64_t i = 0; i < copies; ++i) ++counts[chosen[i]];
  std::vector<std::int32_t> next(static_cast<std::size_t>(shape.experts));
  std::exclusive_scan(counts, counts + shape.experts, next.begin(), 0);
  for (std::int64_t i = 0; i < copies; ++i) {
    const std::int32_t at = next[static_cast<std::size_t>(chosen[i])]++;
    order[at] = static_cast<std::int32_t>(i);
    tokens[at] = static_cast<std::int32_t>(i / shape.topk);
  }
}

}  // namespace meshwright::calibrate::cpu
