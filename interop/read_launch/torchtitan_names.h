// SPDX-License-Identifier: Apache-2.0
// torchtitan's names of shipped models.
#pragma once

#include <optional>
#include <string_view>

namespace meshwright::interop {

// Of [model]: name = "llama3", flavor = "8B".
struct TitanName {
  std::string_view name, flavor;
};
// Empty: torchtitan has no flavor of this shipped model.
std::optional<TitanName> titan_name_of(std::string_view model);

}  // namespace meshwright::interop
