// SPDX-License-Identifier: Apache-2.0
#include "calibrate/launch/allowances.h"

namespace meshwright::calibrate {
namespace {

struct SlowDevice {
  FlopsPerSecond products;
  BytesPerSecond transfers;
  double timeouts_of_a_wait;
};

SlowDevice slow_device(DeviceKind kind) {
  if (kind == DeviceKind::gpu) {
    return {teraflops_per_second(1.0), gigabytes_per_second(1.0), 2.0};
  }
  return {teraflops_per_second(0.002), gigabytes_per_second(0.001), 20.0};
}

}  // namespace

Seconds slow_product(Flops flops, DeviceKind kind) { return flops / slow_device(kind).products; }

Seconds slow_transfer(Bytes bytes, DeviceKind kind) { return bytes / slow_device(kind).transfers; }

Seconds longest_alone(Seconds timeout, Seconds slow, bool waits, DeviceKind kind) {
  return timeout * (waits ? slow_device(kind).timeouts_of_a_wait : 1.0) + slow;
}

}  // namespace meshwright::calibrate
