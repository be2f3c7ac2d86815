// SPDX-License-Identifier: Apache-2.0
#include "sim/evaluate.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "sim/cost/transfer.h"
#include "sim/hardware/placement.h"
#include "sim/schedule/schedule.h"

namespace meshwright {
namespace {

// Everything that chunk_cost reads: layouts that agree in it share the cost.
struct ChunkKey {
  std::array<std::int32_t, 20> fields{};
  bool operator==(const ChunkKey&) const = default;
};

struct ChunkKeyHash {
  std::size_t operator()(const ChunkKey& key) const {
    std::size_t hash = 1469598103934665603ULL;  // FNV-1a over words
    for (const std::int32_t field : key.fields) {
      hash = (hash ^ static_cast<std::uint32_t>(field)) * 1099511628211ULL;
    }
    return hash;
  }
};

std::int32_t packed(const Placement& placement) {
  return placement.num_nodes * 65536 + placement.ranks_per_node * 256 + placement.groups_per_node;
}

ChunkKey chunk_key(const Layout& l, const Chunk& chunk, int stage_layers, const Cluster& cluster) {
  const int recomputed = fully_recomputed_layers(l, stage_layers);
  const std::int32_t flags = (l.sequence_parallel ? 1 : 0) | (l.tp_comm_overlap ? 2 : 0) |
                             (chunk.embedding ? 4 : 0) | (chunk.head ? 8 : 0) |
                             (l.overlap_p2p_comm ? 16 : 0);
  return {{l.tensor_parallel_size,
           l.context_parallel_size,
           l.expert_parallel_size,
           expert_tensor_size(l),
           l.micro_batch_size,
           flags,
           static_cast<int>(l.recompute_granularity),
           static_cast<int>(l.recompute_modules),
           recomputed,
           stage_layers,
           static_cast<int>(l.cp_comm_type),
           l.hierarchical_context_parallel_size,
           chunk.first_layer,
           chunk.num_layers,
           packed(place(Group::tensor, l, cluster)),
           packed(place(Group::context, l, cluster)),
           packed(place(Group::expert, l, cluster)),
           packed(place(Group::expert_tensor, l, cluster)),
           0,
           0}};
}

}  // namespace

struct CostTable::Impl {
  const Model& model;
  const Cluster& cluster;
  const Job& job;
  bool uniform_layers = false;  // all layers are of one kind: where a chunk starts does not matter
  std::unordered_map<ChunkKey, ChunkCost, ChunkKeyHash> chunks;
};

CostTable::CostTable(const Model& model, const Cluster& cluster, const Job& job)
    : impl_(new Impl{model, cluster, job, true, {}}) {
  for (int i = 1; i < model.num_layers; ++i) {
    if (!(layer_kind(model, i) == layer_kind(model, 0))) impl_->uniform_layers = false;
  }
}
CostTable::~CostTable() = default;
CostTable::CostTable(CostTable&&) noexcept = default;
CostTable& CostTable::operator=(CostTable&&) noexcept = default;

const Model& CostTable::model() const { return impl_->model; }
const Cluster& CostTable::cluster() const { return impl_->cluster; }
const Job& CostTable::job() const { return impl_->job; }

const ChunkCost& CostTable::chunk(const Layout& layout, const Chunk& chunk, int stage_layers) {
  Chunk normal = chunk;
  if (impl_->uniform_layers) normal.first_layer = 0;
  const ChunkKey key = chunk_key(layout, normal, stage_layers, impl_->cluster);
  const auto found = impl_->chunks.find(key);
  if (found != impl_->chunks.end()) return found->second;
  return impl_->chunks
      .emplace(key,
               chunk_cost(impl_->model, impl_->cluster, impl_->job, layout, normal, stage_layers))
      .first->second;
}

namespace {

Cost times(Cost cost, double factor) {
  cost.time *= factor;
  return cost;
}

// All that one stage does for one micro-batch.
struct StageCost {
  Cost forward, backward, recompute, tensor, context, expert;
  Seconds host;
  Seconds forward_time, backward_time;
};

void add_chunk(StageCost& stage, const ChunkCost& chunk) {
  stage.forward = stage.forward + chunk.forward;
  stage.backward = stage.backward + chunk.backward_input + chunk.backward_weight;
  stage.recompute = stage.recompute + chunk.recompute;
  stage.tensor =
      stage.tensor + chunk.forward_communication.tensor + chunk.backward_communication.tensor;
  stage.context =
      stage.context + chunk.forward_communication.context + chunk.backward_communication.context;
  stage.expert =
      stage.expert + chunk.forward_communication.expert + chunk.backward_communication.expert;
  stage.host += chunk.host;
  stage.forward_time += chunk.forward_time();
  stage.backward_time += chunk.backward_time();
}

// Once-a-step communication of a stage (gradients, parameters, tied embedding, norms), and what
// ZeRO-3 adds to each micro-batch.
struct DataCost {
  Cost reduce;                           // gradients and everything after the last backward
  Cost gather;                           // parameters before the first forward
  Cost forward_gather, backward_gather;  // of a whole step: ZeRO-3
};

DataCost data_cost(const StageVolume& volume, const Layout& layout, const Cluster& cluster) {
  DataCost cost;
  for (const Transfer& transfer : volume.transfers) {
    const bool data = transfer.group == Group::data || transfer.group == Group::expert_data;
    if (!data && transfer.phase != Phase::step) continue;
    const Cost call = transfer_cost(transfer, layout, cluster);
    if (transfer.phase == Phase::forward) {
      cost.forward_gather = cost.forward_gather + call;
    } else if (transfer.phase == Phase::backward || transfer.phase == Phase::recompute) {
      cost.backward_gather = cost.backward_gather + call;
    } else if (data && transfer.collective == Collective::all_gather) {
      cost.gather = cost.gather + call;
    } else {
      cost.reduce = cost.reduce + call;
    }
  }
  return cost;
}

// What of a stage's data-parallel communication a step waits for.
Cost exposed_data(const DataCost& cost, const StageCost& stage, const Layout& layout,
                  double micro_batches, double overlap_slowdown) {
  const auto against = [overlap_slowdown](Cost communication, bool overlap, Seconds compute) {
    if (overlap) communication.time = exposed_time(communication.time, compute, overlap_slowdown);
    return communication;
  };
  // Gradients are reduced while the last micro-batch's backward runs; parameters are gathered while
  // the first one's forward does. ZeRO-3 prefetches every layer's.
  const bool prefetch = layout.zero_stage == 3;
  Cost sum = against(cost.reduce, layout.overlap_grad_reduce, stage.backward_time);
  sum = sum + against(cost.gather, layout.overlap_param_gather, stage.forward_time);
  sum = sum + against(cost.forward_gather, prefetch, stage.forward_time * micro_batches);
  return sum + against(cost.backward_gather, prefetch || layout.overlap_grad_reduce,
                       stage.backward_time * micro_batches);
}

// Bytes that one optimizer step touches a parameter: Adam reads gradient, weight and two moments
// and writes weight and moments in their formats, and the 16-bit copy.
double optimizer_bytes(const Job& job) {
  const double moments =
      job.optimizer == Optimizer::adam
          ? bytes_per_element(job.exp_avg_precision) + bytes_per_element(job.exp_avg_sq_precision)
          : 0.0;
  const double copy = has_master_weights(job.precision) ? weight_bytes(job.precision) : 0.0;
  return bytes_per_element(job.gradient_precision) + 2.0 * (4.0 + moments) + copy;
}

Cost optimizer_cost(const StageParameters& parameters, const Job& job, const Layout& layout,
                    const Cluster& cluster) {
  const bool sharded = layout.zero_stage > 0;
  const double dense = parameters.dense / (sharded ? zero_shard_group_size(layout) : 1);
  const double expert = parameters.expert / (sharded ? expert_data_parallel_size(layout) : 1);
  const Bytes traffic = bytes((dense + expert) * optimizer_bytes(job));
  if (!layout.optimizer_offload) {
    return times(kernel_cost("adam", traffic, cluster.device),
                 cluster.framework.kernel_time_factor);
  }
  // On the host: gradients go there and weights come back; the step itself runs at the host link's
  // pace.
  return {traffic / cluster.device.host_link, 0.3, Provenance::assumed};
}

Cost& term(Evaluation& evaluation, TermKind kind) {
  return evaluation.terms[static_cast<std::size_t>(kind)].cost;
}

// Activations of cpu_offloading_num_layers layers go to the host and come back, beside the compute.
Cost offload_cost(const Model& model, const Job& job, const Layout& layout, const StageCost& stage,
                  const Device& device) {
  if (layout.cpu_offloading_num_layers == 0) return {};
  const Bytes moved = layer_activation_bytes(model, layer_kind(model, 0), job, layout, false) *
                      (2.0 * layout.cpu_offloading_num_layers);
  const Seconds compute = stage.forward_time + stage.backward_time;
  const Seconds time = moved / device.host_link;
  return {std::max(seconds(0), time - compute), 0.3, Provenance::datasheet};
}

struct Pipeline {
  std::vector<Stage> stages;
  std::vector<StageCost> costs;
  PipelineTimes times;
  int slowest = 0;
};

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

// One message between neighbouring stages; hidden when the layout overlaps it.
Cost send_cost(const StageVolume& volume, const Layout& layout, const Cluster& cluster) {
  Cost cost;
  for (const Transfer& transfer : volume.transfers) {
    if (transfer.group != Group::pipeline || transfer.phase != Phase::forward) continue;
    Transfer one = transfer;
    one.times_per_step = 1;
    cost = transfer_cost(one, layout, cluster);
    if (layout.overlap_p2p_comm) cost.time *= cluster.device.overlap_slowdown;
    break;
  }
  return cost;
}

void fill_time(Evaluation& result, CostTable& table, const Layout& layout) {
  const Model& model = table.model();
  const Job& job = table.job();
  const Cluster& cluster = table.cluster();
  const int micro_batches = num_micro_batches(job.global_batch_size, layout);
  Pipeline pipeline = pipeline_of(table, layout);
  const auto slowest = static_cast<std::size_t>(pipeline.slowest);
  const StageCost& stage = pipeline.costs[slowest];

  Cost data;
  Cost optimizer;
  Cost send;
  for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
    const bool twin =
        i > 1 && i + 1 < pipeline.stages.size();  // middle stages differ in layers only
    if (twin && pipeline.stages[i].num_layers() == pipeline.stages[i - 1].num_layers()) continue;
    const StageVolume volume =
        stage_volume(model, job, layout, pipeline.stages[i], static_cast<int>(i));
    if (i == 0) send = send_cost(volume, layout, cluster);
    const Cost exposed = exposed_data(data_cost(volume, layout, cluster), pipeline.costs[i], layout,
                                      micro_batches, cluster.device.overlap_slowdown);
    if (exposed.time > data.time) data = exposed;
    const Cost step = optimizer_cost(stage_parameters(model, job, layout, pipeline.stages[i]), job,
                                     layout, cluster);
    if (step.time > optimizer.time) optimizer = step;
  }
  pipeline.times.send = send.time;

