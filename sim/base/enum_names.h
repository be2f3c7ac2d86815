// SPDX-License-Identifier: Apache-2.0
// An enumerator and its word: the same in C++, JSON, command line and report. Each enumeration has
// its table beside it.
#pragma once

#include <array>
#include <string_view>

namespace meshwright {

template <typename Enum>
struct EnumName {
  Enum value;
  std::string_view name;
};
template <typename Enum>
EnumName(Enum, std::string_view) -> EnumName<Enum>;

// The name of an enumerator; a table lists each once.
template <typename Enum, std::size_t N>
constexpr std::string_view name_in(const std::array<EnumName<Enum>, N>& names, Enum value) {
  for (const auto& entry : names) {
    if (entry.value == value) return entry.name;
  }
  return "?";
}

}  // namespace meshwright
