// SPDX-License-Identifier: Apache-2.0
#include "calibrate/service_workload.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "calibrate/bench/bench.h"
#include "tests/unit/calibrate/two_layers.h"

namespace meshwright::calibrate {
namespace {

double calls_of(const Workload& workload, const GemmShape& shape) {
  double sum = 0;
  for (const GemmDemand& demand : workload.gemms) {
    if (demand.variant.shape == shape) sum += demand.calls;
  }
  return sum;
}

std::vector<CollectiveDemand> of_kind(const Workload& workload, Collective collective) {
  std::vector<CollectiveDemand> found;
  for (const CollectiveDemand& demand : workload.collectives) {
    if (demand.collective == collective) found.push_back(demand);
  }
  return found;
}

// On one rank 4 heads of 16 give 3 x 64 columns of query, key and value; the head has 1,024. Nine
// numbers of rows: a ninth of two layers, and of one head.
TEST(ServiceWorkload, HasProductsOfFewRows) {
  Workload workload;
  add_service(workload, two_layers(), {1}, 4.0);
  for (const int rows : kServedRows) {
    EXPECT_NEAR(calls_of(workload, {1, rows, 192, 64}), 2.0 / 9, 1e-12) << rows;
    EXPECT_NEAR(calls_of(workload, {1, rows, 1024, 64}), 1.0 / 9, 1e-12) << rows;
  }
  EXPECT_TRUE(workload.collectives.empty());
}

// Two tensor ranks share the router's tokens. One token is a row on one of them, and no product is
// without rows. The router has 8 columns, one for each expert.
TEST(ServiceWorkload, ATokenForTwoRanksIsARowOfTheRouter) {
  Model model = two_layers();
  model.moe =
      MixtureOfExperts{.num_moe_experts = 8, .moe_router_topk = 2, .moe_ffn_hidden_size = 32};
  Workload workload;
  add_service(workload, model, {2}, 4.0);
  EXPECT_GE(calls_of(workload, {1, 1, 8, 64}), 2.0 / 9);
  for (const GemmDemand& demand : workload.gemms) EXPECT_GT(demand.variant.shape.m, 0);
}

// Two layers have four all-reduces, and the embedding one: 5 of each number of rows. 64 numbers of
// 4 bytes a row are 256 bytes.
TEST(ServiceWorkload, HasTheAllReducesOfTensorRanks) {
  Workload workload;
  add_service(workload, two_layers(), {2}, 4.0);
  const auto all_reduces = of_kind(workload, Collective::all_reduce);
  ASSERT_EQ(all_reduces.size(), kServedRows.size());
  EXPECT_EQ(all_reduces.front().payload, bytes(256));
  EXPECT_EQ(all_reduces.back().payload, bytes(512 * 256));
  for (const CollectiveDemand& demand : all_reduces) {
    EXPECT_EQ(demand.group_size, 2);
    EXPECT_NEAR(demand.calls, 5.0 / 9, 1e-12);
  }
  EXPECT_NEAR(calls_of(workload, {1, 1, 96, 64}), 2.0 / 9, 1e-12);
}

// 1,024 logits of 4 bytes for each row, gathered once a step.
TEST(ServiceWorkload, GathersTheLogits) {
  Workload workload;
  add_service(workload, two_layers(), {2}, 4.0);
  const auto gathers = of_kind(workload, Collective::all_gather);
  ASSERT_EQ(gathers.size(), kServedRows.size());
  EXPECT_EQ(gathers.front().payload, bytes(4096));
  EXPECT_NEAR(gathers.front().calls, 1.0 / 9, 1e-12);
}

// A rank of two has 2 of 4 heads and 2 of 4 groups. The model's 64 positions hold a context of 32
// and a chunk of 32 tokens, no more.
TEST(ServiceWorkload, HasAttentionWithinTheModelsPositions) {
  Model model = two_layers();
  model.max_position_embeddings = 64;
  Workload workload;
  add_service(workload, model, {2}, 4.0);
  ASSERT_FALSE(workload.paged_attentions.empty());
  for (const PagedAttentionShape& shape : workload.paged_attentions) {
    EXPECT_EQ(shape.heads, 2);
    EXPECT_EQ(shape.query_groups, 2);
    EXPECT_LE(shape.cached + shape.rows, 64);
  }
  const PagedAttentionShape decode{8, 1, 31, 2, 2, 16}, prompt{1, 32, 0, 2, 2, 16};
  const auto has = [&](const PagedAttentionShape& shape) {
    const auto& all = workload.paged_attentions;
    return std::find(all.begin(), all.end(), shape) != all.end();
  };
  EXPECT_TRUE(has(decode));
  EXPECT_TRUE(has(prompt));
  // Three numbers of sequences with all and with a quarter of 1,024 logits.
  EXPECT_EQ(workload.engine_steps.size(), 6U);
}

// A rank of two has 2 of 4 groups of 16 numbers in each of two layers. Prompts fit into the model.
TEST(ServiceWorkload, HasCachesThatChangeReplicas) {
  Model model = two_layers();
  model.max_position_embeddings = 160;
  Workload workload;
  add_service(workload, model, {2}, 4.0);
  const std::vector<CacheCopyShape> copies{{32, 2, 2, 16, 16}, {160, 2, 2, 16, 16}};
  EXPECT_EQ(workload.cache_copies, copies);
}

// Two layers of 64 x 192, 64 x 64, 64 x 256 and 256 x 64, and 64 x 1,024 logits: 163,840 weights of
// 4 bytes, which a step reads between two uses of one.
TEST(ServiceWorkload, WeightsAreUsedAgainAfterAStep) {
  Workload workload;
  add_service(workload, two_layers(), {1}, 4.0);
  ASSERT_FALSE(workload.gemms.empty());
  for (const GemmDemand& demand : workload.gemms) {
    EXPECT_EQ(demand.variant.reused_after, bytes(655'360));
    EXPECT_TRUE(demand.variant.fresh.a);
  }
  // Products of 49,152 bytes each take turns 13 times.
  EXPECT_EQ(copies_between_uses(bytes(49'152), bytes(655'360)), 13U);
  EXPECT_EQ(copies_between_uses(bytes(1e6), bytes(655'360)), 1U);
}

// Latents are whole on each of two ranks: 2 of 4 heads, one latent.
TEST(ServiceWorkload, HasLatentAttention) {
  Model model = two_layers();
  model.mla = LatentAttention{};
  model.mla->kv_lora_rank = 32;
  model.mla->qk_head_dim = 16;
  model.mla->qk_pos_emb_head_dim = 8;
  model.mla->v_head_dim = 12;
  Workload workload;
  add_service(workload, model, {2}, 4.0);
  ASSERT_FALSE(workload.paged_attentions.empty());
  for (const PagedAttentionShape& shape : workload.paged_attentions) {
    EXPECT_TRUE(shape.is_latent());
    EXPECT_EQ(shape.heads, 2);
    EXPECT_EQ(shape.cached_numbers(), 40);
    EXPECT_EQ(shape.value_dim, 12);
  }
  ASSERT_FALSE(workload.cache_copies.empty());
  EXPECT_EQ(workload.cache_copies.front(), (CacheCopyShape{32, 2, 1, 32, 8}));
}

}  // namespace
}  // namespace meshwright::calibrate
