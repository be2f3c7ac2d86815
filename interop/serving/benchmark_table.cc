// SPDX-License-Identifier: Apache-2.0
#include "interop/serving/benchmark_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "interop/serving/benchmark_rows.h"
#include "interop/serving/engine_log.h"
#include "interop/shell/base_name.h"
#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/record/parse.h"

namespace meshwright::interop {
namespace {

// Python writes Infinity and NaN where JSON has no word. Texts in quotes stay as they are.
std::string python_json(std::string_view text) {
  struct Word {
    std::string_view said, json;
  };
  constexpr std::array kWords{Word{"-Infinity", "null"}, Word{"Infinity", "\"inf\""},
                              Word{"NaN", "null"}};
  std::string out;
  out.reserve(text.size());
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\' && i + 1 < text.size()) {
      out += c;
      out += text[++i];
      continue;
    }
    if (c == '"') quoted = !quoted;
    const auto word =
        quoted ? kWords.end() : std::find_if(kWords.begin(), kWords.end(), [&](const Word& one) {
          return text.substr(i).starts_with(one.said);
        });
    if (word == kWords.end()) {
      out += c;
    } else {
      out += word->json;
      i += word->said.size() - 1;
    }
  }
  return out;
}

struct ResultKind {
  const char* tool;
  bool (*is)(const ResultObject&);
  void (*read)(const ResultObject&, ResultRow&);
};
// In this order: SGLang's results hold vLLM's keys, too.
constexpr std::array kResultKinds{
    ResultKind{"InferenceX", is_inferencex_result, read_inferencex_result},
    ResultKind{"sglang.bench_serving", is_sglang_result, read_sglang_result},
    ResultKind{"vllm bench serve", is_vllm_result, read_vllm_result},
    ResultKind{"aiperf", is_aiperf_result, read_aiperf_result}};

// The file's name without folder and ending.
std::string stem_of(const std::string& file) {
  const std::string name = base_name(file);
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

// One result of a file that may hold several; `number` from 1, 0: the only one.
struct ResultPlace {
  std::string file, pointer;
  int line = 1, number = 0;
};
void add_result(CsvTable& table, const Json& json, const ResultPlace& place) {
  const std::string hint =
      "expected a result of vllm bench serve, sglang.bench_serving, aiperf or InferenceX";
  if (!json.is_object()) {
    throw InputError(place.file, place.pointer, "is no benchmark result", hint);
  }
  const ResultObject result(json, place.file, place.pointer);
  const auto kind = std::find_if(kResultKinds.begin(), kResultKinds.end(),
                                 [&](const ResultKind& one) { return one.is(result); });
  if (kind == kResultKinds.end()) {
    throw InputError(place.file, place.pointer, "has the keys of no known benchmark client", hint);
  }
  ResultRow row(table, place.line);
  const std::string stem = stem_of(table.file);
  kind->read(result, row);
  row.set("group", stem);
  row.set("source", kind->tool);
  if (row.cell("id").empty()) {
    row.set("id", place.number > 0 ? fmt::format("{}:{}", stem, place.number) : stem);
  }
  if (row.cell("mode").empty()) row.set("mode", "agg");
  if (row.cell("spec_decode").empty()) {
    row.set("spec_decode", "none");
    row.assume("no drafts: the result names none");
  }
}

bool is_blank_line(std::string_view line) {
  return std::all_of(line.begin(), line.end(),
                     [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; });
}

// A file with an object in each of its lines.
bool has_lines_of_objects(std::string_view text) {
  int objects = 0;
  for (const std::string& line : split_lines(text)) {
    if (is_blank_line(line)) continue;
    const std::string whole = trimmed_right(line);
    if (!whole.starts_with('{') || !whole.ends_with('}')) return false;
    ++objects;
  }
  return objects > 1;
}

void add_lines(CsvTable& table, const std::string& text) {
  int number = 0, count = 0;
  for (const std::string& line : split_lines(text)) {
    ++number;
    if (is_blank_line(line)) continue;
    const std::string where = fmt::format("{}:{}", table.file, number);
    add_result(table, parse_json(line, where), {where, "", number, ++count});
  }
}

// The text behind "name=" of an engine's printed arguments, without quotes; empty: it is not there.
std::string printed_argument(std::string_view arguments, const std::string& name) {
  const std::string wanted = name + "=";
  for (std::size_t at = arguments.find(wanted); at != std::string_view::npos;
       at = arguments.find(wanted, at + 1)) {
    const char before = at == 0 ? ' ' : arguments[at - 1];
    if (before != ' ' && before != ',' && before != '(') continue;
    std::string_view value = arguments.substr(at + wanted.size());
    if (value.starts_with('\'') || value.starts_with('"')) {
      const char quote = value.front();
      value.remove_prefix(1);
      return std::string(value.substr(0, value.find(quote)));
    }
    return std::string(value.substr(0, value.find_first_of(",) \n")));
  }
  return "";
}

std::string stated_word(const std::string& word) { return word == "None" ? "" : word; }

double whole_argument(std::string_view arguments, const char* name) {
  const std::string word = printed_argument(arguments, name);
  const bool digits =
      !word.empty() && word.size() < 7 &&
      std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits ? std::max(1, std::stoi(word)) : 1;
}

void set_vllm_arguments(ResultRow& row, std::string_view line) {
  row.set("engine", "vllm");
  std::string_view version = line.substr(line.find("LLM engine (v") + 12);
  row.set("engine_version", std::string(version.substr(0, version.find(')'))));
  row.set("model", stated_word(printed_argument(line, "model")));
  row.set("precision",
          precision_of_quantization(stated_word(printed_argument(line, "quantization"))));
  if (printed_argument(line, "kv_cache_dtype").starts_with("fp8")) row.set("kv_format", "fp8");
  const double tensor = whole_argument(line, "tensor_parallel_size");
  const double stages = whole_argument(line, "pipeline_parallel_size");
  row.set("tp", std::optional(tensor));
  row.set("pp", std::optional(stages));
  row.set("num_gpus", std::optional(tensor * stages));
}

void set_sglang_arguments(ResultRow& row, std::string_view line) {
  row.set("engine", "sglang");
  row.set("model", stated_word(printed_argument(line, "model_path")));
  row.set("precision",
          precision_of_quantization(stated_word(printed_argument(line, "quantization"))));
  if (printed_argument(line, "kv_cache_dtype").starts_with("fp8")) row.set("kv_format", "fp8");
  const bool attention = printed_argument(line, "enable_dp_attention") == "True";
  const double tensor = whole_argument(line, "tp_size");
  const double data = attention ? whole_argument(line, "dp_size") : 1.0;
  const double stages = whole_argument(line, "pp_size");
  row.set("tp", std::optional(std::max(1.0, tensor / data)));
  row.set("pp", std::optional(stages));
  row.set("ep", std::optional(whole_argument(line, "ep_size")));
  if (data > 1) row.set("dp_attention", std::optional(data));
  row.set("num_gpus", std::optional(tensor * stages));
  row.set("mem_fraction", stated_word(printed_argument(line, "mem_fraction_static")));
}

}  // namespace

