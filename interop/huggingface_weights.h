// SPDX-License-Identifier: Apache-2.0
// The format in which a checkpoint stores its weights: "quantization_config" of its config.json.
// Sources: transformers utils/quantization_config.py, compressed-tensors' and modelopt's
// configurations.
#pragma once

#include <optional>
#include <string>

#include "sim/base/serving_formats.h"
#include "sim/record/json.h"

namespace meshwright::interop {

struct StoredWeights {
  std::string method;                    // "gptq"; empty: there is no quantization_config
  std::optional<WeightFormat> format{};  // nothing: the method has no format here
};
// Of the file's own object, or of the language model in it.
StoredWeights stored_weights_of_huggingface(const Json& config);

}  // namespace meshwright::interop
