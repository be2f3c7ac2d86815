// SPDX-License-Identifier: Apache-2.0
// Names that stand for more than they say: recipes, options, flavours, images.
#include <gtest/gtest.h>

#include "interop/read_launch/bridge_recipe.h"
#include "interop/read_launch/megatron_arguments.h"
#include "interop/read_launch/read_launch.h"
#include "interop/serving/read_serving.h"
#include "interop/serving/serving_command.h"
#include "interop/serving/serving_options.h"
#include "sim/base/text.h"
#include "sim/block/parameters.h"

namespace meshwright::interop {
namespace {

TEST(BridgeRecipe, ItsNameSaysModelTaskDevicesChipAndPrecision) {
  const auto name = bridge_recipe_name("qwen3_30b_a3b_pretrain_16gpu_h100_fp8cs_config");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->model, "qwen3-30b-a3b");
  EXPECT_EQ(name->task, "pretrain");
  EXPECT_EQ(name->gpus, 16);
  EXPECT_EQ(name->chip, "h100");
  EXPECT_EQ(name->precision, "bf16_with_fp8_current_scaling_mixed");
  EXPECT_EQ(bridge_recipe_name("llama3_8b_lora_config")->task, "peft");
  EXPECT_EQ(bridge_recipe_name("llama3_8b_lora_config")->gpus, 0);
  EXPECT_FALSE(bridge_recipe_name("train.yaml"));
  EXPECT_FALSE(bridge_recipe_name("some_model_config"));
}

TEST(MegatronArguments, AreFoundByNameAndByKey) {
  EXPECT_EQ(megatron_argument("--disable-bias-linear")->key, "add_bias_linear");
  EXPECT_EQ(megatron_argument_of_key("fp8")->flag, "--fp8-format");
  EXPECT_EQ(megatron_argument("--of-tomorrow"), nullptr);
}

// 15.7, 20.9 and 14.77 G parameters (the models' cards), 109 G (Scout's).
TEST(TorchtitanRegistry, FlavoursAreShippedModelsOrTheirSizes) {
  const auto launch = [](const std::string& config) {
    return read_launch("CONFIG=" + config + " ./run_train.sh\n", "run.sh", {});
  };
  EXPECT_NEAR(static_cast<double>(total_parameters(launch("deepseek_v3_16b").model)), 15.7e9,
              0.1e9);
  EXPECT_EQ(launch("gpt_oss_20b").model_name, "gpt-oss-20b");
  EXPECT_EQ(launch("llama4_17bx16e").model_name, "llama-4-scout");
  EXPECT_EQ(launch("qwen3_0_6b").model_name, "qwen3-0.6b");
  EXPECT_EQ(launch("qwen3_14b").model_name, "qwen3-14b");
}

TEST(ServingNames, ImagesSayEngineAndVersion) {
  EXPECT_EQ(version_in_image("lmsysorg/sglang:v0.5.9-cu129"), "0.5.9");
  EXPECT_EQ(version_in_image("vllm/vllm-openai:latest"), "");
  EXPECT_EQ(engine_of_image("nvcr.io/nvidia/tensorrt-llm/release:1.0.0"), EngineKind::tensorrt_llm);
  EXPECT_EQ(engine_of_image("ghcr.io/llm-d/llm-d:v0.2.0"), EngineKind::vllm);
  EXPECT_EQ(engine_of_image("ghcr.io/llm-d/llm-d-inference-scheduler:v0.2.0"), std::nullopt);
  EXPECT_FALSE(names_serving_engine("torchrun pretrain_gpt.py --num-layers 12"));
  EXPECT_TRUE(names_serving_engine("exec vllm serve m"));
}

TEST(ServingNames, NoOptionStandsTwice) {
  for (const EngineKind engine : {EngineKind::vllm, EngineKind::sglang, EngineKind::tensorrt_llm}) {
    for (const ServingOption& option : serving_options(engine)) {
      for (const std::string& name : split_words(option.names)) {
        if (name.ends_with('.')) continue;
        EXPECT_EQ(serving_option(engine, name), &option) << name;
      }
      const bool needs_why = option.use == OptionUse::nothing || option.use == OptionUse::refused ||
                             option.use == OptionUse::refused_if_on ||
                             option.use == OptionUse::refused_if_off ||
                             option.use == OptionUse::refused_but_in_prefill;
      EXPECT_EQ(needs_why, !option.why.empty()) << option.names;
    }
  }
}

}  // namespace
}  // namespace meshwright::interop
