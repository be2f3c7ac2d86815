// SPDX-License-Identifier: Apache-2.0
// meshwright explain: a rule in words, or why a layout is not a plan's winner.
#pragma once

namespace CLI {
class App;
}

namespace meshwright::app {

void add_explain(CLI::App& app, int& exit_code);

}  // namespace meshwright::app
