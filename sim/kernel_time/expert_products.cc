// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel_time/expert_products.h"

#include <algorithm>
#include <cmath>

#include "sim/base/quadrature.h"
#include "sim/kernel_time/gemm_model.h"

namespace meshwright {

Seconds with_more_traffic(Seconds time, Seconds traffic, Seconds more) {
  const auto cube = [](Seconds t) { return t.value() * t.value() * t.value(); };
  const double compute = std::max(0.0, cube(time) - cube(traffic));
  return seconds(std::cbrt(compute + cube(traffic + more)));
}

Cost as_grouped(Cost batched, Precision precision, const Device& device) {
  for (const GroupedGemmRate& rate : device.grouped_gemm) {
    if (rate.precision != precision) continue;
    Cost grouped = times(batched, rate.time_factor);
    grouped.relative_spread = in_quadrature(grouped.relative_spread, rate.relative_spread);
    return grouped;
  }
  return batched;
}

Cost gradient_cost(GemmShape shape, Precision precision, double gradient_bytes,
                   const Device& device) {
  const Cost product = gemm_cost(shape, precision, device);
  const GemmModel& model = gemm_model_for(device, precision);
  if (!model.points.empty()) return product;
  const BytesPerSecond rate = device.memory_bandwidth * device.memory_bandwidth_fraction;
  const auto numbers = static_cast<double>(shape.batch) * static_cast<double>(shape.m) *
                       static_cast<double>(shape.n);
  const Bytes more = bytes(numbers * (2.0 * gradient_bytes - activation_bytes(model.precision)));
  const Seconds arithmetic =
      with_more_traffic(product.time - device.kernel_launch,
                        gemm_traffic(shape, model.precision) / rate, more / rate);
  return with_time(product, device.kernel_launch + arithmetic);
}

}  // namespace meshwright
