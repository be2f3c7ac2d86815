// SPDX-License-Identifier: Apache-2.0
// Time that a thread was ready to run while another one had its core.
#pragma once

#include <string>

namespace meshwright::calibrate {

// Reads /proc/PID/schedstat: nanoseconds on a core, nanoseconds in the run queue, time slices
// (Linux, Documentation/scheduler/sched-stats). 0 if it is none.
double queued_seconds(const std::string& schedstat);

// Of the calling thread, since it began. 0 where the kernel does not say.
double seconds_without_core();

// `taken` seconds without those in which another thread had the core.
double without_wait(double taken, double waited);

}  // namespace meshwright::calibrate
