// SPDX-License-Identifier: Apache-2.0
// Numbers of options as people type them: "2T" tokens, a sequence of "128k", "20rps".
#pragma once

namespace CLI {
class Option;
}

namespace meshwright::app {

enum class TypedNumber {
  count,   // lengths, devices: k is 1,024, so that 8k is 8,192
  amount,  // without a unit: k is 1,000
  rate,    // requests a second
};
// Lets the option take these words beside digits, and says how they are read.
void take_typed_number(CLI::Option& option, TypedNumber kind);

}  // namespace meshwright::app
