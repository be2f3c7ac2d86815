// SPDX-License-Identifier: Apache-2.0
// A capacity answer on the terminal. `kind` is what its rows count: GPUs or cores.
#pragma once

#include "app/commands/answers_text.h"
#include "reports/records/capacity.h"

namespace meshwright::app {

// The verdict alone, as a heading.
Paragraph capacity_verdict(const reports::Capacity& capacity);
// The verdict and the grid; where the time goes.
void print_capacity(const reports::Capacity& capacity, DeviceKind kind);
// Prints the levers, and the inputs on which the answer rests.
void print_capacity_basis(const reports::Capacity& capacity, DeviceKind kind);

}  // namespace meshwright::app
