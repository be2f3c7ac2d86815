// SPDX-License-Identifier: Apache-2.0
// Recipes that software ships: what a recipe takes from another one, and that all names have sizes.
#include "interop/read_launch/shipped_recipes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace meshwright::interop {
namespace {

using testing::ElementsAre;

std::vector<std::string> said(const Values& values) {
  std::vector<std::string> all;
  for (const Value& value : values.all()) all.push_back(value.said);
  return all;
}

// b changes a's tp, takes its pp away, and does not inherit what a is called elsewhere.
TEST(ShippedRecipes, LayDifferencesOverTheRecipeThatTheyNameAndTakeAwayWhatIsNone) {
  const ShippedRecipes recipes(
      R"({"release": "Own 1.2", "recipes": {
          "a": {"model.tp": 2, "model.pp": 4, "also": "c"},
          "b": {"like": "a", "model.tp": 8, "model.pp": "None"}}})",
      "own.json");
  EXPECT_EQ(recipes.release(), "Own 1.2");
  EXPECT_THAT(said(recipes.values("a")), ElementsAre("model.tp = 2", "model.pp = 4", "also = c"));
  EXPECT_THAT(said(recipes.values("b")), ElementsAre("model.tp = 8"));
  EXPECT_FALSE(recipes.has("c"));
}

// The four without sizes are data sets.
TEST(ShippedRecipes, HaveTheSizesOfEachNameOfTheirRelease) {
  int without = 0;
  const std::vector<std::string> names = bridge_recipes().names();
  for (const std::string& name : names) {
    const Values values = bridge_recipes().values(name);
    const bool sized =
        values.has("train.global_batch_size") && values.has("train.micro_batch_size");
    if (!sized) ++without;
    EXPECT_TRUE(sized || name.starts_with("default_")) << name;
  }
  EXPECT_EQ(names.size(), 997U);
  EXPECT_EQ(without, 4);
  for (const std::string& name : torchtitan_recipes().names()) {
    const Values values = torchtitan_recipes().values(name);
    EXPECT_TRUE(values.has("model.flavor") && values.has("training.seq_len")) << name;
  }
}

}  // namespace
}  // namespace meshwright::interop
