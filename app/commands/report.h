// SPDX-License-Identifier: Apache-2.0
// meshwright report: a plan, and what was measured of it, as one page and the record behind it.
#pragma once

namespace CLI {
class App;
}

namespace meshwright::app {
void add_report(CLI::App& app, int& exit_code);
}  // namespace meshwright::app
