// SPDX-License-Identifier: Apache-2.0
#include "sim/layout/short_name.h"

#include <fmt/format.h>

#include "sim/base/text.h"

namespace meshwright {
namespace {

// A size with a short name stands beside it, a switch alone.
template <typename T>
std::string word_of(const Field<T>& field, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return fmt::format("{}{}", field.short_name, value ? "" : "=false");
  } else {
    const bool beside = std::is_same_v<T, int> && field.short_name != field.name;
    return fmt::format("{}{}{}", field.short_name, beside ? "" : "=", value_text(field, value));
  }
}

// Takes out of the layout what the word says beside the granularity.
std::string recompute_word(const Field<RecomputeGranularity>& field, Layout& layout) {
  constexpr auto kModules =
      meshwright::field(&Layout::recompute_modules, "").among({kRecomputeModuleNames});
  const Layout defaults;
  std::string word = word_of(field, layout.recompute_granularity);
  if (layout.recompute_granularity == RecomputeGranularity::selective &&
      layout.recompute_modules != defaults.recompute_modules &&
      layout.recompute_modules.bits != 0) {
    word += fmt::format(":{}", value_text(kModules, layout.recompute_modules));
    layout.recompute_modules = defaults.recompute_modules;
  }
  if (layout.recompute_granularity == RecomputeGranularity::full &&
      layout.recompute_method == RecomputeMethod::block && layout.recompute_num_layers > 0) {
    word += fmt::format(":{}", layout.recompute_num_layers);
    layout.recompute_method = defaults.recompute_method;
    layout.recompute_num_layers = 0;
  }
  return word;
}

}  // namespace

std::vector<LayoutWord> words_of(const Layout& layout) {
  Layout rest = layout;
  std::vector<LayoutWord> words;
  for_each_field([&](const auto& field) {
    const auto value = rest.*field.member;
    if (value == field.unsaid(rest)) return;
    if constexpr (std::is_same_v<decltype(value), const RecomputeGranularity>) {
      words.push_back({field.level, recompute_word(field, rest)});
    } else {
      words.push_back({field.level, word_of(field, value)});
    }
  });
  return words;
}

std::string short_name(const Layout& layout) {
  std::string text;
  for (const LayoutWord& word : words_of(layout)) {
    append_to_list(text, " ", word.text);
  }
  return text.empty() ? "one rank" : text;
}

std::string brief_name(const Layout& layout) {
  Layout plain = layout;
  for_each_field([&](const auto& field) {
    if (!field.in_brief_name) plain.*field.member = Layout{}.*field.member;
  });
  return short_name(plain);
}

}  // namespace meshwright
