// SPDX-License-Identifier: Apache-2.0
// NCCL says of a peer that died, or of a broken link, only when it is asked: what was put on the
// stream never ends, and a rank that waits for it waits for ever. A thread asks every second, and
// ends the process with a line that names rank, host and cause (exit code 3).
#pragma once

#include <nccl.h>

#include <string>

namespace meshwright::calibrate {

// From now on, until unwatch_errors(). `rank` and `host` are for the line.
void watch_errors(ncclComm_t communicator, int rank, const std::string& host);
void unwatch_errors(ncclComm_t communicator);

}  // namespace meshwright::calibrate
