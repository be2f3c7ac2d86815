// SPDX-License-Identifier: Apache-2.0
// Recipes of Megatron-Bridge. A name says model, task, devices, chip and precision; the sizes are
// in Python. Those of configs/recipes/megatron-bridge.json are known, of others they are asked for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interop/read_launch/launch_record.h"
#include "interop/read_launch/values.h"

namespace meshwright::interop {

// "qwen3_8b_pretrain_16gpu_h100_bf16_config".
struct BridgeRecipeName {
  std::string model{};      // "qwen3-8b"
  std::string task{};       // pretrain, sft, peft or dpo
  int gpus = 0;             // 0: not said
  std::string chip{};       // "h100"; empty: not said
  std::string precision{};  // a preset of mixed_precision; empty: not said
};
// nothing: it is no name of a recipe.
std::optional<BridgeRecipeName> bridge_recipe_name(std::string_view name);

// Recipe that a command names, without its overrides.
struct BridgeRecipe {
  Value said;                      // its key is the option, its word the name
  std::vector<std::string> nulls;  // keys that overrides set to null
};

// The overrides laid over what the recipe sets. Throws InputError: a recipe that is not known
// whose sizes the overrides leave out, all of which the message lists.
Values over_recipe(const BridgeRecipe& recipe, const Values& overrides, const LaunchHints& hints,
                   LaunchRecord& record);

}  // namespace meshwright::interop
