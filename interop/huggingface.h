// SPDX-License-Identifier: Apache-2.0
// The transformer that a Hugging Face config.json describes.
//
// model_type decides what every other key means and which default an absent one has (in the
// library's configuration classes a missing tie_word_embeddings is true for Gemma and false for
// Llama). A type that is not known here, or a switch that our Model cannot express, is an error,
// never a guess.
#pragma once

#include <string>

#include "sim/model/model.h"
#include "sim/record/json.h"

namespace meshwright::interop {

// Python writes Infinity, -Infinity and NaN, which JSON does not have. Outside strings they become
// null: an error where a size is asked for, and nothing where nobody reads them.
std::string without_non_numbers(const std::string& text);

// An object with "model_type", itself or in its "text_config".
bool looks_like_huggingface(const Json& config);

// Returns a sentence on layers of such a model that are read but neither counted nor predicted. It
// is empty if there are none.
std::string not_modelled_layers_of_huggingface(const Json& config);
// The same for a training, which also leaves out the format of the stored weights.
std::string not_modelled_of_huggingface(const Json& config);

// Named by "_name_or_path", else after the file (its folder when the file is config.json). Keys
// that no planner needs are passed over. Throws InputError.
Model model_from_huggingface(const Json& config, const std::string& file);

}  // namespace meshwright::interop
