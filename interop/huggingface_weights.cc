// SPDX-License-Identifier: Apache-2.0
#include "interop/huggingface_weights.h"

#include <algorithm>
#include <array>

#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

const Json* member_of(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}
std::string lower_text_of(const Json& object, const char* key) {
  const Json* value = member_of(object, key);
  return value != nullptr && value->is_string() ? lower_case(value->get<std::string>()) : "";
}
int json_integer_of(const Json& object, const char* key) {
  const Json* value = member_of(object, key);
  return value != nullptr && value->is_number_integer() ? value->get<int>() : 0;
}

std::optional<WeightFormat> fp8_format(const Json& config) {
  return member_of(config, "weight_block_size") != nullptr ? WeightFormat::fp8_block
                                                           : WeightFormat::fp8;
}

// "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float", "strategy": "block"}}}.
// Groups of several formats have none here.
std::optional<WeightFormat> compressed_format(const Json& config) {
  const Json* groups = member_of(config, "config_groups");
  if (groups == nullptr || !groups->is_object() || groups->size() != 1) return std::nullopt;
  const Json* weights = member_of(groups->begin().value(), "weights");
  if (weights == nullptr) return std::nullopt;
  const int bits = json_integer_of(*weights, "num_bits");
  const bool is_float = lower_text_of(*weights, "type") == "float";
  if (bits == 8 && is_float) {
    return lower_text_of(*weights, "strategy") == "block" ? WeightFormat::fp8_block
                                                          : WeightFormat::fp8;
  }
  if (bits != 4) return std::nullopt;
  if (!is_float) return WeightFormat::int4;
  return json_integer_of(*weights, "group_size") == 16 ? std::optional(WeightFormat::nvfp4)
                                                       : std::nullopt;
}

std::optional<WeightFormat> modelopt_format(const Json& config) {
  const std::string algorithm = lower_text_of(config, "quant_algo");
  struct Named {
    std::string_view algorithm;
    WeightFormat format;
  };
  constexpr std::array kAlgorithms{Named{"fp8", WeightFormat::fp8},
                                   Named{"fp8_per_channel_per_token", WeightFormat::fp8},
                                   Named{"fp8_pb_wo", WeightFormat::fp8_block},
                                   Named{"mxfp8", WeightFormat::mxfp8},
                                   Named{"nvfp4", WeightFormat::nvfp4},
                                   Named{"nvfp4_awq", WeightFormat::nvfp4},
                                   Named{"w4a16_awq", WeightFormat::int4},
                                   Named{"w4a8_awq", WeightFormat::int4},
                                   Named{"w4a16_mxfp4", WeightFormat::mxfp4},
                                   Named{"w4a8_mxfp4_fp8", WeightFormat::mxfp4}};
  const auto* const found =
      std::find_if(kAlgorithms.begin(), kAlgorithms.end(),
                   [&](const Named& one) { return one.algorithm == algorithm; });
  return found == kAlgorithms.end() ? std::nullopt : std::optional(found->format);
}

std::optional<WeightFormat> weight_format_of(const std::string& method, const Json& config) {
  if (method == "fp8") return fp8_format(config);
  if (method == "fbgemm_fp8") return WeightFormat::fp8;
  if (method == "mxfp4") return WeightFormat::mxfp4;
  if (method == "awq" || method == "gptq") {
    return json_integer_of(config, "bits") == 4 ? std::optional(WeightFormat::int4) : std::nullopt;
  }
  if (method == "compressed-tensors") return compressed_format(config);
  return method.starts_with("modelopt") ? modelopt_format(config) : std::nullopt;
}

const Json* quantization_part(const Json& config) {
  const Json* found = member_of(config, "quantization_config");
  return found != nullptr && found->is_object() && !found->empty() ? found : nullptr;
}

}  // namespace

StoredWeights stored_weights_of_huggingface(const Json& config) {
  const Json* found = quantization_part(config);
  for (const char* inner : {"text_config", "llm_config", "language_config"}) {
    const Json* nested = member_of(config, inner);
    if (found == nullptr && nested != nullptr) found = quantization_part(*nested);
  }
  if (found == nullptr) return {};
  std::string method = lower_text_of(*found, "quant_method");
  if (method.empty()) method = member_of(*found, "quant_algo") != nullptr ? "modelopt" : "unnamed";
  return {method, weight_format_of(method, *found)};
}

}  // namespace meshwright::interop
