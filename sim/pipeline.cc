// SPDX-License-Identifier: Apache-2.0
#include "sim/pipeline.h"

namespace meshwright {

Pipeline pipeline_of(CostTable& table, const Layout& layout) {
  Pipeline pipeline;
  pipeline.stages = pipeline_stages(table.model(), layout);
  pipeline.costs.resize(pipeline.stages.size());
  pipeline.times.stages.resize(pipeline.stages.size());
  for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
    const Stage& stage = pipeline.stages[i];
    const auto chunks_per_stage = static_cast<double>(stage.chunks.size());
    for (const Chunk& chunk : stage.chunks) {
      const ChunkCost& cost = table.chunk(layout, chunk, stage.num_layers());
      add_chunk(pipeline.costs[i], cost);
      const Seconds host =
          cost.host + table.cluster().framework.micro_batch_overhead / chunks_per_stage;
      pipeline.costs[i].host += host - cost.host;
      const Seconds weight = cost.backward_weight.time;
      pipeline.times.stages[i].push_back(
          {cost.forward_time() + host * 0.5, cost.backward_time() - weight + host * 0.5, weight});
    }
    const auto work = [&](int s) {
      const StageCost& c = pipeline.costs[static_cast<std::size_t>(s)];
      return c.forward_time + c.backward_time + c.host;
    };
    if (work(static_cast<int>(i)) > work(pipeline.slowest)) pipeline.slowest = static_cast<int>(i);
  }
  return pipeline;
}

}  // namespace meshwright
