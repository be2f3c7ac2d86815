// SPDX-License-Identifier: Apache-2.0
// meshwright estimate: one layout's time, memory and volume, term by term.
#pragma once

namespace CLI {
class App;
}

namespace meshwright::app {
void add_estimate(CLI::App& app, int& exit_code);
}  // namespace meshwright::app
