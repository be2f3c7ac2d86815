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

// Where some software or search sets this field, a line must say that the layout does not have it.
bool says_default(std::string_view field, const Layout& l) {
  const bool sends_tokens = l.expert_parallel_size > 1;
  if (field == "overlap_grad_reduce") return gradient_group_size(l) > 1;
  if (field == "overlap_param_gather") return l.overlap_grad_reduce && l.zero_stage > 0;
  if (field == "overlap_p2p_comm") return traits(l.schedule).overlaps_sends;
  if (field == "zero_stage") return l.fsdp_unit != FsdpUnit::none || l.all_reduce_gradients;
  if (field == "moe_token_dispatcher_type") return sends_tokens;
  if (field == "moe_flex_dispatcher_backend") {
    return sends_tokens && l.moe_token_dispatcher_type == MoeTokenDispatcherType::flex;
  }
  return false;
}

template <typename IsSaid>
std::vector<LayoutWord> words_where(const Layout& layout, const IsSaid& is_said) {
  Layout rest = layout;
  std::vector<LayoutWord> words;
  for_each_field([&](const auto& field) {
    const auto value = rest.*field.member;
    if (!is_said(field)) return;
    if (value == field.default_value(rest) && !says_default(field.name, layout)) return;
    if constexpr (std::is_same_v<decltype(value), const RecomputeGranularity>) {
      words.push_back({field.level, recompute_word(field, rest)});
    } else {
      words.push_back({field.level, word_of(field, value)});
    }
  });
  return words;
}

std::string joined(const std::vector<LayoutWord>& words) {
  std::string text;
  for (const LayoutWord& word : words) append_to_list(text, " ", word.text);
  return text.empty() ? "one rank" : text;
}

}  // namespace

std::vector<LayoutWord> words_of(const Layout& layout) {
  return words_where(layout, [](const auto& /*field*/) { return true; });
}

std::string short_name(const Layout& layout) { return joined(words_of(layout)); }

std::string brief_name(const Layout& layout) {
  return joined(words_where(layout, [](const auto& field) { return field.in_brief_name; }));
}

}  // namespace meshwright
