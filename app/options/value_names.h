// SPDX-License-Identifier: Apache-2.0
// Names of the values that options take, as --help and docs/reference/cli.md print them:
// "--headroom SHARE", not "--headroom TEXT".
#pragma once

namespace CLI {
class App;
}  // namespace CLI

namespace meshwright::app {

// Names the value of every option of `program` and of its sub-commands, and lets those that are
// numbers be typed in words (typed_numbers.h).
void name_values(CLI::App& program);

}  // namespace meshwright::app
