// SPDX-License-Identifier: Apache-2.0
#include "interop/huggingface_weights.h"

#include <gtest/gtest.h>

namespace meshwright::interop {
namespace {

StoredWeights stored_weights(const char* quantization) {
  Json config = Json::parse(R"({"model_type": "llama"})");
  config["quantization_config"] = Json::parse(quantization);
  return stored_weights_of_huggingface(config);
}

TEST(HuggingFaceWeights, EachMethodHasItsFormat) {
  EXPECT_EQ(stored_weights(R"({"quant_method": "fp8"})").format, WeightFormat::fp8);
  EXPECT_EQ(stored_weights(R"({"quant_method": "fp8", "weight_block_size": [128, 128]})").format,
            WeightFormat::fp8_block);
  EXPECT_EQ(stored_weights(R"({"quant_method": "mxfp4"})").format, WeightFormat::mxfp4);
  EXPECT_EQ(stored_weights(R"({"quant_method": "awq", "bits": 4})").format, WeightFormat::int4);
  EXPECT_EQ(stored_weights(R"({"quant_method": "modelopt", "quant_algo": "NVFP4"})").format,
            WeightFormat::nvfp4);
}

TEST(HuggingFaceWeights, CompressedTensorsSayBitsAndType) {
  const auto group = [](const std::string& weights) {
    return stored_weights((R"({"quant_method": "compressed-tensors", "config_groups": {"group_0":
                      {"weights": )" +
                           weights + "}}}")
                              .c_str());
  };
  EXPECT_EQ(group(R"({"num_bits": 8, "type": "float", "strategy": "channel"})").format,
            WeightFormat::fp8);
  EXPECT_EQ(group(R"({"num_bits": 8, "type": "float", "strategy": "block"})").format,
            WeightFormat::fp8_block);
  EXPECT_EQ(group(R"({"num_bits": 4, "type": "int"})").format, WeightFormat::int4);
  EXPECT_EQ(group(R"({"num_bits": 4, "type": "float", "group_size": 16})").format,
            WeightFormat::nvfp4);
  EXPECT_EQ(group(R"({"num_bits": 8, "type": "int"})").format, std::nullopt);
}

TEST(HuggingFaceWeights, AnotherMethodIsNamedAndHasNoFormat) {
  EXPECT_EQ(stored_weights(R"({"quant_method": "gptq", "bits": 8})").format, std::nullopt);
  EXPECT_EQ(stored_weights(R"({"quant_method": "bitsandbytes"})").method, "bitsandbytes");
  EXPECT_EQ(stored_weights(R"({"bits": 4})").method, "unnamed");
  EXPECT_EQ(stored_weights_of_huggingface(Json::parse(R"({"model_type": "llama"})")).method, "");
}

TEST(HuggingFaceWeights, TheLanguageModelMayHaveIt) {
  const Json config = Json::parse(
      R"({"model_type": "llava", "text_config": {"quantization_config": {"quant_method": "fp8"}}})");
  EXPECT_EQ(stored_weights_of_huggingface(config).format, WeightFormat::fp8);
}

}  // namespace
}  // namespace meshwright::interop
