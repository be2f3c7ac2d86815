// SPDX-License-Identifier: Apache-2.0
// Sizes that any machine is asked for, whatever its models are. Pure.
#pragma once

#include <vector>

#include "calibrate/bench/gemm_bench.h"
#include "calibrate/measure/points.h"
#include "sim/hardware/device.h"

namespace meshwright::calibrate {

// Shapes from vectors to large squares. A GPU gets larger ones.
std::vector<GemmVariant> general_gemms(DeviceKind kind);

// Products beside which transfers are timed, the usual one first. Of a GPU also one whose blocks do
// not fill it, and one that sums long and writes little, as gradients of weights do.
std::vector<Product> overlapped_products(DeviceKind kind, Precision precision);

// 1 KiB to `largest` in powers of two.
std::vector<Bytes> payloads(Bytes largest);

// The payload rounded down to whole elements for each rank, at least one: 1 KiB is 256 of 4 bytes.
Bytes whole_payload(Bytes payload, int group_size);

}  // namespace meshwright::calibrate