bool looks_like_benchmark_result(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
}

CsvTable benchmark_table(const std::string& text, const std::string& file) {
  CsvTable table = empty_point_table(file);
  const std::string json = python_json(text);
  if (has_lines_of_objects(json)) {
    add_lines(table, json);
    return table;
  }
  const Json document = parse_json(json, file);
  if (!document.is_array()) {
    add_result(table, document, {file, "", 1, 0});
    return table;
  }
  int number = 0;
  for (const Json& one : document) {
    add_result(table, one, {file, fmt::format("/{}", number), 1, number + 1});
    ++number;
  }
  if (number == 0) throw InputError(file, "", "holds no results");
  return table;
}

bool looks_like_engine_log(std::string_view text) {
  return kv_tokens_in_log(text, kUsualBlock).has_value();
}

CsvTable engine_log_table(const std::string& text, const std::string& file) {
  CsvTable table = empty_point_table(file);
  const auto tokens = kv_tokens_in_log(text, kUsualBlock);
  if (!tokens) {
    throw InputError(file, "", "does not say how many tokens the cache holds",
                     "give the engine's log from its start");
  }
  ResultRow row(table, 1);
  for (const std::string& line : split_lines(text)) {
    if (contains(line, "ServerArgs(")) {
      set_sglang_arguments(row, line);
    } else if (contains(line, "LLM engine (v") && contains(line, "with config:")) {
      set_vllm_arguments(row, line);
    }
  }
  if (contains(text, "# GPU blocks:")) {
    row.assume(fmt::format("blocks of {} tokens, where the log counts blocks", kUsualBlock));
  }
  row.set("id", stem_of(file));
  row.set("group", stem_of(file));
  row.set("source", "engine log");
  row.set("mode", "agg");
  row.set("kv_tokens", tokens);
  return table;
}

std::string csv_text(const CsvTable& table) {
  const auto quoted = [](const std::string& cell) {
    if (cell.find_first_of(",\"\n\r") == std::string::npos) return cell;
    return "\"" + replaced(cell, "\"", "\"\"") + "\"";
  };
  constexpr std::array<std::string_view, 6> kNeeded{"model", "gpu", "engine", "load", "isl", "osl"};
  std::vector<std::size_t> filled;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const bool any = std::any_of(table.rows.begin(), table.rows.end(), [&](const auto& row) {
      return i < row.size() && !row[i].empty();
    });
    const bool needed =
        std::find(kNeeded.begin(), kNeeded.end(), table.columns[i]) != kNeeded.end();
    if (any || needed) filled.push_back(i);
  }
  std::string text;
  const auto add = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t i = 0; i < filled.size(); ++i) {
      if (i > 0) line += ',';
      if (filled[i] < cells.size()) line += quoted(cells[filled[i]]);
    }
    text += line + "\n";
  };
  add(table.columns);
  for (const auto& row : table.rows) add(row);
  return text;
}

}  // namespace meshwright::interop
