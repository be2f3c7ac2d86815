// SPDX-License-Identifier: Apache-2.0
// meshwright backtest: predictions against a set of measured runs.
#pragma once

namespace CLI {
class App;
}

namespace meshwright::app {
void add_backtest(CLI::App& app, int& exit_code);
}  // namespace meshwright::app
