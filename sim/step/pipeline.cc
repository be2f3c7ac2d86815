// SPDX-License-Identifier: Apache-2.0
#include "sim/step/pipeline.h"

#include <algorithm>

#include "sim/schedule/traits.h"
#include "sim/step/stage_memories.h"

namespace meshwright {
namespace {

UnitCost sum_of_units(const ChunkKind& kind, const Units& units, double share) {
  UnitCost sum;
  for (std::size_t k = 0; k < kLayerKinds; ++k) {
    if (kind.layers[k] == 0) continue;
    const double layers = kind.layers[k];
    const double recomputed = layers * share;
    if (layers > recomputed) add(sum, *units.kept[k], layers - recomputed);
    if (recomputed > 0) add(sum, *units.recomputed[k], recomputed);
  }
  if (kind.embedding) add(sum, *units.embedding, 1);
  if (kind.head) add(sum, *units.head, 1);
  if (kind.mtp) add(sum, *units.mtp, 1);
  return sum;
}

// The framework's overhead of a micro-batch is the stage's; its chunks share it.
Seconds overhead_share(const PipelineShape& shape, const Cluster& cluster) {
  return cluster.micro_batch_overhead() / shape.chunks_per_stage;
}

PassTimes times_of(const ChunkCost& chunk) {
  const Seconds weight = chunk.backward_weight.time;
  return {chunk.forward_time() + chunk.forward_host,
          chunk.backward_time() - weight + chunk.backward_host, weight};
}

void sum_stages(PipelinePart& part, const PipelineShape& shape) {
  part.stages.reserve(shape.runs.size());
  part.loads.reserve(shape.runs.size());
  for (const StageRun& run : shape.runs) {
    StageCost& stage = part.stages.emplace_back();
    StageLoad& load = part.loads.emplace_back();
    load.count = run.count;
    for (const ChunkRun& same : run.chunks) {
      const auto& chunk = part.chunks[static_cast<std::size_t>(same.kind)];
      add_chunk(stage, chunk, same.count);
      const PassTimes times = times_of(chunk);
      load.forward += times.forward * same.count;
      load.backward += (times.backward_input + times.backward_weight) * same.count;
      const ChunkKind& kind = shape.chunks[static_cast<std::size_t>(same.kind)];
      load.more_forward_sends += (kind.hidden_states_out - 1) * same.count;
      load.more_backward_sends += (kind.hidden_states_in - 1) * same.count;
    }
    if (stage.work() > part.stages[static_cast<std::size_t>(part.slowest)].work()) {
      part.slowest = static_cast<int>(part.stages.size()) - 1;
    }
  }
}

void list_uneven_chunks(PipelinePart& part, const PipelineShape& shape) {
  for (const int index : shape.uneven_chunks) {
    const auto k = static_cast<std::size_t>(index);
    const PassTimes times = times_of(part.chunks[k]);
    part.uneven_chunks.push_back({times.forward, times.backward_input + times.backward_weight,
                                  shape.chunks[k].hidden_states_out,
                                  shape.chunks[k].hidden_states_in});
  }
}

PassTimes average_chunk(const PipelinePart& part, const PipelineShape& shape) {
  PassTimes sum;
  for (const StageRun& run : shape.runs) {
    for (const ChunkRun& same : run.chunks) {
      const PassTimes times = times_of(part.chunks[static_cast<std::size_t>(same.kind)]);
      const double count = same.count * run.count;
      sum.forward += times.forward * count;
      sum.backward_input += times.backward_input * count;
      sum.backward_weight += times.backward_weight * count;
    }
  }
  const double all = shape.num_stages * shape.chunks_per_stage;
  return {sum.forward / all, sum.backward_input / all, sum.backward_weight / all};
}

// Messages of a step during which the slowest stage computes nothing. Where it stands for several
// alike, the one that sends most.
double messages_of_slowest(const PipelinePart& part, const PipelineInput& input,
                           const PipelineShape& shape) {
  const auto slowest = static_cast<std::size_t>(part.slowest);
  const StageRun& run = shape.runs[slowest];
  const PipelineSizes sizes{shape.num_stages, input.all_micro_batches, shape.chunks_per_stage};
  const ScheduleTraits& schedule = traits(input.schedule);
  double most = 0.0;
  for (const int stage : {run.first, std::min(run.first + 1, run.last()), run.last()}) {
    most = std::max(most, schedule.sends_of_step(sizes, stage));
  }
  const StageLoad& load = part.loads[slowest];
  return most + input.micro_batches * (load.more_forward_sends + load.more_backward_sends);
}

}  // namespace

PipelineInput pipeline_input(const Job& job, const Layout& layout, const SendCost& send,
                             Seconds offload) {
  PipelineInput input;
  input.schedule = layout.schedule;
  input.all_micro_batches = num_micro_batches(job.global_batch_size, layout);
  input.micro_batches = micro_batches_of_chunk(job, layout);
  input.send = send;
  input.offload = offload;
  input.recomputed_layers = fully_recomputed_layers(layout, INT32_MAX);
  return input;
}

Seconds send_wait(const SendCost& send, const StageCost& stage, int chunks_per_stage) {
  const double share = 1.0 / chunks_per_stage;
  return (send.waited(stage.forward_window(send.tier) * share) +
          send.waited(stage.backward_window(send.tier) * share)) *
         0.5;
}

void fill_stages(PipelinePart& part, const PipelineInput& input, const Units& units,
                 const PipelineShape& shape, const Cluster& cluster) {
  part.chunks.reserve(shape.chunks.size());
  for (const ChunkKind& kind : shape.chunks) {
    part.chunks.push_back(
        chunk_cost(sum_of_units(kind, units, input.recomputed_share(kind.stage_layers)), cluster));
    part.chunks.back().forward_host += overhead_share(shape, cluster) * 0.5;
    part.chunks.back().backward_host += overhead_share(shape, cluster) * 0.5;
  }
  part.recomputes = input.recomputed_layers > 0;
  sum_stages(part, shape);
  list_uneven_chunks(part, shape);
  part.average = average_chunk(part, shape);
}

void fill_times(PipelinePart& part, const PipelineInput& input, const PipelineShape& shape,
                const Cluster& cluster) {
  const StageCost& stage = part.stages[static_cast<std::size_t>(part.slowest)];
  const Seconds send = send_wait(input.send, stage, shape.chunks_per_stage);
  part.send = send;
  part.sends = {};
  if (input.send.hidden) {
    part.sends.on(input.send.tier) = input.send.message.time * shape.chunks_per_stage;
  }
  const Seconds total = closed_form_total(input.schedule,
                                          {part.loads, shape.num_stages, shape.chunks_per_stage,
                                           part.average, send, part.uneven_chunks},
                                          input.all_micro_batches);
  const double m = input.micro_batches;
  // The slowest stage computes, sends, or waits for others: as a timeline shows it.
  const Seconds waiting = std::max(seconds(0), total - stage.work() * m);
  const double alone = std::min(m, traits(input.schedule).unpaired(shape.num_stages));
  const Seconds sending = std::min(send * messages_of_slowest(part, input, shape), waiting);
  part.terms = {times(stage.forward, m), times(stage.backward, m), times(stage.recompute, m),
                times(stage.tensor, m), times(stage.context, m),
                with_time(stage.expert, stage.expert.time * m + stage.hidden_exchange * alone),
                with_time(input.send.message, sending),
                // Idle for as long as others compute.
                with_time(stage.forward + stage.backward, waiting - sending)};
  part.time = seconds(0);
  for (const Cost& term : part.terms) part.time += term.time;
  part.host = stage.host() * m + cluster.framework.step_overhead;
  part.micro_batches = m;
  part.offload = offload_cost(input.offload, stage).time * m;
}

PipelinePart pipeline_part(CostTable& table, const Layout& layout, const PipelineShape& shape) {
  const SendCost send = send_cost(table.scenario(), layout);
  const Seconds offload = offload_time(table, layout, shape);
  PipelinePart part;
  const PipelineInput input = pipeline_input(table.job(), layout, send, offload);
  fill_stages(part, input, table.units(layout), shape, table.cluster());
  fill_times(part, input, shape, table.cluster());
  return part;
}

Pipeline pipeline_of(CostTable& table, const Layout& layout) {
  const PipelineShape shape = pipeline_shape(table.model(), layout);
  const PipelinePart part = pipeline_part(table, layout, shape);
  Pipeline pipeline;
  pipeline.stages = pipeline_stages(table.model(), layout);
  pipeline.times.send = part.send;
  pipeline.sends = part.sends;
  for (std::size_t r = 0; r < shape.runs.size(); ++r) {
    std::vector<ChunkCost> costs;
    std::vector<PassTimes> times;
    for (const ChunkRun& same : shape.runs[r].chunks) {
      const ChunkCost& chunk = part.chunks[static_cast<std::size_t>(same.kind)];
      costs.insert(costs.end(), static_cast<std::size_t>(same.count), chunk);
      times.insert(times.end(), static_cast<std::size_t>(same.count), times_of(chunk));
    }
    const auto count = static_cast<std::size_t>(shape.runs[r].count);
    pipeline.costs.insert(pipeline.costs.end(), count, part.stages[r]);
    pipeline.chunks.insert(pipeline.chunks.end(), count, costs);
    pipeline.times.stages.insert(pipeline.times.stages.end(), count, times);
  }
  return pipeline;
}

}  // namespace meshwright
