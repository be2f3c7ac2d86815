// SPDX-License-Identifier: Apache-2.0
// What a process should be before it works: its three standard streams are open, a closed pipe is
// an error of a write and no signal, an interrupt is an exit code.
#pragma once

namespace meshwright::app {

// What is added to a signal's number in the exit code of a process that it ended, as shells count.
inline constexpr int kSignalled = 128;

void prepare_process();

}  // namespace meshwright::app
