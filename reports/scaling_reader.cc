// SPDX-License-Identifier: Apache-2.0
#include "reports/scaling_reader.h"

#include <fmt/format.h>

#include "sim/json/records.h"

namespace meshwright::reports {
namespace {

Layout layout_of(ObjectReader& reader) {
  return layout_from_json(reader.member("layout"), reader.file(), reader.pointer_to("layout"));
}

std::optional<double> number_if_any(ObjectReader& reader, std::string_view key) {
  if (!reader.has(key)) return std::nullopt;
  return reader.required_number(key);
}

planner::ScalePoint read_point(ObjectReader reader) {
  planner::ScalePoint point;
  point.gpus = reader.required_int("gpus");
  if (!reader.has("layout")) {
    point.reason = reader.required_string("reason");
    return point;
  }
  point.layout = layout_of(reader);
  point.step_time = seconds(reader.required_number("step_time_seconds"));
  point.step_time_low = seconds(reader.required_number("step_time_low_seconds"));
  point.step_time_high = seconds(reader.required_number("step_time_high_seconds"));
  point.peak_memory = bytes(reader.required_number("peak_memory_bytes"));
  point.memory_headroom = reader.required_number("memory_headroom", {.low = -1e300});
  point.tokens_per_second_per_gpu = reader.required_number("tokens_per_second_per_gpu");
  point.model_flops_utilization = reader.required_number("model_flops_utilization");
  point.efficiency = reader.required_number("efficiency");
  point.cost = number_if_any(reader, "cost");
  point.device_energy_kwh = number_if_any(reader, "device_energy_kwh");
  point.objective = reader.required_number("objective", {.low = -1e300});
  return point;
}

planner::Choice read_choice(ObjectReader reader) {
  return {.gpus = reader.required_int("gpus"),
          .layout = layout_of(reader),
          .step_time = seconds(reader.required_number("step_time_seconds")),
          .peak_memory = bytes(reader.required_number("peak_memory_bytes")),
          .gpu_seconds = reader.required_number("gpu_seconds")};
}

// Each element of the array `key`, as `read` takes it.
template <typename Read>
auto read_each(ObjectReader& reader, std::string_view key, const Read& read) {
  std::vector<decltype(read(reader))> all;
  const Json& list = reader.required_array(key);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string pointer = fmt::format("{}/{}", reader.pointer_to(key), i);
    all.push_back(read(ObjectReader(list[i], reader.file(), pointer)));
  }
  return all;
}

}  // namespace

planner::Scaling scaling_from_json(ObjectReader reader) {
  planner::Scaling scaling;
  scaling.points = read_each(reader, "points", read_point);
  scaling.choices = read_each(reader, "choices", read_choice);
  if (reader.has("best")) {
    const auto last = static_cast<std::int64_t>(scaling.points.size()) - 1;
    scaling.best = static_cast<std::size_t>(reader.required_int("best", {.low = 0, .high = last}));
  }
  return scaling;
}

}  // namespace meshwright::reports
