// SPDX-License-Identifier: Apache-2.0
#include "reports/records/comparison_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "reports/text/text.h"
#include "sim/base/text.h"
#include "sim/base/units.h"
#include "sim/hardware/device_noun.h"

namespace meshwright::reports {
namespace {

struct KeyWord {
  std::string_view key, word;
};
// Plain words for keys.
constexpr std::array kWords{KeyWord{"gpus", "GPUs"},
                            KeyWord{"kv", "KV"},
                            KeyWord{"ffn", "FFN"},
                            KeyWord{"moe", "MoE"},
                            KeyWord{"mla", "MLA"},
                            KeyWord{"mtp", "MTP"},
                            KeyWord{"num", "number of"},
                            KeyWord{"fp8", "FP8"},
                            KeyWord{"tool_version", "version of meshwright"}};

std::string in_words(const std::string& key) {
  for (const KeyWord& word : kWords) {
    if (word.key == key) return std::string(word.word);
  }
  std::string text;
  for (std::string& part : split(key, '_')) {
    for (const KeyWord& word : kWords) {
      if (word.key == part) part = word.word;
    }
    append_to_list(text, " ", part);
  }
  return text;
}

const ComparedQuantity* quantity(const Comparison& comparison, std::string_view name) {
  const auto& all = comparison.quantities;
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const ComparedQuantity& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

// 0 where the report has no such number.
double number_of(const Comparison& comparison, std::string_view name, std::size_t place) {
  const ComparedQuantity* found = quantity(comparison, name);
  return found == nullptr ? 0.0 : found->values.each[place].value_or(0.0);
}

double per_second(const Comparison& comparison, std::size_t place) {
  return number_of(comparison, "tokens_per_second_per_gpu", place) *
         number_of(comparison, "gpus", place);
}

// Tells whether the intervals of two steps of the same work overlap: the prediction cannot tell
// them apart.
bool overlap(const Comparison& comparison, std::size_t a, std::size_t b) {
  constexpr std::string_view kWork = "tokens_per_step";
  if (number_of(comparison, kWork, a) != number_of(comparison, kWork, b)) return false;
  const ComparedQuantity* step = quantity(comparison, "step_time_seconds");
  if (step == nullptr) return false;
  const NumberOfEach &low = step->low, &high = step->high;
  const bool ends = low[a] && low[b] && high[a] && high[b];
  return ends && *high[a] >= *low[b] && *high[b] >= *low[a];
}

std::string standing(const Comparison& comparison, std::size_t place, std::size_t first) {
  const double mine = per_second(comparison, place);
  const double change = mine / per_second(comparison, first) - 1.0;
  const auto gpus = std::llround(number_of(comparison, "gpus", place));
  const ComparedFacts& report = comparison.reports[place];
  std::string text = fmt::format("{} {} tokens/s with {} on {} {}", report.name, si_text(mine, 4),
                                 report.layout, count_text(gpus), device_noun(comparison, gpus));
  if (place != first) text += fmt::format(" ({:+.1f} %)", change * 100.0);
  return text;
}

std::vector<std::size_t> fitting(const Comparison& comparison) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < comparison.reports.size(); ++i) {
    if (comparison.reports[i].fits) places.push_back(i);
  }
  return places;
}

// Names the reports whose steps cannot be told from the fastest one's.
std::string overlaps(const Comparison& comparison, const std::vector<std::size_t>& places) {
  std::string names;
  for (std::size_t i = 1; i < places.size(); ++i) {
    const bool differ = per_second(comparison, places[i]) != per_second(comparison, places.front());
    if (!differ || !overlap(comparison, places.front(), places[i])) continue;
    append_to_list(names, ", ", comparison.reports[places[i]].name);
  }
  if (names.empty()) return "";
  return fmt::format(
      " The intervals of the step times of {} and {} overlap: the predictions alone do not tell "
      "them apart.",
      comparison.reports[places.front()].name, names);
}

}  // namespace

std::string_view device_noun(const Comparison& comparison, std::int64_t count) {
  const bool cores = std::all_of(
      comparison.reports.begin(), comparison.reports.end(),
      [](const ComparedFacts& report) { return report.device_kind == DeviceKind::cpu; });
  return meshwright::device_noun(cores ? DeviceKind::cpu : DeviceKind::gpu, count);
}

std::string words_of_pointer(const std::string& pointer) {
  std::string words;
  if (pointer.empty()) return words;
  for (const std::string& key : split(pointer.substr(1), '/')) {
    append_to_list(words, ": ", in_words(key));
  }
  return words;
}

std::string comparison_sentence(const Comparison& comparison) {
  std::vector<std::size_t> places = fitting(comparison);
  const std::size_t all = comparison.reports.size();
  if (places.empty()) return "No layout fits in any of the reports.";
  std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
    return per_second(comparison, a) > per_second(comparison, b);
  });
  std::string text =
      places.size() > 1 ? "Most tokens/s first: " : "Only in one report a layout fits: ";
  for (std::size_t i = 0; i < places.size(); ++i) {
    text += (i == 0 ? "" : "; ") + standing(comparison, places[i], places.front());
  }
  text += ".";
  if (places.size() > 1 && places.size() < all) text += " In the others no layout fits.";
  return text + overlaps(comparison, places);
}

}  // namespace meshwright::reports
