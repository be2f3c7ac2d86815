// SPDX-License-Identifier: Apache-2.0
// meshwright volume: the ledger of every collective of one layout, and the three published orders.
#pragma once

namespace CLI {
class App;
}

namespace meshwright::app {
void add_volume(CLI::App& app, int& exit_code);
}  // namespace meshwright::app
