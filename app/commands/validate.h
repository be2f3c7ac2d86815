// SPDX-License-Identifier: Apache-2.0
// meshwright validate: predicted beside measured, and a gate on the error.
#pragma once

namespace CLI {
class App;
}

namespace meshwright::app {

void add_validate(CLI::App& app, int& exit_code);

}  // namespace meshwright::app
