// SPDX-License-Identifier: Apache-2.0
// Rates of the trial's inference engine on cores from its own times: attention over a paged cache
// (sim's DecodeAttentionRate and PrefillAttentionRate), the host's part of a step (HostStepRate),
// and copies of caches between replicas (CacheCopyRate).
#pragma once

#include <vector>

#include "calibrate/fit/fit.h"
#include "calibrate/measure/points.h"
#include "sim/hardware/inference_rates.h"

namespace meshwright::calibrate {

// `device` has the products' peak and the memory bandwidth that fractions are of. What too few
// points say has no rate. On GPUs, where engines have kernels of their own, there is none.
InferenceRates fit_serving(const Device& device, const std::vector<MeasuredPoint>& points,
                           std::vector<Fit>& fits);

}  // namespace meshwright::calibrate
