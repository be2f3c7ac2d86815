// SPDX-License-Identifier: Apache-2.0
// Tells how fast a host is between the steps of a trial.
#pragma once

#include <functional>
#include <memory>

#include "calibrate/backends/communicator.h"
#include "calibrate/backends/compute.h"
#include "sim/layout/layout.h"

namespace meshwright::calibrate {

class SpeedReference {
 public:
  SpeedReference() = default;
  SpeedReference(const SpeedReference&) = delete;
  SpeedReference& operator=(const SpeedReference&) = delete;
  virtual ~SpeedReference() = default;
  // Runs the reference once. Returns its time over its time in the device's profile; above 0.
  // Collective.
  virtual double time_ratio() = 0;
};

// Makes the reference of a layout's run on these ranks; null where there is none. Collective.
using MakeSpeedReference =
    std::function<std::unique_ptr<SpeedReference>(const Layout&, Compute&, Communicator& ranks)>;

}  // namespace meshwright::calibrate
