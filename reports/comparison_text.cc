// SPDX-License-Identifier: Apache-2.0
#include "reports/comparison_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "reports/sections/section_parts.h"
#include "reports/text.h"
#include "sim/base/text.h"
#include "sim/base/units.h"
#include "sim/base/utf8.h"
#include "sim/hardware/device_noun.h"

namespace meshwright::reports {
namespace {

struct KeyWord {
  std::string_view key, word;
};
// What of a key is no plain English.
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

// What the prediction cannot tell apart: steps of the same work whose intervals overlap.
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

// Whose steps cannot be told from the fastest one's.
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

// "5.57 (5.1 to 6.0)".
Cell with_ends(const ComparedQuantity& quantity, std::size_t place) {
  const std::optional<double>& value = quantity.values.each[place];
  if (!value) return {};
  const auto text = [&](double amount) { return significant(amount / quantity.unit_size); };
  const std::optional<double>&low = quantity.low[place], &high = quantity.high[place];
  return low && high ? fmt::format("{} ({} to {})", text(*value), text(*low), text(*high))
                     : text(*value);
}

struct Columns {
  std::string key, heading, unit;
};

// `what` first, then a column a report.
Table table_of(std::string title, const std::string& what, const Comparison& comparison,
               const Columns& columns) {
  Table table{std::move(title), {{"name", what, ""}}, {}};
  for (std::size_t i = 0; i < comparison.reports.size(); ++i) {
    table.columns.push_back({fmt::format("{}_{}", columns.key, i + 1),
                             columns.heading + comparison.reports[i].name, columns.unit});
  }
  return table;
}

void add_changes(Table& table, const Comparison& comparison) {
  const std::vector<ComparedFacts>& reports = comparison.reports;
  for (std::size_t i = 1; i < reports.size(); ++i) {
    table.columns.push_back({fmt::format("change_percent_{}", i + 1),
                             fmt::format("{} against {}", reports[i].name, reports[0].name), "%",
                             3});
  }
}

void add_changes(std::vector<Cell>& cells, const ComparedRow& row) {
  const NumberOfEach changes = changes_of(row);
  for (std::size_t i = 1; i < changes.size(); ++i) cells.push_back(optional_cell(changes[i]));
}

void add_numbers(std::vector<Cell>& cells, const NumberOfEach& numbers, double unit = 1.0) {
  for (const std::optional<double>& number : numbers) {
    cells.push_back(number ? Cell(*number / unit) : Cell());
  }
}

Table quantities_table(const Comparison& comparison) {
  Table table = table_of("The best layouts, with 90 % and 10 to 90 % ranges", "quantity",
                         comparison, {"value", "", ""});
  add_changes(table, comparison);
  for (const ComparedQuantity& one : comparison.quantities) {
    std::vector<Cell> cells{one.label + (one.unit.empty() ? "" : ", " + one.unit)};
    for (std::size_t i = 0; i < comparison.reports.size(); ++i) cells.push_back(with_ends(one, i));
    add_changes(cells, one);
    table.rows.push_back(std::move(cells));
  }
  return table;
}

struct AmountColumns {
  std::string what, unit;
  double size = 1.0;
};

Table amounts_table(std::string title, const Comparison& comparison,
                    const std::vector<ComparedRow>& rows, const AmountColumns& columns) {
  Table table = table_of(std::move(title), columns.what, comparison, {"value", "", columns.unit});
  add_changes(table, comparison);
  for (const ComparedRow& row : rows) {
    std::vector<Cell> cells{spoken(row.name)};
    add_numbers(cells, row.values.each, columns.size);
    add_changes(cells, row);
    table.rows.push_back(std::move(cells));
  }
  return table;
}

// Sources are pages of text; the record has them in full.
Cell input_cell(const Json& value) {
  constexpr std::size_t kLongest = 48;
  if (value.is_number()) return value.get<double>();
  if (value.is_null()) return std::monostate{};
  if (!value.is_string()) return value.dump();
  const auto text = value.get<std::string>();
  if (text.size() <= kLongest) return text;
  const std::string begin = text.substr(0, kLongest);
  return begin.substr(0, first_byte_not_utf8(begin).value_or(kLongest)) + "…";
}

Table inputs_table(const Comparison& comparison) {
  Table table = table_of("Inputs that differ", "input", comparison, {"value", "", ""});
  for (const InputThatDiffers& input : comparison.inputs_that_differ) {
    std::vector<Cell> cells{words_of_pointer(input.pointer)};
    for (const Json& value : input.values) cells.push_back(input_cell(value));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Table ranking_table(const Comparison& comparison) {
  Table table = table_of("Ranking", "layout", comparison, {"rank", "rank, ", ""});
  const Table steps = table_of("", "", comparison, {"step_time_seconds", "step, ", "s"});
  table.columns.insert(table.columns.end(), steps.columns.begin() + 1, steps.columns.end());
  for (const ComparedLayout& row : comparison.ranking) {
    std::vector<Cell> cells{row.layout};
    add_numbers(cells, row.ranks.each);
    add_numbers(cells, row.step_times);
    table.rows.push_back(std::move(cells));
  }
  return table;
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

std::vector<Table> comparison_tables(const Comparison& comparison) {
  const std::string_view noun = device_noun(comparison);
  std::vector<Table> all{
      quantities_table(comparison),
      inputs_table(comparison),
      amounts_table("Terms of the best layouts' steps", comparison, comparison.terms,
                    {"term", "ms", 1e-3}),
      amounts_table(fmt::format("Memory of the fullest {}", noun), comparison,
                    comparison.fullest_stage, {"part", "GiB", gibibytes(1).value()}),
      amounts_table(fmt::format("Sent by one {} per step", noun), comparison, comparison.sent,
                    {"group", "GB", 1e9}),
      ranking_table(comparison),
      amounts_table("Rejected layouts", comparison, comparison.rejections, {"rule", "", 1.0})};
  std::erase_if(all, [](const Table& table) { return table.rows.empty(); });
  return all;
}

}  // namespace meshwright::reports
