// SPDX-License-Identifier: Apache-2.0
// MaxText deals an axis out inside a slice (ici_) and between slices (dcn_); -1 is what is left
// (MaxText/configs/base.yml).
#include "interop/read_launch/maxtext.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

struct MaxtextAxis {
  std::string_view name;        // "tensor" of ici_tensor_parallelism
  std::string_view short_name;  // of --layout
};
constexpr std::array kMaxtextAxes{MaxtextAxis{"data", "dp"},
                                  MaxtextAxis{"fsdp", "dp"},
                                  MaxtextAxis{"fsdp_transpose", "dp"},
                                  MaxtextAxis{"tensor", "tp"},
                                  MaxtextAxis{"tensor_transpose", "tp"},
                                  MaxtextAxis{"tensor_sequence", "tp"},
                                  MaxtextAxis{"context", "cp"},
                                  MaxtextAxis{"sequence", "cp"},
                                  MaxtextAxis{"expert", "ep"},
                                  MaxtextAxis{"pipeline", "pp"}};

constexpr std::array<std::string_view, 12> kMaxtextShown{"model_name",
                                                         "per_device_batch_size",
                                                         "max_target_length",
                                                         "hardware",
                                                         "base_emb_dim",
                                                         "base_num_decoder_layers",
                                                         "remat_policy",
                                                         "quantization",
                                                         "num_pipeline_microbatches",
                                                         "gradient_accumulation_steps",
                                                         "num_slices",
                                                         "attention"};

std::string plain(const std::string& key) {
  const std::size_t first = key.find_first_not_of('-');
  return first == std::string::npos ? "" : key.substr(first);
}

const MaxtextAxis* axis_of(const std::string& key) {
  const bool split_axis = key.starts_with("ici_") || key.starts_with("dcn_");
  if (!split_axis || !key.ends_with("_parallelism")) return nullptr;
  const std::string name = key.substr(4, key.size() - 4 - std::string("_parallelism").size());
  const auto* const found =
      std::find_if(kMaxtextAxes.begin(), kMaxtextAxes.end(),
                   [&](const MaxtextAxis& axis) { return axis.name == name; });
  return found == kMaxtextAxes.end() ? nullptr : found;
}

// 0: no whole number above 0, as -1 is.
int count_of(const Value& value) {
  if (value.words.size() != 1 || !value.unknown.empty()) return 0;
  const std::string& word = value.words.front();
  int count = 0;
  const char* const end = word.data() + word.size();
  const auto [stopped, error] = std::from_chars(word.data(), end, count);
  const bool whole = error == std::errc() && (stopped == end || std::string(stopped, end) == ".0");
  return whole && count > 0 && count < 1'000'000 ? count : 0;
}

struct MaxtextSizes {
  std::string said;
  std::array<int, 5> sizes{1, 1, 1, 1, 1};  // dp, tp, cp, ep, pp
  std::array<bool, 5> rest{};
  int micro_batch = 0, length = 0;
};
constexpr std::array<std::string_view, 5> kMaxtextShort{"dp", "tp", "cp", "ep", "pp"};

void add_axis(MaxtextSizes& found, const MaxtextAxis& axis, const Value& value) {
  const auto* const at = std::find(kMaxtextShort.begin(), kMaxtextShort.end(), axis.short_name);
  const auto index = static_cast<std::size_t>(at - kMaxtextShort.begin());
  const int count = count_of(value);
  if (count == 0) found.rest[index] = true;
  const std::int64_t product = std::int64_t{found.sizes[index]} * std::max(1, count);
  found.sizes[index] = static_cast<int>(std::min<std::int64_t>(product, 1'000'000));
}

MaxtextSizes maxtext_sizes(const std::vector<Value>& settings) {
  MaxtextSizes found;
  for (const Value& value : settings) {
    const std::string key = plain(value.key);
    const MaxtextAxis* axis = axis_of(key);
    const bool shown =
        std::find(kMaxtextShown.begin(), kMaxtextShown.end(), key) != kMaxtextShown.end();
    if (axis == nullptr && !shown) continue;
    const bool alone = axis != nullptr && count_of(value) == 1;
    if (!alone) {
      append_to_list(found.said, "; ", fmt::format("{} (line {})", value.said, value.place.line));
    }
    if (axis != nullptr) add_axis(found, *axis, value);
    if (key == "per_device_batch_size") found.micro_batch = count_of(value);
    if (key == "max_target_length") found.length = count_of(value);
  }
  return found;
}

}  // namespace

std::string maxtext_hint(const std::vector<Value>& settings) {
  const MaxtextSizes found = maxtext_sizes(settings);
  std::string layout;
  for (std::size_t i = 0; i < kMaxtextShort.size(); ++i) {
    if (found.sizes[i] == 1 || found.rest[i]) continue;
    append_to_list(layout, ",", fmt::format("{}={}", kMaxtextShort[i], found.sizes[i]));
  }
  if (found.micro_batch > 0) {
    append_to_list(layout, ",", fmt::format("mbs={}", found.micro_batch));
  }
  append_to_list(layout, ",", "zero=3");
  return fmt::format(
      "{}its devices are the product of all axes, inside and between slices; ask about its "
      "training step by hand: meshwright estimate --model NAME --cluster NAME --layout {}{}",
      found.said.empty() ? "" : fmt::format("it names {}; ", found.said), layout,
      found.length > 0 ? fmt::format(" --seq-length {}", found.length) : "");
}

}  // namespace meshwright::interop
