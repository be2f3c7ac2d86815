// SPDX-License-Identifier: Apache-2.0
// What this rank's main thread is doing, for the reports of calibrate/launch/rank_report.h.
#pragma once

#include "calibrate/launch/rank_place.h"
#include "sim/base/units.h"
#include "sim/hardware/device.h"

namespace meshwright::calibrate {

struct Operation {
  const char* name;      // read by another thread at any time: a literal
  Bytes amount{};        // zero: none
  Seconds slow{};        // allowance for a slow machine, added to the timeout
  bool waits = false;    // for other ranks
  bool is_over = false;  // nothing has been begun since
};

// The operation before it has ended. A few nanoseconds: every collective and product calls it.
void begin_operation(const Operation& operation);

// While one lives, this rank has nothing to do until others are done, which may take long: only
// they are judged, each by itself.
class WaitForOthers {
 public:
  WaitForOthers();
  WaitForOthers(const WaitForOthers&) = delete;
  WaitForOthers& operator=(const WaitForOthers&) = delete;
  ~WaitForOthers();
};

// The kind of device that this rank has; a core until it is told.
void watch_device(DeviceKind kind);

// What an operation of this size may take on a slow device of this rank's kind before it counts as
// hanging (calibrate/launch/allowances.h).
Seconds slow_product(Flops flops);
Seconds slow_transfer(Bytes bytes);

// From now on until the process ends, from a thread: reports, where launch_ranks started this rank;
// and then the rank dies with its mpirun. Under somebody else's launcher nobody reads reports: the
// rank ends itself, with exit code 3, when it has been in one operation for longer than
// longest_alone() allows.
void report_progress(const RankPlace& place, Seconds timeout);

}  // namespace meshwright::calibrate
