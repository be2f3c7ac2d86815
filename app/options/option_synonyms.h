// SPDX-License-Identifier: Apache-2.0
// Options that users of other programs type, in this program's words: Megatron-LM's, torchtitan's,
// DeepSpeed's and vLLM's.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace meshwright::app {

// The words behind `command`'s name, with its own names in place of options that it does not have.
// Throws InputError that says how to write an option which has no counterpart.
std::vector<std::string> with_own_options(const CLI::App& command,
                                          const std::vector<std::string>& words);

}  // namespace meshwright::app
