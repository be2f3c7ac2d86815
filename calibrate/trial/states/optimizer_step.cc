// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/states/optimizer_step.h"

#include "calibrate/launch/rank_progress.h"

namespace meshwright::calibrate {

void update_weights(const TrialContext& context, ParameterUnit& unit, float* weight,
                    const float* gradient, std::int64_t count, const AdamStep& adam) {
  const TermScope scope(context.recorder, TermKind::optimizer);
  const Bytes size = bytes(static_cast<double>(count) * sizeof(float));
  begin_operation({.name = "optimizer", .amount = size, .slow = slow_transfer(size)});
  if (context.layout.optimizer_offload) {
    return context.host->update(unit.on_host, weight, gradient, count, adam);
  }
  context.compute.adam(weight, gradient, unit.exp_avg.data(), unit.exp_avg_sq.data(), count, adam);
}

}  // namespace meshwright::calibrate
