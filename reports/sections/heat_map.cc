// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "reports/sections/sections_json.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

Json size_cell_json(const planner::SizeCell& cell) {
  Json json{{"tensor_parallel_size", cell.tensor_parallel_size},
            {"pipeline_parallel_size", cell.pipeline_parallel_size}};
  if (cell.best) {
    json["step_time_seconds"] = cell.best->step_time.value();
    json["peak_memory_bytes"] = cell.best->peak_memory().value();
    json["short_name"] = short_name(cell.best->layout);
    return json;
  }
  json["step_time_seconds"] = nullptr;
  json["rule"] = cell.rejection ? rule_text(cell.rejection->rule).name : "no_layout";
  json["reason"] = cell.rejection ? cell.rejection->sentence : "no layout of these sizes";
  return json;
}

}  // namespace

Json heat_map_section(const std::vector<planner::SizeCell>& cells) {
  std::set<int> kept_tensor;
  std::set<int> kept_pipeline;
  for (const planner::SizeCell& cell : cells) {
    if (!cell.best && !cell.too_large) continue;  // nothing worth showing
    kept_tensor.insert(cell.tensor_parallel_size);
    kept_pipeline.insert(cell.pipeline_parallel_size);
  }
  Json kept = Json::array();
  for (const planner::SizeCell& cell : cells) {
    if (kept_tensor.count(cell.tensor_parallel_size) == 0) continue;
    if (kept_pipeline.count(cell.pipeline_parallel_size) == 0) continue;
    kept.push_back(size_cell_json(cell));
  }
  return {{"tensor_parallel_sizes", kept_tensor},
          {"pipeline_parallel_sizes", kept_pipeline},
          {"cells", std::move(kept)}};
}

Json too_large_section(const std::vector<planner::SizeCell>& cells) {
  Json json = Json::array();
  for (const planner::SizeCell& cell : cells) {
    if (!cell.too_large) continue;
    json.push_back({{"short_name", short_name(cell.too_large->layout)},
                    {"step_time_seconds", cell.too_large->step_time.value()},
                    {"peak_memory_bytes", cell.too_large->peak_memory.value()},
                    {"reason", cell.rejection->sentence},
                    {"smallest_change", cell.rejection->smallest_change}});
  }
  return json;
}

}  // namespace meshwright::reports
