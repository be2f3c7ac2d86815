// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/weights.h"

#include <gtest/gtest.h>

#include "tests/unit/llama_model.h"
#include "tests/unit/sim/serving/shipped.h"

namespace meshwright {
namespace {

using test::shipped_model;

TEST(QuantizedWeightBytes, AreThoseOfTheFormatAndItsScales) {
  EXPECT_DOUBLE_EQ(quantized_weight_bytes({.format = WeightFormat::bf16}), 2.0);
  EXPECT_DOUBLE_EQ(quantized_weight_bytes({.format = WeightFormat::fp8}), 1.0);
  // 4 B for 128 * 128 = 16,384 weights.
  EXPECT_DOUBLE_EQ(quantized_weight_bytes({.format = WeightFormat::fp8_block}), 1.000244140625);
  EXPECT_DOUBLE_EQ(quantized_weight_bytes({.format = WeightFormat::mxfp8}), 1.03125);
  EXPECT_DOUBLE_EQ(quantized_weight_bytes({.format = WeightFormat::mxfp4}), 0.53125);
  EXPECT_DOUBLE_EQ(quantized_weight_bytes({.format = WeightFormat::nvfp4}), 0.5625);
  // AWQ: 2 B of scale and half a byte of zero for 128 weights; Kimi-K2: 2 B for 32.
  EXPECT_NEAR(quantized_weight_bytes(
                  {.format = WeightFormat::int4, .group_size = 128, .zero_points = true}),
              0.5195, 1e-4);
  EXPECT_DOUBLE_EQ(quantized_weight_bytes({.format = WeightFormat::int4, .group_size = 32}),
                   0.5625);
}

// openai/gpt-oss-120b: 114.66 G weights of experts in mxfp4, 2.17 G in bf16: 65.25 GB, 60.8 GiB.
TEST(CheckpointBytes, OfGptOssAreThePublishedSize) {
  const Model model = shipped_model("gpt-oss-120b");
  const Bytes size = checkpoint_bytes(model, usual_scheme(WeightFormat::mxfp4, model));
  EXPECT_NEAR(in_gibibytes(size), 60.8, 0.3);
}

// DeepSeek-V3: 256 * 3 * 7,168 * 2,048 weights in each of 58 layers are 653.9 G: 654 GB in fp8, 368
// GB in nvfp4.
TEST(ReplicaWeights, OfDeepSeekExpertsAreThePublishedSizes) {
  const Model model = shipped_model("deepseek-v3");
  ReplicaOptions options{.weights = usual_scheme(WeightFormat::fp8_block, model)};
  EXPECT_NEAR(replica_weights(model, options).experts / gigabytes(1), 654.0, 1.0);
  options.weights = usual_scheme(WeightFormat::nvfp4, model);
  EXPECT_NEAR(replica_weights(model, options).experts / gigabytes(1), 367.8, 1.0);
}

TEST(CheckpointBytes, InSixteenBitsAreTwiceTheParameters) {
  for (const char* name : {"llama-3-70b", "deepseek-v3", "qwen3-235b-a22b", "gpt-oss-120b"}) {
    const Model model = shipped_model(name);
    EXPECT_DOUBLE_EQ(checkpoint_bytes(model, {}).value(),
                     2.0 * static_cast<double>(total_parameters(model)))
        << name;
  }
}

// Query 4,096 columns / 16 and one key-value head of 128 columns twice: (256 + 256) * 4,096 * 2 B.
TEST(ReplicaWeights, RepeatKeyValueHeadsBeyondTheirNumber) {
  const Model model = llama_model();  // 8 key-value heads
  const ReplicaOptions options{.layout = {.tensor_parallel_size = 16}};
  const double input = (256.0 + 2 * 128.0) * 4096 * 2, output = 4096.0 * 256 * 2;
  EXPECT_DOUBLE_EQ(replica_weights(model, options).attention.value(), 32 * (input + output));
}

TEST(ReplicaWeights, NeverGrowWithMoreRanks) {
  for (const char* name : {"llama-3-70b", "deepseek-v3", "qwen3-235b-a22b"}) {
    const Model model = shipped_model(name);
    Bytes before = gigabytes(1e6);
    for (const int tp : {1, 2, 4, 8, 16}) {
      const Bytes now = replica_weights(model, {.layout = {.tensor_parallel_size = tp}}).total();
      EXPECT_LT(now, before) << name << " tp " << tp;
      before = now;
    }
  }
}

// Llama 3 8B: a layer has 4,096 * (2 * 4,096 + 2 * 1,024) weights of attention, 3 * 4,096 * 14,336
// of the MLP and 2 * 4,096 of norms; a table has 128,256 * 4,096. Each weight has 2 B.
TEST(ReplicaWeights, EachStageHasOneTable) {
  const double layer = 2.0 * (4096.0 * (2 * 4096 + 2 * 1024) + 3.0 * 4096 * 14336 + 2 * 4096);
  const double table = 2.0 * 128256 * 4096;
  Model model = llama_model();
  const auto weights = [&](int pp) {
    return replica_weights(model, {.layout = {.pipeline_parallel_size = pp}});
  };
  EXPECT_DOUBLE_EQ(weights(1).total().value(), 32 * layer + 2 * table);
  EXPECT_DOUBLE_EQ(weights(2).total().value(), 16 * layer + table);
  model.tied_embeddings = true;
  EXPECT_DOUBLE_EQ(weights(1).total().value(), 32 * layer + table);
  EXPECT_DOUBLE_EQ(weights(1).head.value(), 0.0);
  EXPECT_DOUBLE_EQ(weights(2).total().value(), 16 * layer + table);
  EXPECT_DOUBLE_EQ(weights(3).total().value(), 11 * layer + table);
}

// An 8-bit head leaves the first stage, which has a 16-bit embedding, with more.
TEST(ReplicaWeights, AreThoseOfTheFullestStage) {
  const ReplicaOptions options{
      .weights = {.format = WeightFormat::fp8, .quantized = kQuantizedLinears | kQuantizedHead},
      .layout = {.pipeline_parallel_size = 2}};
  const ReplicaWeights found = replica_weights(llama_model(), options);
  EXPECT_DOUBLE_EQ(found.embedding.value(), 2.0 * 128256 * 4096);
  EXPECT_DOUBLE_EQ(found.head.value(), 0.0);
}

TEST(ReplicaWeights, ExpertsAreTheSameHoweverTheyAreCut) {
  const Model model = shipped_model("qwen3-235b-a22b");
  const auto experts = [&](int tp, int ep) {
    return replica_weights(model,
                           {.layout = {.tensor_parallel_size = tp, .expert_parallel_size = ep}})
        .experts.value();
  };
  EXPECT_DOUBLE_EQ(experts(8, 1), experts(8, 8));
  EXPECT_DOUBLE_EQ(experts(8, 1) * 8, experts(1, 1));
}

TEST(UsualScheme, KeepsWhatCheckpointsKeepInSixteenBits) {
  const Model mla = shipped_model("deepseek-v3"), dense = llama_model();
  EXPECT_EQ(usual_scheme(WeightFormat::mxfp4, mla).quantized, kQuantizedExperts);
  EXPECT_EQ(usual_scheme(WeightFormat::nvfp4, mla).quantized &
                (kQuantizedAttentionInput | kQuantizedAttentionOutput),
            0U);
  EXPECT_EQ(usual_scheme(WeightFormat::nvfp4, dense).quantized, kQuantizedLinears);
  EXPECT_TRUE(usual_scheme(WeightFormat::int4, dense).zero_points);
}

}  // namespace
}  // namespace meshwright
