// SPDX-License-Identifier: Apache-2.0
#include "reports/comparison_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "reports/comparison_json.h"
#include "reports/json_at.h"
#include "reports/sections/sections_json.h"
#include "reports/text.h"
#include "sim/base/text.h"
#include "sim/base/units.h"
#include "sim/base/utf8.h"
#include "sim/hardware/device_noun.h"

namespace meshwright::reports {
namespace {

struct Word {
  std::string_view key, word;
};
// What of a key is no plain English.
constexpr std::array kWords{
    Word{"gpus", "GPUs"},     Word{"kv", "KV"},   Word{"ffn", "FFN"},
    Word{"moe", "MoE"},       Word{"mla", "MLA"}, Word{"mtp", "MTP"},
    Word{"num", "number of"}, Word{"fp8", "FP8"}, Word{"tool_version", "version of meshwright"}};

std::string in_words(const std::string& key) {
  for (const Word& word : kWords) {
    if (word.key == key) return std::string(word.word);
  }
  std::string text;
  for (std::string& part : split(key, '_')) {
    for (const Word& word : kWords) {
      if (word.key == part) part = word.word;
    }
    append_to_list(text, " ", part);
  }
  return text;
}

const Json& quantity(const Json& comparison, std::string_view name) {
  static const Json nothing;
  for (const Json& one : part_at(comparison, "quantities")) {
    if (text_at(one, "name") == name) return one;
  }
  return nothing;
}

const Json& of_report(const Json& quantity, const char* key, std::size_t place) {
  static const Json nothing;
  const Json& list = part_at(quantity, key);
  return list.is_array() && place < list.size() ? list[place] : nothing;
}

double value_of(const Json& quantity, std::size_t place) {
  const Json& value = of_report(quantity, "values", place);
  return value.is_number() ? value.get<double>() : 0.0;
}

double per_second(const Json& comparison, std::size_t place) {
  return value_of(quantity(comparison, "tokens_per_second_per_gpu"), place) *
         value_of(quantity(comparison, "gpus"), place);
}

std::string name_at(const Json& comparison, std::size_t place) {
  return text_at(comparison["reports"][place], "name");
}

// What the prediction cannot tell apart: steps of the same work whose intervals overlap.
bool overlap(const Json& comparison, std::size_t a, std::size_t b) {
  const Json& step = quantity(comparison, "step_time_seconds");
  const Json& work = quantity(comparison, "tokens_per_step");
  if (value_of(work, a) != value_of(work, b)) return false;
  const Json& low_a = of_report(step, "low", a);
  const Json& low_b = of_report(step, "low", b);
  const Json& high_a = of_report(step, "high", a);
  const Json& high_b = of_report(step, "high", b);
  if (!low_a.is_number() || !low_b.is_number()) return false;
  if (!high_a.is_number() || !high_b.is_number()) return false;
  return high_a.get<double>() >= low_b.get<double>() && high_b.get<double>() >= low_a.get<double>();
}

std::string standing(const Json& comparison, std::size_t place, std::size_t first) {
  const double mine = per_second(comparison, place);
  const double change = mine / per_second(comparison, first) - 1.0;
  const auto gpus = std::llround(value_of(quantity(comparison, "gpus"), place));
  std::string text = fmt::format("{} {} tokens/s with {} on {} {}", name_at(comparison, place),
                                 si_text(mine, 4), text_at(comparison["reports"][place], "layout"),
                                 count_text(gpus), device_noun(comparison, gpus));
  if (place != first) text += fmt::format(" ({:+.1f} %)", change * 100.0);
  return text;
}

std::vector<std::size_t> fitting(const Json& comparison) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < comparison["reports"].size(); ++i) {
    if (flag_at(comparison["reports"][i], "fits")) places.push_back(i);
  }
  return places;
}

// Whose steps cannot be told from the fastest one's.
std::string overlaps(const Json& comparison, const std::vector<std::size_t>& places) {
  std::string names;
  for (std::size_t i = 1; i < places.size(); ++i) {
    const bool differ = per_second(comparison, places[i]) != per_second(comparison, places.front());
    if (!differ || !overlap(comparison, places.front(), places[i])) continue;
    append_to_list(names, ", ", name_at(comparison, places[i]));
  }
  if (names.empty()) return "";
  return fmt::format(
      " The intervals of the step times of {} and {} overlap: the predictions alone do not tell "
      "them apart.",
      name_at(comparison, places.front()), names);
}

