// SPDX-License-Identifier: Apache-2.0
// Configurations that software ships by name and whose values stand in its Python, from
// configs/recipes. They are compiled in, as interop reads no files.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "interop/read_launch/values.h"

namespace meshwright::interop {

class ShippedRecipes {
 public:
  // `text` is JSON: "recipes" has an object for each name, whose "like" names the recipe that it
  // changes, and whose "also" is not inherited; "common" has values of several.
  ShippedRecipes(std::string_view text, std::string file);

  // The software and its version, "Megatron-Bridge 0.6.2"; else the file's name.
  [[nodiscard]] std::string release() const;
  [[nodiscard]] bool has(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> names() const;
  // A recipe's values laid over those of the one that it is like. "None" takes one away.
  [[nodiscard]] Values values(std::string_view name) const;
  // Values below "common.NAME".
  [[nodiscard]] Values common(std::string_view name) const;

 private:
  void add(std::string_view name, int depth, Values& values) const;

  std::string file_;
  Values all_;
  std::map<std::string, Values, std::less<>> own_;  // what each recipe says itself
};

const ShippedRecipes& bridge_recipes();
const ShippedRecipes& torchtitan_recipes();

}  // namespace meshwright::interop
