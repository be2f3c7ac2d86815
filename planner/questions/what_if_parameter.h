// SPDX-License-Identifier: Apache-2.0
// The inputs that a "what if" turns: each has a name, a unit, a value and an uncertainty, and can
// be multiplied by a factor.
//
// Where a link or a GEMM was measured, its points move as well: the time of the smallest message
// counts as latency, what comes on top of it as bandwidth.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/step/scenario.h"

namespace meshwright::planner {

enum class WhatIfParameter {
  gemm_efficiency,
  attention_efficiency,
  peak_flops,  // of GEMMs and attention: another device
  memory_bandwidth,
  memory_capacity,
  kernel_launch,
  host_overhead,
  overlap_slowdown,
  intra_node_bandwidth,
  intra_node_latency,
  inter_node_bandwidth,
  inter_node_latency,
  global_batch_size,
  price_per_gpu_hour,
  power,
};
inline constexpr int kNumWhatIfParameters = static_cast<int>(WhatIfParameter::power) + 1;

struct WhatIfParameterText {
  WhatIfParameter parameter;
  std::string_view name;   // snake_case, as on the command line and in JSON
  std::string_view label;  // for people
  std::string_view unit;   // unit of value_of(); empty: a share
  bool of_peak = false;    // value_of() is a share of the device's peak: at most 1
};
std::span<const WhatIfParameterText> all_parameters();
const WhatIfParameterText& text_of(WhatIfParameter parameter);
// Throws InputError that lists the names.
WhatIfParameter parameter_named(const std::string& name);

// Tells whether the step's time depends on it in a continuous way: what a tornado turns. Memory
// decides what fits, price and power what it costs, and the batch is another job.
bool changes_time(WhatIfParameter parameter);

double value_of(WhatIfParameter parameter, const Scenario& scenario);
// One standard deviation of the parameter's logarithm, from the records' relative_spread; 0 where
// none is stated (memory, batch, price).
double relative_spread(WhatIfParameter parameter, const Scenario& scenario);
Provenance provenance_of(WhatIfParameter parameter, const Scenario& scenario);
// The largest factor that physics admits: no kernel beats the device's peak, and no collective the
// link that carries it. Infinite where nothing bounds it.
double largest_factor(WhatIfParameter parameter, const Scenario& scenario);
Scenario scaled(Scenario scenario, WhatIfParameter parameter, double factor);

// What a faster link or memory changes, for training and serving alike.
void scale_bandwidth(Link& link, double factor);
void scale_memory_bandwidth(Device& device, double factor);
// Points of one curve, by payload.
template <typename Point>
void scale_bandwidth(std::vector<Point>& points, double factor) {
  const Seconds latency = points.empty() ? seconds(0) : points.front().time;
  for (Point& point : points) point.time = latency + (point.time - latency) / factor;
}

}  // namespace meshwright::planner
