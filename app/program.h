// SPDX-License-Identifier: Apache-2.0
// The program: a table of its sub-commands, and the one place that turns an error into text and an
// exit code. 0 done; 1 no layout fits, or a gate failed; 2 wrong usage or input; 3 device, MPI or
// NCCL failure, or a write that failed; 130 and 143 after SIGINT and SIGTERM.
#pragma once

#include <string>

#include "app/console/terminal.h"

namespace meshwright::app {

// Answers one command line on these streams. A process may ask many, one after the other; commands
// that start ranks are asked in a process of their own, which the ranks' launcher starts again.
int run(int argc, char** argv, const Streams& streams = {});

// "0.2.0" and one line per backend that was built in, with its libraries.
std::string version_text();

}  // namespace meshwright::app
