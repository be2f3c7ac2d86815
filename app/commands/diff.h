// SPDX-License-Identifier: Apache-2.0
// meshwright diff: what changed between two plans, and a gate for a pipeline.
#pragma once

namespace CLI {
class App;
}

namespace meshwright::app {

void add_diff(CLI::App& app, int& exit_code);

}  // namespace meshwright::app
