// SPDX-License-Identifier: Apache-2.0
#include "sim/step/composition.h"

#include <utility>

#include "sim/block/parameters.h"
#include "sim/memory/model_state.h"
#include "sim/step/optimizer.h"

namespace meshwright {

double last_bucket_of(const CostTable& table, const Layout& layout, const Stage& stage) {
  const DataParallelFacts& facts = table.cluster().framework.data_parallel;
  if (freezes_weights(table.job())) return 0.0;
  if (!stage.has_embedding() || layout.zero_stage > 1 || uses_fsdp(layout)) return 0.0;
  const int tensor = layout.tensor_parallel_size;
  const auto rows = static_cast<double>(
      padded_vocab_size(table.model(), table.job().make_vocab_size_divisible_by, tensor));
  const StageParameters held = stage_parameters(table.model(), table.job(), layout, stage);
  return last_bucket_share(held.dense + held.expert, rows / tensor * table.model().hidden_size,
                           bucket_parameters(facts, layout.data_parallel_size));
}

std::vector<DataCost> data_costs(const CostTable& table, const Layout& layout,
                                 const PipelineShape& shape) {
  std::vector<DataCost> costs;
  for (const StageRun& run : shape.runs) {
    costs.push_back(data_cost(data_volume(table.model(), table.job(), layout, run.stage, run.first),
                              table.job(), layout, table.cluster()));
    wait_for_last_bucket(costs.back(), last_bucket_of(table, layout, run.stage));
  }
  return costs;
}

DataPart data_part(const CostTable& table, const Layout& layout, const PipelineShape& shape,
                   std::vector<DataCost> costs) {
  DataPart part{data_overlap(table.model(), layout, table.cluster()),
                std::move(costs),
                {},
                place(Group::data, layout, table.cluster()).tier()};
  for (const StageRun& run : shape.runs) {
    const Cost cost =
        optimizer_cost(trained_parameters(table.model(), table.job(), layout, run.stage),
                       table.job(), layout, table.cluster());
    if (cost.time > part.optimizer.time) part.optimizer = cost;
  }
  return part;
}

std::vector<FixedMemory> fixed_memory(const CostTable& table, const Layout& layout,
                                      const PipelineShape& shape) {
  std::vector<FixedMemory> fixed;
  for (const StageRun& run : shape.runs) {
    const StageMemory held = static_memory(table.model(), table.job(), layout, run.stage);
    fixed.push_back(
        {static_memory_at_loss(held, table.model(), table.job(), layout, run.stage).total(),
         held.total()});
  }
  return fixed;
}

}  // namespace meshwright
