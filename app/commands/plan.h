// SPDX-License-Identifier: Apache-2.0
// meshwright plan: every layout of a space, ranked, with what was rejected and why.
#pragma once

namespace CLI {
class App;
}

namespace meshwright::app {

void add_plan(CLI::App& app, int& exit_code);

}  // namespace meshwright::app
