// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/checkpoint.h"

#include <cmath>

#include "sim/block/parameters.h"
#include "sim/memory/model_state.h"

namespace meshwright::planner {

double checkpoint_bytes_per_parameter(const Job& job, bool with_16_bit_weights) {
  constexpr double kFp32 = 4.0;
  if (!job.master_weights) return weight_bytes(job.precision) + moment_bytes(job);
  const bool both = with_16_bit_weights && has_master_weights(job.precision);
  return kFp32 + moment_bytes(job) + (both ? weight_bytes(job.precision) : 0.0);
}

Bytes checkpoint_bytes(const Model& model, const Job& job, bool with_16_bit_weights) {
  Stage all;
  all.chunks = {{.first_layer = 0, .num_layers = model.num_layers}};
  const StageParameters adapters = adapter_parameters(model, job, {}, all);
  const double trained = freezes_weights(job) ? adapters.dense + adapters.expert
                                              : static_cast<double>(total_parameters(model));
  return bytes(trained * checkpoint_bytes_per_parameter(job, with_16_bit_weights));
}

Seconds young_interval(Seconds pause, Seconds mean_time_between) {
  return seconds(std::sqrt(2.0 * pause.value() * mean_time_between.value()));
}

Seconds renewal_interval(Seconds pause, Seconds mean_time_between) {
  const double w = pause / mean_time_between;
  if (w <= 0.0) return seconds(0);
  double y = std::sqrt(2.0 * w);  // never too small: the function is convex
  for (int i = 0; i < 50; ++i) {
    const double miss = y - 1.0 + std::exp(-(y + w));
    const double slope = 1.0 - std::exp(-(y + w));
    y -= miss / slope;
  }
  return mean_time_between * y;
}

}  // namespace meshwright::planner
