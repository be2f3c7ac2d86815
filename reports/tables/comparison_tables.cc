// SPDX-License-Identifier: Apache-2.0
#include "reports/tables/comparison_tables.h"

#include <fmt/format.h>

#include <optional>

#include "reports/records/comparison_text.h"
#include "reports/text/text.h"
#include "sim/base/utf8.h"

namespace meshwright::reports {
namespace {

// "5.57 (5.1 to 6.0)".
Cell with_ends(const ComparedQuantity& quantity, std::size_t place) {
  const std::optional<double>& value = quantity.values.each[place];
  if (!value) return {};
  const std::string key = fmt::format("value_{}", place + 1);
  Numbers cell{significant(*value / quantity.unit_size), {{key, *value / quantity.unit_size}}};
  const std::optional<double>&low = quantity.low[place], &high = quantity.high[place];
  if (!low || !high) return cell;
  const double from = *low / quantity.unit_size, to = *high / quantity.unit_size;
  cell.text += fmt::format(" ({} to {})", significant(from), significant(to));
  cell.by_key.insert(cell.by_key.end(), {{key + "_low", from}, {key + "_high", to}});
  return cell;
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
  Table table = table_of("The best layouts, with 90 % intervals (step) and P10-P90 (days, cost)",
                         "quantity", comparison, {"value", "", ""});
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

std::vector<Table> comparison_tables(const Comparison& comparison) {
  const std::string_view noun = device_noun(comparison);
  std::vector<Table> all{
      named("quantities", quantities_table(comparison)),
      named("inputs", inputs_table(comparison)),
      named("terms", amounts_table("Terms of the best layouts' steps", comparison, comparison.terms,
                                   {"term", "ms", 1e-3})),
      named("memory",
            amounts_table(fmt::format("Memory of the {} with the highest use", noun), comparison,
                          comparison.fullest_stage, {"part", "GiB", gibibytes(1).value()})),
      named("sent", amounts_table(fmt::format("Sent by one {} per step", noun), comparison,
                                  comparison.sent, {"group", "GB", 1e9})),
      named("ranking", ranking_table(comparison)),
      named("rejections", amounts_table("Rejected layouts", comparison, comparison.rejections,
                                        {"rule", "", 1.0}))};
  std::erase_if(all, [](const Table& table) { return table.rows.empty(); });
  return all;
}

}  // namespace meshwright::reports
