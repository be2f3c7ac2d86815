// SPDX-License-Identifier: Apache-2.0
// What users of other programs type, in this program's words: options of Megatron-LM, torchtitan,
// DeepSpeed and vLLM, Hugging Face names of models, and families of training software.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace meshwright::app {

// The shipped record of a folder of configs/ that the typed name means: "llama-3-70b" for
// "meta-llama/Llama-3.1-70B" in "models", the newest file of a family in "frameworks". Empty: none.
std::string config_synonym(const std::string& typed, const std::string& folder);

// The words behind `command`'s name, with its own names in place of options that it does not have.
// Throws InputError that says how to write an option which has no counterpart.
std::vector<std::string> with_own_options(const CLI::App& command,
                                          const std::vector<std::string>& words);

}  // namespace meshwright::app
