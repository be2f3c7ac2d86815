// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/kv_cache.h"

#include <gtest/gtest.h>

#include "tests/unit/llama_model.h"
#include "tests/unit/sim/serving/shipped.h"

namespace meshwright {
namespace {

using test::shipped_model;

double token(const Model& model, KvCacheFormat format = KvCacheFormat::bf16) {
  return kv_token_bytes(model, format).value();
}

// 2 * layers * key-value heads * head width * 2 B.
TEST(KvTokenBytes, AreThoseOfPublishedModels) {
  EXPECT_EQ(token(llama_model()), 131'072);                     // 2 * 32 * 8 * 128 * 2
  EXPECT_EQ(token(shipped_model("llama-3-70b")), 327'680);      // 2 * 80 * 8 * 128 * 2
  EXPECT_EQ(token(shipped_model("llama-3-405b")), 516'096);     // 2 * 126 * 8 * 128 * 2
  EXPECT_EQ(token(shipped_model("qwen3-8b")), 147'456);         // 2 * 36 * 8 * 128 * 2
  EXPECT_EQ(token(shipped_model("qwen3-32b")), 262'144);        // 2 * 64 * 8 * 128 * 2
  EXPECT_EQ(token(shipped_model("qwen3-30b-a3b")), 98'304);     // 2 * 48 * 4 * 128 * 2
  EXPECT_EQ(token(shipped_model("mixtral-8x7b")), 131'072);     // 2 * 32 * 8 * 128 * 2
  EXPECT_EQ(token(shipped_model("qwen3-235b-a22b")), 192'512);  // 2 * 94 * 4 * 128 * 2
}

// 61 layers of 512 + 64 numbers: 70,272 B; fp8 half; FlashMLA's 656 B a layer 40,016.
TEST(KvTokenBytes, OfLatentAttentionAreOneVectorALayer) {
  const Model model = shipped_model("deepseek-v3");
  EXPECT_EQ(token(model), 70'272);
  EXPECT_EQ(token(model, KvCacheFormat::fp8), 35'136);
  EXPECT_EQ(token(model, KvCacheFormat::fp8_ds_mla), 40'016);
  // DeepSeek-V3.2's indexer: 128 + 4 B a layer more, 8,052 B.
  Model indexed = model;
  indexed.mla->dsa_indexer_n_heads = 64;
  indexed.mla->dsa_indexer_head_dim = 128;
  EXPECT_EQ(token(indexed, KvCacheFormat::fp8_ds_mla), 40'016 + 8'052);
}

// gpt-oss-120b: 18 layers with whole contexts, 2,048 B a token each, are 36,864 B; the 18 with
// windows hold 128 tokens: 4.72 MB a request.
TEST(SequenceCache, KeepsWindowsAndWholeContextsApart) {
  const Model model = shipped_model("gpt-oss-120b");
  const SequenceCache cache = sequence_cache(model, {}, 1);
  EXPECT_EQ(cache.full_token.value(), 36'864);
  EXPECT_EQ(cache.window_token * 128.0, bytes(4'718'592));
  // A long request holds 128 tokens and the block that begins.
  EXPECT_EQ(cache.bytes_of(10'000).value(), 10'000 * 36'864.0 + 129 * 36'864.0);
}

// vllm#12400: 5 users of 131,072 tokens each, 327,680 B a token: 214.7 GB.
TEST(SequenceCache, OfFiveLongUsersIs215GigabytesInSixteenBits) {
  const Model model = shipped_model("llama-3-70b");
  const SequenceCache cache = sequence_cache(model, {}, 16);
  EXPECT_NEAR(cache.bytes_of(131'072) * 5.0 / gigabytes(1), 215.0, 0.5);
  const ReplicaOptions fp8{.kv_cache = KvCacheFormat::fp8};
  EXPECT_NEAR(sequence_cache(model, fp8, 16).bytes_of(131'072) * 5.0 / gigabytes(1), 107.4, 0.1);
}

// 8 heads over 16 ranks: two copies, one head a rank; MLA: as many copies as tensor ranks, which
// decode context parallelism spreads.
TEST(KvReplication, BeginsBeyondTheHeads) {
  const Model grouped = llama_model(), latent = shipped_model("deepseek-v3");
  EXPECT_EQ(kv_replication(grouped, {.tensor_parallel_size = 4}), 1.0);
  EXPECT_EQ(kv_replication(grouped, {.tensor_parallel_size = 16}), 2.0);
  EXPECT_EQ(kv_replication(latent, {.tensor_parallel_size = 8}), 8.0);
  EXPECT_EQ(kv_replication(latent, {.tensor_parallel_size = 8, .decode_context_parallel_size = 8}),
            1.0);
}

TEST(KvRankBytes, OfAllRanksAreTheTokenTimesItsCopies) {
  const Model model = llama_model();
  for (const int tp : {1, 2, 8, 16}) {
    const ReplicaOptions options{.layout = {.tensor_parallel_size = tp}};
    EXPECT_DOUBLE_EQ(kv_rank_layer_bytes(model, options).value() * tp,
                     kv_layer_bytes(model, {}, KvCacheFormat::bf16).full.value() *
                         kv_replication(model, options.layout));
  }
}

TEST(InBlocks, RoundsUp) {
  EXPECT_EQ(in_blocks(1, 16), 16);
  EXPECT_EQ(in_blocks(16, 16), 16);
  EXPECT_EQ(in_blocks(17, 16), 32);
  EXPECT_EQ(in_blocks(17, 1), 17);
}

TEST(HasKvLayout, IsFalseOfAModelWithoutAttention) {
  EXPECT_FALSE(has_kv_layout(shipped_model("toy-mlp")));
  EXPECT_TRUE(has_kv_layout(shipped_model("deepseek-v3")));
}

}  // namespace
}  // namespace meshwright
