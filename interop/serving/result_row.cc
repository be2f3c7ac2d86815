// SPDX-License-Identifier: Apache-2.0
#include "interop/serving/result_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/record/reader.h"

namespace meshwright::interop {
namespace {

constexpr std::array kPointColumns{"id",
                                   "group",
                                   "source",
                                   "dataset",
                                   "assumed",
                                   "model",
                                   "gpu",
                                   "num_gpus",
                                   "engine",
                                   "engine_version",
                                   "precision",
                                   "kv_format",
                                   "spec_decode",
                                   "mode",
                                   "tp",
                                   "pp",
                                   "ep",
                                   "dp_attention",
                                   "prefill_workers",
                                   "prefill_tp",
                                   "prefill_ep",
                                   "prefill_dp",
                                   "prefill_gpus",
                                   "decode_workers",
                                   "decode_tp",
                                   "decode_ep",
                                   "decode_dp",
                                   "decode_gpus",
                                   "isl",
                                   "osl",
                                   "length_distribution",
                                   "load",
                                   "concurrency",
                                   "request_rate_rps",
                                   "burstiness",
                                   "num_prompts",
                                   "max_num_seqs",
                                   "max_batched_tokens",
                                   "mem_fraction",
                                   "ttft_mean_ms",
                                   "ttft_p50_ms",
                                   "ttft_p99_ms",
                                   "tpot_mean_ms",
                                   "tpot_p99_ms",
                                   "itl_mean_ms",
                                   "e2e_mean_ms",
                                   "output_tps",
                                   "kv_tokens"};

std::optional<double> stated_number_in(const std::string& text) {
  if (text == "inf" || text == "Infinity") return std::numeric_limits<double>::infinity();
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || rest != end || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

CsvTable empty_point_table(const std::string& file) {
  CsvTable table;
  table.file = file;
  table.columns.assign(kPointColumns.begin(), kPointColumns.end());
  return table;
}

ResultRow::ResultRow(CsvTable& table, int line) : table_(&table), row_(table.rows.size()) {
  if (row_ >= kMostRows) {
    throw InputError(
        table.file, "",
        fmt::format("holds more than {} results (expected at most as many)", kMostRows),
        "split the file");
  }
  table.rows.emplace_back(table.columns.size());
  table.lines.push_back(line);
}

bool ResultRow::has_column(std::string_view column) const {
  return std::find(table_->columns.begin(), table_->columns.end(), column) != table_->columns.end();
}

void ResultRow::set(std::string_view column, const std::string& text) {
  const auto place = std::find(table_->columns.begin(), table_->columns.end(), column);
  invariant(place != table_->columns.end(), "a result is written into a column that exists");
  if (text.empty()) return;
  table_->rows[row_][static_cast<std::size_t>(place - table_->columns.begin())] = text;
}

void ResultRow::set(std::string_view column, std::optional<double> number) {
  if (number && std::isfinite(*number)) set(column, fmt::format("{}", *number));
}

void ResultRow::assume(const std::string& what) {
  const std::string before = cell("assumed");
  set("assumed", before.empty() ? what : before + "; " + what);
}

const std::string& ResultRow::cell(std::string_view column) const {
  const auto place = std::find(table_->columns.begin(), table_->columns.end(), column);
  invariant(place != table_->columns.end(), "a result is read from a column that exists");
  return table_->rows[row_][static_cast<std::size_t>(place - table_->columns.begin())];
}

const Json* ResultObject::find(const char* key) const {
  const auto found = json_->find(key);
  return found == json_->end() || found->is_null() ? nullptr : &*found;
}

void ResultObject::fail(const char* key, const std::string& allowed) const {
  std::string got = find(key)->dump(-1, ' ', false, Json::error_handler_t::replace);
  if (got.size() > 60) got = got.substr(0, 57) + "...";
  throw InputError(file_, pointer_ + "/" + pointer_token(key),
                   fmt::format("must be {} (got {})", allowed, got));
}

bool ResultObject::has(const char* key) const { return find(key) != nullptr; }

std::optional<double> ResultObject::number(const char* key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  std::optional<double> number;
  if (value->is_number()) number = value->get<double>();
  if (value->is_string()) number = stated_number_in(value->get_ref<const std::string&>());
  if (!number || !(*number >= 0)) fail(key, "a number, 0 or more");
  return number;
}

std::string ResultObject::text(const char* key) const {
  const Json* value = find(key);
  if (value == nullptr) return "";
  if (value->is_string()) return value->get<std::string>();
  if (value->is_boolean()) return value->get<bool>() ? "yes" : "no";
  if (value->is_number()) return value->dump();
  fail(key, "text, a number, true or false");
}

bool ResultObject::flag(const char* key) const {
  const std::string word = text(key);
  return word == "yes" || word == "true" || word == "True" || word == "1";
}

std::optional<ResultObject> ResultObject::object(const char* key) const {
  const Json* value = find(key);
  if (value == nullptr || !value->is_object()) return std::nullopt;
  return ResultObject(*value, file_, pointer_ + "/" + pointer_token(key));
}

std::vector<double> ResultObject::numbers(const char* key) const {
  const Json* value = find(key);
  std::vector<double> numbers;
  if (value == nullptr) return numbers;
  if (!value->is_array()) fail(key, "a list of numbers");
  for (const Json& one : *value) {
    if (!one.is_number()) fail(key, "a list of numbers");
    numbers.push_back(one.get<double>());
  }
  return numbers;
}

std::string precision_of_quantization(const std::string& quantization) {
  for (const char* name : {"mxfp4", "nvfp4"}) {
    if (contains(quantization, name)) return name;
  }
  if (contains(quantization, "fp4")) return "fp4";
  if (contains(quantization, "fp8")) return "fp8";
  for (const char* name : {"awq", "gptq", "int4", "w4a16"}) {
    if (contains(quantization, name)) return "int4";
  }
  return "";
}

void set_load(ResultRow& row, const ResultLoad& load) {
  row.set("num_prompts", load.requests);
  if (!load.users && !load.rate) return;
  const bool paced = load.rate && std::isfinite(*load.rate);
  const bool capped = load.users && (!load.requests || *load.users < *load.requests);
  if (!paced) {
    row.set("load", capped ? "closed" : std::string("all at once"));
    if (capped) row.set("concurrency", load.users);
    return;
  }
  // A limit of users that was never reached changes nothing.
  const bool reached = capped && !(load.most_running && *load.most_running < *load.users);
  row.set("load", reached ? "limited open" : std::string("open poisson"));
  row.set("request_rate_rps", load.rate);
  row.set("burstiness", load.burstiness);
}

}  // namespace meshwright::interop
