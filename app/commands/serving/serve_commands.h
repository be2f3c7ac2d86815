// SPDX-License-Identifier: Apache-2.0
// The sub-commands of serve, a source each.
#pragma once

namespace meshwright::app {

class Command;
class Commands;

// serve itself: the deployments of a service.
Command& add_serve_plan(Commands& commands);
void add_serve_simulate(Commands& commands, Command& serve);
void add_serve_backtest(Commands& commands, Command& serve);
void add_serve_read(Commands& commands, Command& serve);

}  // namespace meshwright::app
