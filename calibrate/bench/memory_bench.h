// SPDX-License-Identifier: Apache-2.0
// How fast a device streams its memory, talks to the host, and starts a kernel that does nothing
// much.
#pragma once

#include <memory>

#include "calibrate/bench/bench.h"
#include "calibrate/measure/points.h"

namespace meshwright::calibrate {

// Device-to-device copy of `size`: reads and writes as much.
std::unique_ptr<Bench> make_copy_bench(Compute& compute, Bytes size);
// `size` between host and device, one way or both at once; from and to pinned memory.
std::unique_ptr<Bench> make_host_link_bench(Compute& compute, Bytes size, HostDirection direction);
// One addition of one number. Back to back, so that a queue of launches shows its device-side cost.
std::unique_ptr<Bench> make_launch_bench(Compute& compute);

}  // namespace meshwright::calibrate
