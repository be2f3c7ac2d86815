// SPDX-License-Identifier: Apache-2.0
#include "calibrate/nominal_rates.h"

#include <algorithm>

#include "sim/collective/collective.h"
#include "sim/kernel_time/gemm_model.h"

namespace meshwright::calibrate {

NominalRates nominal_rates(DeviceKind kind) {
  if (kind == DeviceKind::gpu) {
    return {teraflops_per_second(300), gigabytes_per_second(2000), gigabytes_per_second(100),
            microseconds(20)};
  }
  return {teraflops_per_second(0.1), gigabytes_per_second(10), gigabytes_per_second(2),
          microseconds(10)};
}

Seconds nominal_time(const GemmDemand& demand, const NominalRates& rates) {
  const GemmShape& shape = demand.variant.shape;
  // Products of few rows read their weights.
  return std::max(gemm_flops(shape) / rates.products,
                  gemm_traffic(shape, Precision::bf16) / rates.memory);
}

Seconds nominal_time(const CollectiveDemand& demand, const NominalRates& rates) {
  return rates.call +
         demand.payload * bus_factor(demand.collective, demand.group_size) / rates.link;
}

}  // namespace meshwright::calibrate
