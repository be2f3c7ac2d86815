// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/roofline.h"

#include <algorithm>

#include "sim/kernel_time/gemm_model.h"
#include "sim/operators/operators.h"
#include "sim/step/operator_cost.h"

namespace meshwright::planner {

FlopsPerSecond Roofline::attainable(double intensity) const {
  return FlopsPerSecond(std::min(peak.value(), intensity * bandwidth.value()));
}

Roofline roofline_of(const Scenario& scenario, Layout layout) {
  layout.zero_stage = 0;
  layout.recompute_granularity = RecomputeGranularity::none;
  layout.recompute_num_layers = 0;
  const UnitScope unit{scenario, layout};
  const Model& model = scenario.model;
  const Device& device = only_device(scenario.cluster);
  Roofline made{.peak = gemm_model_for(device, scenario.job.precision).peak,
                .bandwidth = device.memory_bandwidth};
  const auto add = [&](const std::vector<Operator>& operators) {
    for (const Operator& op : operators) {
      const Seconds time = operator_cost(op, unit).forward.time;
      const bool shown =
          op.forward_flops.value() > 0.0 && op.forward_bytes.value() > 0.0 && time.value() > 0.0;
      if (!shown) continue;
      made.operators.push_back({std::string(op.name), op.forward_flops, op.forward_bytes, time});
    }
  };
  add(layer_operators(model, layer_kind(model, model.num_layers - 1), scenario.job, unit.tokens,
                      unit.layout));
  add(head_operators(model, scenario.job, unit.tokens, unit.layout));
  return made;
}

}  // namespace meshwright::planner
