// SPDX-License-Identifier: Apache-2.0
// Names that stand for more than they say: recipes, options, flavours.
#include <gtest/gtest.h>

#include "interop/read_launch/bridge_recipe.h"
#include "interop/read_launch/megatron_arguments.h"
#include "interop/read_launch/read_launch.h"
#include "sim/model/parameters.h"

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
TEST(TorchtitanRegistry, FlavoursOfModelsThatAreNotShipped) {
  const auto parameters = [](const std::string& config) {
    return static_cast<double>(total_parameters(
        read_launch("CONFIG=" + config + " ./run_train.sh\n", "run.sh", {}).model));
  };
  EXPECT_NEAR(parameters("deepseek_v3_16b"), 15.7e9, 0.1e9);
  EXPECT_NEAR(parameters("gpt_oss_20b"), 20.9e9, 0.1e9);
  EXPECT_NEAR(parameters("llama4_17bx16e"), 107.8e9, 0.5e9);
  EXPECT_NEAR(parameters("qwen3_0_6b"), 0.596e9, 0.002e9);
  EXPECT_NEAR(parameters("qwen3_14b"), 14.77e9, 0.01e9);
}

}  // namespace
}  // namespace meshwright::interop
