// SPDX-License-Identifier: Apache-2.0
// mamf-finder.py (stas00/ml-engineering, compute/accelerator/benchmarks). Its first versions print
// "  1 | 711.4 TFLOPS @ 256x4096x4096 | best: ..." a shape, the second "756.1(mean) 758.2(median)
// 762.3(max) @ 256x4096x4096 | best: ..."; from the third on a row of a table stands under "MxNxK
// mean median max". Rows overwrite each other on a terminal: they end with "\r". The summary has
// "758.2 TFLOPS @ 8192x4096x4096 (MxNxK)" of the best. TFLOPS are 1e12.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "calibrate/imported/imported.h"
#include "calibrate/imported/lines.h"
#include "sim/base/text.h"

namespace meshwright::calibrate {
namespace {

constexpr double kTera = 1e12;

// "10240x4096x4096".
std::optional<GemmShape> shape_in(const std::string& word) {
  const std::vector<std::string> sizes = split(word, 'x');
  if (sizes.size() != 3) return std::nullopt;
  std::int64_t mnk[3] = {};
  for (std::size_t i = 0; i < 3; ++i) {
    constexpr std::size_t kMostDigits = 7;
    const bool digits = !sizes[i].empty() && sizes[i].size() <= kMostDigits &&
                        sizes[i].find_first_not_of("0123456789") == std::string::npos;
    if (!digits) return std::nullopt;
    mnk[i] = std::stoll(sizes[i]);
    if (mnk[i] < 1) return std::nullopt;
  }
  return GemmShape{1, mnk[0], mnk[1], mnk[2]};
}

// torch's names, and those of the script.
std::optional<Precision> dtype_precision(const std::string& name) {
  constexpr std::pair<const char*, Precision> kNames[] = {
      {"bfloat16", Precision::bf16}, {"float16", Precision::fp16}, {"half", Precision::fp16},
      {"float32", Precision::fp32},  {"mxfp8", Precision::fp8},    {"mxfp4", Precision::fp4},
      {"nvfp4", Precision::fp4}};
  const std::string plain = name.starts_with("torch.") ? name.substr(6) : name;
  for (const auto& [typed, precision] : kNames) {
    if (plain == typed) return precision;
  }
  return plain.starts_with("float8_") ? std::optional(Precision::fp8) : std::nullopt;
}

// A live row is overwritten by the next one: each is a line.
std::vector<std::string> mamf_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (const std::string& line : log_lines(text)) {
    for (std::string& part : split(line, '\r')) lines.push_back(std::move(part));
  }
  return lines;
}

class MamfReader {
 public:
  Imported read(const std::string& text) {
    for (const std::string& line : mamf_lines(text)) read_line(line);
    if (!recognised_) return {};
    for (const auto& [key, row] : rows_) add(row, false);
    for (const auto& [key, row] : best_) {
      if (!rows_.contains(key)) add(row, false);
    }
    for (const auto& [key, row] : sustained_) add(row, true);
    if (!result_.points.empty() && !typed_) {
      result_.notes.emplace_back(
          "mamf-finder's log does not say --dtype: its default, bfloat16, is taken");
    }
    return std::move(result_);
  }

 private:
  struct Row {
    GemmShape shape;
    Precision precision = Precision::bf16;
    double teraflops = 0.0;
  };
  using Key = std::tuple<Precision, std::int64_t, std::int64_t, std::int64_t>;
  using Rows = std::map<Key, Row>;

  void read_line(const std::string& line) {
    std::vector<std::string> words = split_words(line);
    if (words.empty()) return;
    recognised_ = recognised_ || contains(line, "mamf-finder") || contains(line, "(MxNxK)") ||
                  contains(line, "(median)") ||
                  (contains(line, "MxNxK") && contains(line, "TFLOPS"));
    read_setting(line, words);
    if (contains(line, "MxNxK ")) {
      const bool mean = contains(line, "mean") && contains(line, "median");
      table_ = mean ? Table::scout : Table::other;
    }
    // The text after " | best:" repeats an older row.
    words.erase(
        std::find_if(words.begin(), words.end(), [](const std::string& w) { return w == "best:"; }),
        words.end());
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (const auto shape = shape_in(words[i])) read_shape(words, i, *shape);
    }
  }

  void read_setting(const std::string& line, const std::vector<std::string>& words) {
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      const bool named = words[i] == "--dtype" || lower_case(words[i]) == "dtype:";
      const auto found = named ? dtype_precision(words[i + 1]) : std::nullopt;
      if (!found) continue;
      precision_ = *found;
      typed_ = true;
    }
    const std::size_t name = line.find("DeviceProperties(name='");
    if (name == std::string::npos) return;
    const std::size_t first = name + 23;
    const std::size_t end = line.find('\'', first);
    if (end != std::string::npos) result_.devices.push_back(line.substr(first, end - first));
  }

  void read_shape(const std::vector<std::string>& words, std::size_t at, const GemmShape& shape) {
    if (at > 0 && words[at - 1] == "@") {
      read_row(words, at, shape);
    } else if (table_ == Table::scout && at + 2 < words.size()) {
      // "18  3072x2816x20480     828.4  828.6  831.6": mean, median, max.
      if (const auto median = number_in(words[at + 2])) keep(rows_, shape, *median);
    }
  }

  // The number is the one with "(median)", or the one before "TFLOPS @".
  void read_row(const std::vector<std::string>& words, std::size_t at, const GemmShape& shape) {
    const std::string& first = words.front();
    for (std::size_t i = 0; i + 1 < at; ++i) {
      const std::size_t open = words[i].find("(median)");
      if (open == std::string::npos) continue;
      if (const auto rate = number_in(words[i].substr(0, open))) keep(rows_, shape, *rate);
      return;
    }
    if (at < 3 || !words[at - 2].ends_with("TFLOPS")) return;
    std::string rate = words[at - 2].substr(0, words[at - 2].size() - 6);
    if (rate.empty()) rate = words[at - 3];
    const auto number = number_in(rate);
    if (!number) return;
    if (first == "MSMF") {
      keep(sustained_, shape, *number);
    } else if (first == "mean:" || first == "max:") {
      return;  // the median's line says what a step meets
    } else if (first == "median:" || first == "MAMF" || first == "The") {
      keep(best_, shape, *number);
    } else {
      keep(rows_, shape, *number);
    }
  }

  void keep(Rows& rows, const GemmShape& shape, double teraflops) {
    constexpr double kMost = 1e6;
    if (!(teraflops > 0.0) || teraflops > kMost) return;
    rows[{precision_, shape.m, shape.n, shape.k}] = {shape, precision_, teraflops};
  }

  void add(const Row& row, bool sustained) {
    const GemmShape& s = row.shape;
    Product product{row.precision, {}};
    product.variant.shape = s;
    MeasuredPoint point;
    if (sustained) {
      point.subject = timed::SustainedGemm{product};
    } else {
      point.subject = timed::Gemm{product};
    }
    point.amount = gemm_bytes(product);
    point.measurement = told(gemm_flops(s) / flops_per_second(row.teraflops * kTera));
    result_.points.push_back(std::move(point));
    result_.tool = "mamf-finder";
  }

  enum class Table { none, scout, other };
  Imported result_;
  Rows rows_, best_, sustained_;
  Precision precision_ = Precision::bf16;
  Table table_ = Table::none;
  bool typed_ = false, recognised_ = false;
};

}  // namespace

Imported from_mamf_finder(const std::string& text) { return MamfReader().read(text); }

}  // namespace meshwright::calibrate
