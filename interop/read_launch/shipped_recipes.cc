// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/shipped_recipes.h"

#include <fmt/ranges.h>

#include <utility>

#include "interop/read_launch/document.h"
#include "interop/read_launch/shipped_recipes_text.h"

namespace meshwright::interop {
namespace {

constexpr int kMostLikes = 10;

}  // namespace

ShippedRecipes::ShippedRecipes(std::string_view text, std::string file)
    : file_(std::move(file)), all_(values_of_json(text, file_)) {
  for (Value& value : below(all_, "recipes.").all()) {
    const std::size_t dot = value.key.find('.');
    Values& own = own_[value.key.substr(0, dot)];
    value.key.erase(0, dot + 1);
    own.add(std::move(value));
  }
}

std::string ShippedRecipes::release() const {
  for (const Value& value : all_.all()) {
    if (value.key == "release") return value.words.front();
  }
  return file_;
}

bool ShippedRecipes::has(std::string_view name) const { return own_.contains(name); }

std::vector<std::string> ShippedRecipes::names() const {
  std::vector<std::string> names;
  for (const auto& [name, own] : own_) names.push_back(name);
  return names;
}

void ShippedRecipes::add(std::string_view name, int depth, Values& values) const {
  const auto found = own_.find(name);
  if (found == own_.end()) return;
  for (const Value& value : found->second.all()) {
    if (value.key == "like" && depth < kMostLikes) add(value.words.front(), depth + 1, values);
  }
  for (const Value& value : found->second.all()) {
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
