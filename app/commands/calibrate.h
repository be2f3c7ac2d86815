// SPDX-License-Identifier: Apache-2.0
// meshwright calibrate: measures this machine and writes its profile.
#pragma once

namespace CLI {
class App;
}

namespace meshwright::app {
void add_calibrate(CLI::App& app, int& exit_code);
}  // namespace meshwright::app
