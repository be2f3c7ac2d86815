// SPDX-License-Identifier: Apache-2.0
// Hugging Face names of models, and families of software, as names of shipped records.
#pragma once

#include <string>

namespace meshwright::app {

// The shipped record of a folder of configs/ that the typed name means: "llama-3-70b" for
// "meta-llama/Llama-3.1-70B" in "models", the newest file of a family in "frameworks" and
// "engines". Empty: none.
std::string config_synonym(const std::string& typed, const std::string& folder);

}  // namespace meshwright::app
