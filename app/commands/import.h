// SPDX-License-Identifier: Apache-2.0
// meshwright import: other programs' logs in our words.
#pragma once

namespace CLI {
class App;
}

namespace meshwright::app {

void add_import(CLI::App& app, int& exit_code);

}  // namespace meshwright::app
