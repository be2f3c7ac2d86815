// SPDX-License-Identifier: Apache-2.0
// meshwright cluster: the shipped clusters, and one of them drawn with its speeds and sources.
#pragma once

namespace CLI {
class App;
}

namespace meshwright::app {
void add_cluster(CLI::App& app, int& exit_code);
}  // namespace meshwright::app
