// SPDX-License-Identifier: Apache-2.0
// The last part of a path or of a published name: "Llama-3.1-8B" of "meta-llama/Llama-3.1-8B".
#pragma once

#include <string>
#include <string_view>

namespace meshwright {

inline std::string base_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

}  // namespace meshwright
