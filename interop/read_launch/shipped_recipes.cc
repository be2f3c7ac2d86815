// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/shipped_recipes.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "interop/read_launch/document.h"
#include "interop/read_launch/shipped_recipes_text.h"

namespace meshwright::interop {
namespace {

constexpr int kMostLikes = 10;

std::string below_recipe(std::string_view name) { return "recipes." + std::string(name) + "."; }

}  // namespace

ShippedRecipes::ShippedRecipes(std::string_view text, std::string file)
    : file_(std::move(file)), all_(values_of_json(text, file_)) {}

std::string ShippedRecipes::release() const {
  for (const Value& value : all_.all()) {
    if (value.key == "release") return value.words.front();
  }
  return file_;
}

bool ShippedRecipes::has(std::string_view name) const {
  const std::string prefix = below_recipe(name);
  return std::any_of(all_.all().begin(), all_.all().end(),
                     [&](const Value& value) { return value.key.starts_with(prefix); });
}

std::vector<std::string> ShippedRecipes::names() const {
  std::vector<std::string> names;
  for (const Value& value : below(all_, "recipes.").all()) {
    const std::string name = value.key.substr(0, value.key.find('.'));
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  return names;
}

void ShippedRecipes::add(std::string_view name, int depth, Values& values) const {
  const Values own = below(all_, below_recipe(name));
  for (const Value& value : own.all()) {
    if (value.key == "like" && depth < kMostLikes) add(value.words.front(), depth + 1, values);
  }
  for (const Value& value : own.all()) {
    const bool none = value.words.size() == 1 && value.words.front() == "None";
    if (none) values.drop(value.key);
    const bool own_alone = value.key == "like" || (value.key == "also" && depth > 0);
    if (!none && !own_alone) values.put_over(value);
  }
}

Values ShippedRecipes::values(std::string_view name) const {
  Values values;
  add(name, 0, values);
  for (Value& value : values.all()) {  // without the recipe that says it
    value.said = fmt::format("{} = {}", value.key, fmt::join(value.words, " "));
  }
  return values;
}

Values ShippedRecipes::common(std::string_view name) const {
  return below(all_, "common." + std::string(name) + ".");
}

const ShippedRecipes& bridge_recipes() {
  static const ShippedRecipes recipes(kBridgeRecipes, "configs/recipes/megatron-bridge.json");
  return recipes;
}

const ShippedRecipes& torchtitan_recipes() {
  static const ShippedRecipes recipes(kTorchtitanRecipes, "configs/recipes/torchtitan.json");
  return recipes;
}

}  // namespace meshwright::interop
