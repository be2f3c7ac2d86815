// SPDX-License-Identifier: Apache-2.0
// What an InputError says to whoever gave the input.
#pragma once

#include <string>

#include "sim/base/error.h"

namespace meshwright {

// Empty where nothing is wrong.
template <typename Ask>
std::string error_of(const Ask& ask) {
  try {
    ask();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

template <typename Ask>
std::string error_and_hint_of(const Ask& ask) {
  try {
    ask();
  } catch (const InputError& error) {
    return std::string(error.what()) + " hint: " + error.hint();
  }
  return "";
}

}  // namespace meshwright
