// SPDX-License-Identifier: Apache-2.0
// Names of published checkpoints, as launch commands and benchmark results say them.
#pragma once

#include <optional>
#include <string>

#include "sim/base/serving_formats.h"

namespace meshwright::app {

// "deepseek-v3" of "deepseek-ai/DeepSeek-V3": the last part in lower case.
std::string checkpoint_name(std::string name);
// The name without words at its end that leave a shape as it is: "-Instruct", "-2507", "-FP8".
std::string without_variants(std::string name);
// The shipped model whose checkpoint has that name, or that name but for such words. Empty: there
// is none.
std::string model_of_checkpoint(const std::string& named);
// The format of its weights, where its name says one: "DeepSeek-R1-FP4". `experts`: of a model with
// experts.
std::optional<WeightFormat> format_in_name(const std::string& checkpoint, bool experts);
// Tells whether the name says a format that is none of these: "-bnb-4bit", "-w8a8".
bool says_unknown_format(const std::string& checkpoint);

// Positions that another release of a shipped model has, by its name: 262,144 of "Qwen3-8B-2507",
// 32,768 of "Qwen2.5-7B-Instruct". 0: the model's.
int positions_in_name(const std::string& checkpoint);

// The name by which an engine loads a typed model: a name of Hugging Face as it is, the folder of a
// config.json, the published checkpoint of a shipped model. Empty: there is none.
std::string checkpoint_of_model(const std::string& typed);

}  // namespace meshwright::app
