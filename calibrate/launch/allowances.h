// SPDX-License-Identifier: Apache-2.0
// How long a rank may go without progress before it counts as hanging. Pure.
//
// Timeout plus what the operation may take on a slow device of its kind. A slow core multiplies at
// 2 GFLOP/s and sends at 1 MB/s, a tenth of fast Ethernet. A slow GPU multiplies at 1 TFLOP/s, a
// fraction of any that has tensor cores, and sends at 1 GB/s, a little less than 10-Gbit Ethernet:
// of the largest product (8192^3) or message (1 GiB) of a calibration it has 1.1 s more.
#pragma once

#include "sim/base/units.h"
#include "sim/hardware/device.h"

namespace meshwright::calibrate {

Seconds slow_product(Flops flops, DeviceKind kind);
Seconds slow_transfer(Bytes bytes, DeviceKind kind);

// A rank under somebody else's launcher judges itself, and does not see what the others do. Waiting
// for them it must outlast the one that hangs, so that this one ends first and names the cause; and
// the stages of a pipeline that compute one after the other, minutes on cores. Of work of its own
// it knows all.
Seconds longest_alone(Seconds timeout, Seconds slow, bool waits, DeviceKind kind);

}  // namespace meshwright::calibrate
