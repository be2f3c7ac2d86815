// SPDX-License-Identifier: Apache-2.0
// Rates that only order points of different kinds: what a core, or a GPU with its links, roughly
// reaches. Pure.
#pragma once

#include "calibrate/sweep.h"
#include "sim/hardware/device.h"

namespace meshwright::calibrate {

struct NominalRates {
  FlopsPerSecond products;
  BytesPerSecond memory, link;
  Seconds call;
};
NominalRates nominal_rates(DeviceKind kind);

// Of one call.
Seconds nominal_time(const GemmDemand& demand, const NominalRates& rates);
Seconds nominal_time(const CollectiveDemand& demand, const NominalRates& rates);

}  // namespace meshwright::calibrate
