// SPDX-License-Identifier: Apache-2.0
// meshwright trial: really runs a plan's top picks on the ranks at hand.
#pragma once

namespace CLI {
class App;
}

namespace meshwright::app {
void add_trial(CLI::App& app, int& exit_code);
}  // namespace meshwright::app
