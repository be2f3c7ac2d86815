// SPDX-License-Identifier: Apache-2.0
// What a process should be before it works: its three standard streams are open, a closed pipe is
// an error of a write and no signal, an interrupt is an exit code.
#pragma once

namespace meshwright::app {

// The exit code of what this signal ended: 130 for an interrupt, else 143 (a terminal that hung up
// asks to end, as SIGTERM does).
int interrupted(int signal);

void prepare_process();

}  // namespace meshwright::app
