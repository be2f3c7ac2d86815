// SPDX-License-Identifier: Apache-2.0
// Names of published checkpoints, as launch commands and benchmark results say them.
#pragma once

#include <optional>
#include <string>

#include "interop/huggingface_weights.h"
#include "sim/model/model.h"

namespace meshwright::app {

// "deepseek-v3" of "deepseek-ai/DeepSeek-V3": the last part in lower case.
std::string checkpoint_name(std::string name);
// The shipped model whose checkpoint has that name, or that name without words of a variant. Empty:
// there is none.
std::string model_of_checkpoint(const std::string& named);
// The name by which an engine loads a typed model: a name of Hugging Face as it is, the folder of a
// config.json, the published checkpoint of a shipped model. Empty: there is none.
std::string checkpoint_of_model(const std::string& typed);

struct StoredFormat {
  WeightFormat format = WeightFormat::bf16;
  std::string why;
};
// How a checkpoint stores its weights, by the model's quantization_config or by its own name.
std::optional<StoredFormat> stored_format_of(const std::string& checkpoint, const Model& model,
                                             const interop::StoredWeights& stated);

}  // namespace meshwright::app
