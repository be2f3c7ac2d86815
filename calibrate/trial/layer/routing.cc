// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/layer/routing.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace meshwright::calibrate {
namespace {

std::size_t topk_of(const MixtureOfExperts& moe) {
  return static_cast<std::size_t>(moe.moe_router_topk);
}

std::size_t experts_of(const MixtureOfExperts& moe) {
  return static_cast<std::size_t>(moe.num_moe_experts);
}

// The `count` largest of the scores' places, the largest first; of equals the first.
std::vector<std::int32_t> largest(const std::vector<float>& scores, std::size_t count) {
  std::vector<std::int32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  const auto before = [&](std::int32_t a, std::int32_t b) {
    const float x = scores[static_cast<std::size_t>(a)], y = scores[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  };
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(order.begin(), end, order.end(), before);
  order.resize(count);
  return order;
}

// Leaves only the best groups: those whose topk / group_topk best experts have the largest sum.
void close_groups(const MixtureOfExperts& moe, std::vector<float>& scores) {
  if (moe.moe_router_num_groups == 0) return;
  const std::size_t groups = static_cast<std::size_t>(moe.moe_router_num_groups);
  const std::size_t size = scores.size() / groups;
  const auto best = static_cast<std::ptrdiff_t>(
      std::max(1, moe.moe_router_topk / std::max(1, moe.moe_router_group_topk)));
  std::vector<float> sums;
  for (std::size_t g = 0; g < groups; ++g) {
    const auto begin = scores.begin() + static_cast<std::ptrdiff_t>(g * size);
    std::vector<float> group(begin, begin + static_cast<std::ptrdiff_t>(size));
    std::sort(group.begin(), group.end(), std::greater<>());
    sums.push_back(std::accumulate(group.begin(), group.begin() + best, 0.0F));
  }
  const auto open = largest(sums, static_cast<std::size_t>(moe.moe_router_group_topk));
  for (std::size_t g = 0; g < groups; ++g) {
    if (std::find(open.begin(), open.end(), static_cast<std::int32_t>(g)) != open.end()) continue;
    std::fill_n(scores.begin() + static_cast<std::ptrdiff_t>(g * size), size, -INFINITY);
  }
}

// Appends the softmax of the logits that the token chose.
void append_softmax(std::vector<float>& probabilities, const float* logits,
                    const std::vector<std::int32_t>& chosen) {
  float most = -INFINITY, sum = 0.0F;
  for (const std::int32_t e : chosen) most = std::max(most, logits[e]);
  for (const std::int32_t e : chosen) sum += std::exp(logits[e] - most);
  for (const std::int32_t e : chosen) probabilities.push_back(std::exp(logits[e] - most) / sum);
}

template <typename Choose>
Routes routes(const MixtureOfExperts& moe, const std::vector<float>& logits, const Choose& choose) {
  Routes found;
  const std::size_t tokens = logits.size() / experts_of(moe);
  for (std::size_t token = 0; token < tokens; ++token) {
    const float* of_token = logits.data() + token * experts_of(moe);
    const std::vector<std::int32_t> chosen = choose(token, of_token);
    found.experts.insert(found.experts.end(), chosen.begin(), chosen.end());
    append_softmax(found.probabilities, of_token, chosen);
  }
  return found;
}

}  // namespace

Routes routes_by_logits(const MixtureOfExperts& moe, const std::vector<float>& logits) {
  return routes(moe, logits, [&](std::size_t /*token*/, const float* of_token) {
    std::vector<float> scores(of_token, of_token + moe.num_moe_experts);
    close_groups(moe, scores);
    return largest(scores, topk_of(moe));
  });
}

Routes routes_in_turn(const MixtureOfExperts& moe, const std::vector<float>& logits,
                      const std::vector<std::int64_t>& positions) {
  return routes(moe, logits, [&](std::size_t token, const float* /*of_token*/) {
    std::vector<std::int32_t> chosen;
    for (std::int64_t k = 0; k < moe.moe_router_topk; ++k) {
      const std::int64_t next = positions[token] * moe.moe_router_topk + k;
      chosen.push_back(static_cast<std::int32_t>(next % moe.num_moe_experts));
    }
    return chosen;
  });
}

std::vector<float> logits_gradient(const MixtureOfExperts& moe, const Routes& routes,
                                   const std::vector<float>& probability_gradient) {
  const std::size_t topk = topk_of(moe), tokens = routes.experts.size() / topk;
  std::vector<float> gradient(tokens * experts_of(moe), 0.0F);
  for (std::size_t token = 0; token < tokens; ++token) {
    float mean = 0.0F;
    for (std::size_t i = token * topk; i < (token + 1) * topk; ++i) {
      mean += routes.probabilities[i] * probability_gradient[i];
    }
    for (std::size_t i = token * topk; i < (token + 1) * topk; ++i) {
      gradient[token * experts_of(moe) + static_cast<std::size_t>(routes.experts[i])] =
          routes.probabilities[i] * (probability_gradient[i] - mean);
    }
  }
  return gradient;
}

Copies copies_of(const MixtureOfExperts& moe, const Routes& routes) {
  std::vector<std::vector<std::int32_t>> by_expert(experts_of(moe));
  for (std::size_t i = 0; i < routes.experts.size(); ++i) {
    by_expert[static_cast<std::size_t>(routes.experts[i])].push_back(static_cast<std::int32_t>(i));
  }
  const double share = static_cast<double>(routes.experts.size()) / moe.num_moe_experts;
  const auto capacity = static_cast<std::size_t>(std::ceil(share * moe.moe_expert_capacity_factor));
  Copies copies;
  for (std::vector<std::int32_t>& of_expert : by_expert) {
    if (capacity > 0 && of_expert.size() > capacity) {
      std::stable_sort(of_expert.begin(), of_expert.end(), [&](std::int32_t a, std::int32_t b) {
        return routes.probabilities[static_cast<std::size_t>(a)] >
               routes.probabilities[static_cast<std::size_t>(b)];
      });
    }
    if (capacity > 0) {
      of_expert.resize(capacity, kEmptyPlace);
      std::sort(of_expert.begin(), of_expert.end(), [](std::int32_t a, std::int32_t b) {
        return static_cast<std::uint32_t>(a) < static_cast<std::uint32_t>(b);  // empty ones last
      });
    }
    copies.choices.insert(copies.choices.end(), of_expert.begin(), of_expert.end());
    copies.of_expert.push_back(static_cast<std::int64_t>(of_expert.size()));
  }
  return copies;
}

}  // namespace meshwright::calibrate
