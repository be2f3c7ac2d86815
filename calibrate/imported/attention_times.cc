// SPDX-License-Identifier: Apache-2.0
// flash-attention's benchmark (benchmarks/benchmark_flash_attention.py): a line of settings,
// "### causal=True, headdim=128, batch_size=2, seqlen=8192 ###", then a line a method,
// "Flash2 fwd: 180.43 TFLOPs/s, bwd: 143.27 TFLOPs/s, fwd + bwd: 152.1 TFLOPs/s"; heads so that the
// model is 2048 wide, 16-bit numbers. And scripts/gpu-reference's own rows.
#include <optional>
#include <string>

#include "calibrate/imported/imported.h"
#include "calibrate/imported/lines.h"
#include "sim/base/text.h"
#include "sim/record/json.h"
#include "sim/record/parse.h"
#include "sim/record/reader.h"

namespace meshwright::calibrate {
namespace {

constexpr std::int64_t kModelWidth = 2048;
constexpr double kTeraflops = 1e12, kLargest = 1e9;
constexpr const char* kSchema = "meshwright.attention_times/1";

MeasuredPoint attention_point(const AttentionShape& shape, Precision precision, double time) {
  MeasuredPoint point;
  point.subject = timed::Attention{precision, shape};
  point.amount = bytes(1);  // it is no transfer; a point says what it is by its shape
  point.measurement = told(seconds(time));
  return point;
}

// "headdim=128," -> 128.
std::optional<double> setting(const std::vector<std::string>& words, const std::string& name) {
  for (std::string word : words) {
    if (!word.starts_with(name + "=")) continue;
    if (word.ends_with(',')) word.pop_back();
    return number_in(word.substr(name.size() + 1));
  }
  return std::nullopt;
}

std::optional<AttentionShape> settings_in(const std::vector<std::string>& words) {
  const auto width = setting(words, "headdim"), batch = setting(words, "batch_size");
  const auto positions = setting(words, "seqlen");
  const auto is_size = [](const std::optional<double>& x, double most) {
    return x && *x >= 1.0 && *x <= most;
  };
  if (!is_size(width, kModelWidth) || !is_size(batch, kLargest) || !is_size(positions, kLargest)) {
    return std::nullopt;
  }
  AttentionShape shape;
  shape.head_dim = static_cast<std::int64_t>(*width);
  shape.batch = static_cast<std::int64_t>(*batch);
  shape.positions = static_cast<std::int64_t>(*positions);
  shape.heads = shape.query_groups = kModelWidth / shape.head_dim;
  for (const std::string& word : words) {
    if (word.starts_with("causal=")) shape.causal = word.starts_with("causal=True");
  }
  return shape;
}

// "Flash2": 2; "Flash3": 0, the fastest of the day. Others are no kernel that a framework takes.
std::optional<int> version_of(const std::string& method) {
  if (method == "Flash2") return 2;
  if (method == "Flash3" || method == "cuDNN") return 0;
  return std::nullopt;
}

// The number after `name`, such as "fwd:"; the one of "fwd + bwd:" is of both.
std::optional<double> rate_after(const std::vector<std::string>& words, const std::string& name) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == name && (i == 0 || words[i - 1] != "+")) return number_in(words[i + 1]);
  }
  return std::nullopt;
}

void add_method(Imported& result, AttentionShape shape, const std::vector<std::string>& words) {
  const auto version = version_of(words.front());
  if (!version) return;
  shape.version = *version;
  for (const bool backward : {false, true}) {
    const auto rate = rate_after(words, backward ? "bwd:" : "fwd:");
    if (!rate || !(*rate > 0.0)) continue;  // it did not run, or had no memory
    shape.backward = backward;
    const double time = attention_flops(shape) / (*rate * kTeraflops);
    result.points.push_back(attention_point(shape, Precision::fp16, time));
    result.tool = "flash-attention";
  }
}

AttentionShape read_shape(ObjectReader& row) {
  constexpr IntRange kPositive{.low = 1};
  AttentionShape shape;
  shape.batch = row.required_int("batch", kPositive);
  shape.heads = row.required_int("heads", kPositive);
  shape.query_groups = row.required_int("query_groups", kPositive);
  shape.positions = row.required_int("positions", kPositive);
  shape.head_dim = row.required_int("head_dim", kPositive);
  shape.causal = row.optional_bool("causal", true);
  shape.backward = row.optional_bool("backward", false);
  shape.version = row.optional_int("version", 0, {.low = 0, .high = 9});
  return shape;
}

}  // namespace

Imported from_flash_attention(const std::string& text) {
  Imported result;
  std::optional<AttentionShape> shape;
  for (const std::string& line : log_lines(text)) {
    const std::vector<std::string> words = split_words(line);
    if (words.empty()) continue;
    if (words.front() == "###") {
      shape = settings_in(words);
    } else if (shape) {
      add_method(result, *shape, words);
    }
  }
  if (!result.points.empty()) {
    result.notes.emplace_back(
        "heads are so many that the model is 2048 wide, as that benchmark has");
  }
  return result;
}

Imported from_attention_times(const std::string& text, const std::string& file) {
  Imported result;
  const Json json = parse_json(text, file);
  if (!json.is_object() || json.value("schema", Json()) != kSchema) return result;
  ObjectReader reader(json, file);
  reader.required_string("schema");
  result.tool = reader.required_string("tool");
  const auto& rows = reader.required_array("times");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ObjectReader row(rows[i], file, reader.pointer_to("times") + "/" + std::to_string(i));
    const AttentionShape shape = read_shape(row);
    const Precision precision = row.optional_enum("precision", Precision::bf16, kPrecisionNames);
    const double time = row.required_number("seconds", {.low = 0.0, .low_excluded = true});
    row.finish();
    result.points.push_back(attention_point(shape, precision, time));
  }
  reader.finish();
  return result;
}

}  // namespace meshwright::calibrate
