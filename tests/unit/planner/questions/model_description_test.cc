// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/model_description.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "sim/block/parameters.h"
#include "tests/paths.h"
#include "tests/unit/sim/serving/shipped.h"

namespace meshwright::planner {
namespace {

std::int64_t part(const ModelDescription& found, const std::string& name) {
  for (const ModelPart& one : found.parts) {
    if (one.name == name) return one.parameters;
  }
  return 0;
}

// h 4,096, 32 layers, f 14,336, 8 key-value heads of 128, 128,256 words.
TEST(ModelDescription, CountsLlama3ByHand) {
  const ModelDescription found = describe(test::shipped_model("llama-3-8b"));
  EXPECT_EQ(part(found, "embedding"), 128256LL * 4096);
  EXPECT_EQ(part(found, "attention"), 32LL * (2 * 4096 * 4096 + 2 * 4096 * 1024));
  EXPECT_EQ(part(found, "MLP"), 32LL * 3 * 4096 * 14336);
  EXPECT_EQ(part(found, "norms"), 65LL * 4096);
  EXPECT_EQ(part(found, "head"), 128256LL * 4096);
  EXPECT_EQ(found.parameters, 8030261248);
  EXPECT_EQ(found.cache_per_token.value(), 32 * 2 * 1024 * 2);
  ASSERT_EQ(found.kinds.size(), 1U);
  EXPECT_EQ(found.kinds.front().layers, 32);
  // One token attends to itself: products alone. Half of its one position counts.
  const double products = 8030261248.0 - 128256.0 * 4096 - 65.0 * 4096;
  EXPECT_EQ(found.flops.front().seq_length, 1);
  EXPECT_NEAR(found.flops.front().forward.value(), 2 * products + 32 * 2 * 4096, 1.0);
}

TEST(ModelDescription, PartsAreAllParametersOfEveryShippedModel) {
  for (const auto& file : std::filesystem::directory_iterator(std::string(MESHWRIGHT_SOURCE_DIR) +
                                                              "/configs/models")) {
    const Model model = test::shipped_model(file.path().stem().string());
    const ModelDescription found = describe(model);
    std::int64_t sum = 0;
    int layers = 0;
    for (const ModelPart& one : found.parts) sum += one.parameters;
    for (const AlikeLayers& kind : found.kinds) layers += kind.layers;
    EXPECT_EQ(sum, total_parameters(model)) << model.name;
    EXPECT_EQ(layers, model.num_layers) << model.name;
  }
}

}  // namespace
}  // namespace meshwright::planner