Cell cell_of(const Json& value, double unit = 1.0) {
  if (value.is_number()) return value.get<double>() / unit;
  if (value.is_null()) return std::monostate{};
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// "5.57 (5.1 to 6.0)".
std::string with_ends(const Json& quantity, std::size_t place) {
  const double unit = std::max(number_at(quantity, "unit_size"), 1e-300);
  const auto at = [&](const char* key) {
    return significant(of_report(quantity, key, place).get<double>() / unit);
  };
  const bool ends = of_report(quantity, "low", place).is_number() &&
                    of_report(quantity, "high", place).is_number();
  return ends ? fmt::format("{} ({} to {})", at("values"), at("low"), at("high")) : at("values");
}

struct Columns {
  std::string key, heading, unit;
};

// `what` first, then a column a report.
Table table_of(std::string title, const std::string& what, const Json& comparison,
               const Columns& columns) {
  Table table{std::move(title), {{"name", what, ""}}, {}};
  for (std::size_t i = 0; i < comparison["reports"].size(); ++i) {
    table.columns.push_back({fmt::format("{}_{}", columns.key, i + 1),
                             columns.heading + name_at(comparison, i), columns.unit});
  }
  return table;
}

void add_changes(Table& table, const Json& comparison) {
  for (std::size_t i = 1; i < comparison["reports"].size(); ++i) {
    table.columns.push_back(
        {fmt::format("change_percent_{}", i + 1),
         fmt::format("{} against {}", name_at(comparison, i), name_at(comparison, 0)), "%", 3});
  }
}

void add_changes(std::vector<Cell>& cells, const Json& row) {
  const Json& changes = part_at(row, "change_percent");
  for (std::size_t i = 1; i < changes.size(); ++i) cells.push_back(cell_of(changes[i]));
}

Table quantities_table(const Json& comparison) {
  Table table = table_of("The best layouts, with 90 % and 10 to 90 % ranges", "quantity",
                         comparison, {"value", "", ""});
  add_changes(table, comparison);
  for (const Json& one : part_at(comparison, "quantities")) {
    const std::string unit = text_at(one, "unit");
    std::vector<Cell> cells{text_at(one, "label") + (unit.empty() ? "" : ", " + unit)};
    for (std::size_t i = 0; i < comparison["reports"].size(); ++i) {
      const bool number = of_report(one, "values", i).is_number();
      cells.push_back(number ? Cell(with_ends(one, i)) : Cell());
    }
    add_changes(cells, one);
    table.rows.push_back(std::move(cells));
  }
  return table;
}

struct Amounts {
  const char* part;
  std::string what, unit;
  double size = 1.0;
};

Table amounts_table(std::string title, const Json& comparison, const Amounts& amounts) {
  Table table = table_of(std::move(title), amounts.what, comparison, {"value", "", amounts.unit});
  add_changes(table, comparison);
  for (const Json& row : part_at(comparison, amounts.part)) {
    std::vector<Cell> cells{spoken(text_at(row, "name"))};
    for (const Json& value : part_at(row, "values")) cells.push_back(cell_of(value, amounts.size));
    add_changes(cells, row);
    table.rows.push_back(std::move(cells));
  }
  return table;
}

// Sources are pages of text; the record has them in full.
Cell short_cell(const Json& value) {
  constexpr std::size_t kLongest = 48;
  if (!value.is_string()) return cell_of(value);
  const auto text = value.get<std::string>();
  if (text.size() <= kLongest) return text;
  const std::string begin = text.substr(0, kLongest);
  return begin.substr(0, first_byte_not_utf8(begin).value_or(kLongest)) + "…";
}

Table inputs_table(const Json& comparison) {
  Table table = table_of("Inputs that differ", "input", comparison, {"value", "", ""});
  for (const Json& input : part_at(comparison, "inputs_that_differ")) {
    std::vector<Cell> cells{text_at(input, "words")};
    for (const Json& value : part_at(input, "values")) cells.push_back(short_cell(value));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Table ranking_table(const Json& comparison) {
  Table table = table_of("Ranking", "layout", comparison, {"rank", "rank, ", ""});
  const Table steps = table_of("", "", comparison, {"step_time_seconds", "step, ", "s"});
  table.columns.insert(table.columns.end(), steps.columns.begin() + 1, steps.columns.end());
  for (const Json& row : part_at(comparison, "ranking")) {
    std::vector<Cell> cells{text_at(row, "layout")};
    for (const char* key : {"ranks", "step_time_seconds"}) {
      for (const Json& value : part_at(row, key)) cells.push_back(cell_of(value));
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

}  // namespace

std::string_view device_noun(const Json& comparison, std::int64_t count) {
  const Json& reports = part_at(comparison, "reports");
  const bool cores =
      !reports.empty() && std::all_of(reports.begin(), reports.end(), [](const Json& report) {
        return text_at(report, "device_kind") == name_of(DeviceKind::cpu);
      });
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

std::string comparison_sentence(const Json& comparison) {
  std::vector<std::size_t> places = fitting(comparison);
  const std::size_t all = comparison["reports"].size();
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

std::vector<Table> comparison_tables(const Json& comparison) {
  std::vector<Table> all{
      quantities_table(comparison),
      inputs_table(comparison),
      amounts_table("Terms of the best layouts' steps", comparison,
                    {"terms_seconds", "term", "ms", 1e-3}),
      amounts_table(fmt::format("Memory of the fullest {}", device_noun(comparison)), comparison,
                    {"fullest_stage_bytes", "part", "GiB", gibibytes(1).value()}),
      amounts_table(fmt::format("Sent by one {} per step", device_noun(comparison)), comparison,
                    {"sent_bytes", "group", "GB", 1e9}),
      ranking_table(comparison),
      amounts_table("Rejected layouts", comparison, {"rejections", "rule", "", 1.0})};
  std::erase_if(all, [](const Table& table) { return table.rows.empty(); });
  return all;
}

}  // namespace meshwright::reports
