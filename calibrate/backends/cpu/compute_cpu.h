// SPDX-License-Identifier: Apache-2.0
// One CPU core as a Compute device. Host memory, every call done when it returns.
#pragma once

#include <memory>
#include <string>

#include "calibrate/backends/compute.h"

namespace meshwright::calibrate::cpu {

std::unique_ptr<Compute> make_compute();
std::string libraries();

}  // namespace meshwright::calibrate::cpu
