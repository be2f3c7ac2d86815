// SPDX-License-Identifier: Apache-2.0
// One GPU as a Compute device. Everything but download() and synchronize() is asynchronous, in
// order, on the rank's one stream.
#pragma once

#include <memory>

#include "calibrate/backends/compute.h"

namespace meshwright::calibrate::cuda {

std::unique_ptr<Compute> make_compute(int local_rank);

}  // namespace meshwright::calibrate::cuda