  const Seconds total = closed_form_total(layout.schedule, pipeline.times, micro_batches);
  const double m = micro_batches;
  const Seconds work = (stage.forward_time + stage.backward_time + stage.host) * m;
  const int chunks = layout.virtual_pipeline_parallel_size;
  const bool piped = layout.pipeline_parallel_size > 1;
  // Each micro-batch and chunk waits for one message forward and one backward.
  const Seconds messages = piped ? send.time * (2.0 * m * chunks) : seconds(0);
  const Seconds waiting = std::max(seconds(0), total - work);

  term(result, TermKind::forward_compute) = times(stage.forward, m);
  term(result, TermKind::backward_compute) = times(stage.backward, m);
  term(result, TermKind::recompute) = times(stage.recompute, m);
  term(result, TermKind::tensor_parallel_communication) = times(stage.tensor, m);
  term(result, TermKind::context_parallel_communication) = times(stage.context, m);
  term(result, TermKind::expert_parallel_communication) = times(stage.expert, m);
  term(result, TermKind::pipeline_communication) = send;
  term(result, TermKind::pipeline_communication).time = std::min(messages, waiting);
  Cost bubble = stage.forward + stage.backward;  // idle for as long as others compute
  bubble.time = waiting - std::min(messages, waiting);
  term(result, TermKind::pipeline_bubble) = bubble;
  term(result, TermKind::data_parallel_communication) = data;
  term(result, TermKind::optimizer) = optimizer;
  term(result, TermKind::host) = {stage.host * m + cluster.framework.step_overhead, 0.2,
                                  cluster.device.memory_provenance};
  term(result, TermKind::offload) =
      times(offload_cost(model, job, layout, stage, cluster.device), m);
  for (const Term& t : result.terms) result.step_time += t.cost.time;
}

// The largest stage's bytes. With equal layers a stage's memory falls from first to last but for
// embedding and head, so the first two and the last two stages hold the maximum; otherwise all are
// asked.
void fill_memory(Evaluation& result, const CostTable& table, const Layout& layout) {
  const std::vector<Stage> stages = pipeline_stages(table.model(), layout);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const bool same = i > 1 && i + 2 < stages.size() && !table.model().moe &&
                      stages[i].num_layers() == stages[i - 1].num_layers();
    if (same) continue;
    const Bytes total =
        stage_memory(table.model(), table.job(), layout, stages[i], static_cast<int>(i)).total();
    if (total <= result.peak_memory) continue;
    result.peak_memory = total;
    result.peak_stage = static_cast<int>(i);
  }
  result.peak_memory += allocator_reserve(table.cluster().device, layout);
}

}  // namespace

Evaluation evaluate(CostTable& table, const Layout& layout, MemoryLimit limit) {
  Evaluation result;
  for (std::size_t i = 0; i < result.terms.size(); ++i) {
    result.terms[i].kind = static_cast<TermKind>(i);
  }
  result.violation = check_layout(table.model(), table.job(), layout, table.cluster().num_gpus());
  if (result.violation) return result;
  fill_memory(result, table, layout);
  const Bytes capacity = table.cluster().device.memory;
  if (result.peak_memory > capacity) {
    result.violation =
        Violation{Rule::memory_capacity, result.peak_memory.value(), capacity.value()};
    if (limit == MemoryLimit::enforced) return result;
  }
  fill_time(result, table, layout);
  return result;
}

}  // namespace meshwright
