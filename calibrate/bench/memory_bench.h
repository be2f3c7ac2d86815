// SPDX-License-Identifier: Apache-2.0
// How fast a device streams its memory, talks to the host, and starts a kernel that does nothing
// much.
#pragma once

#include <memory>

#include "calibrate/bench/bench.h"

namespace meshwright::calibrate {

// Device-to-device copy of `size`: reads and writes as much.
std::unique_ptr<Bench> make_copy_bench(Compute& compute, Bytes size);
// Host to device.
std::unique_ptr<Bench> make_upload_bench(Compute& compute, Bytes size);
// One addition of one number. Back to back, so that a queue of launches shows its device-side cost.
std::unique_ptr<Bench> make_launch_bench(Compute& compute);

}  // namespace meshwright::calibrate
