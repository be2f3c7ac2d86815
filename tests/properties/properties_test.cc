// SPDX-License-Identifier: Apache-2.0
// Properties of any model, cluster and layout, found by rapidcheck, which also makes a failing case
// small. RC_PARAMS="seed=... max_success=..." repeats and lengthens.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "sim/json/records.h"
#include "sim/layout/short_name.h"
#include "sim/step/estimate.h"
#include "tests/unit/planner/planner_fixture.h"

namespace meshwright {
namespace {

struct Question : Scenario {
  Layout layout;
};

int power_of_two(int most) { return 1 << *rc::gen::inRange(0, most + 1); }

Model any_model() {
  Model model = planner::small_model();
  model.num_layers = *rc::gen::inRange(1, 5) * 4;
  model.num_attention_heads = 8 * power_of_two(2);
  model.num_query_groups = model.num_attention_heads / power_of_two(2);
  model.hidden_size = model.num_attention_heads * model.kv_channels;
  model.ffn_hidden_size = 4 * model.hidden_size;
  model.activation = *rc::gen::element(Activation::gelu, Activation::swiglu);
  if (*rc::gen::arbitrary<bool>()) {
    MixtureOfExperts moe;
    moe.num_moe_experts = 8;
    moe.moe_router_topk = 2;
    moe.moe_ffn_hidden_size = model.hidden_size;
    model.moe = moe;
  }
  return model;
}

Layout any_layout(const Model& model, int devices) {
  Layout layout;
  layout.tensor_parallel_size = power_of_two(3);
  layout.pipeline_parallel_size = power_of_two(2);
  layout.context_parallel_size = power_of_two(1);
  const int used =
      layout.tensor_parallel_size * layout.pipeline_parallel_size * layout.context_parallel_size;
  RC_PRE(devices % used == 0);
  layout.data_parallel_size = devices / used;
  layout.micro_batch_size = power_of_two(1);
  layout.sequence_parallel = layout.tensor_parallel_size > 1;
  layout.zero_stage = *rc::gen::inRange(0, 4);
  if (model.moe) layout.expert_parallel_size = power_of_two(3);
  return layout;
}

// A legal one; what a rule turns away is drawn again.
Question any_question() {
  Question q;
  q.model = any_model();
  q.cluster = planner::small_cluster(power_of_two(3), 800);
  q.job = planner::small_job();
  q.layout = any_layout(q.model, q.cluster.num_gpus());
  RC_PRE(!check_layout(q.model, q.job, q.layout, devices_of(q.cluster)));
  RC_LOG() << q.model.num_layers << " layers of " << q.model.hidden_size << ", "
           << (q.model.moe ? "experts, " : "") << q.cluster.num_nodes << " nodes, "
           << short_name(q.layout) << '\n';
  return q;
}

double step_seconds(const Question& q) {
  CostTable table(q);
  return evaluate(table, q.layout, MemoryLimit::reported).step_time.value();
}

Bytes weights(const Question& q) {
  Bytes most;
  const Outcome outcome = estimate(q, q.layout);
  for (const StageMemory& stage : std::get<Estimate>(outcome).memory) {
    most = std::max(most, stage.weights + stage.gradients + stage.optimizer);
  }
  return most;
}

constexpr double kRounding = 1.0 + 1e-9;

RC_GTEST_PROP(Properties, MoreBandwidthIsNeverSlower, ()) {
  const Question q = any_question();
  Question better = q;
  const double factor = *rc::gen::inRange(1, 9);
  better.cluster.intra_node.bandwidth *= factor;
  better.cluster.inter_node.bandwidth *= *rc::gen::inRange(1, 9);
  RC_ASSERT(step_seconds(better) <= step_seconds(q) * kRounding);
}

RC_GTEST_PROP(Properties, LessLatencyIsNeverSlower, ()) {
  const Question q = any_question();
  Question better = q;
  better.cluster.intra_node.latency *= 0.5;
  better.cluster.inter_node.latency *= 0.5;
  better.cluster.device.kernel_launch *= 0.5;
  RC_ASSERT(step_seconds(better) <= step_seconds(q) * kRounding);
}

RC_GTEST_PROP(Properties, MoreShardingNeverNeedsMoreForParameters, ()) {
  const Question q = any_question();
  Question sharded = q;
  ++sharded.layout.zero_stage;
  RC_PRE(q.layout.zero_stage < 3);
  RC_PRE(!check_layout(sharded.model, sharded.job, sharded.layout, devices_of(sharded.cluster)));
  RC_ASSERT(weights(sharded) <= weights(q));
}

RC_GTEST_PROP(Properties, AnAxisOfOneRankMovesNothing, ()) {
  const Question q = any_question();
  const Outcome outcome = estimate(q, q.layout);
  const Layout& l = q.layout;
  for (const StageVolume& stage : std::get<Estimate>(outcome).volume.stages) {
    for (const Transfer& t : stage.transfers) {
      RC_ASSERT(t.group_size > 1);
      RC_ASSERT(t.group != Group::tensor || l.tensor_parallel_size > 1);
      RC_ASSERT(t.group != Group::context || l.context_parallel_size > 1);
      RC_ASSERT(t.group != Group::pipeline || l.pipeline_parallel_size > 1);
      RC_ASSERT(t.group != Group::expert || l.expert_parallel_size > 1);
    }
  }
}

// Twice as fast in everything, and every latency half: half the time. Cores of one machine have no
// constants of NCCL's.
RC_GTEST_PROP(Properties, UnitsScale, ()) {
  Question q = any_question();
  q.cluster.node_fabric = NodeFabric::shared_memory;
  Question twice = q;
  Device& device = twice.cluster.device;
  for (GemmModel& gemm : device.gemm) gemm.peak *= 2.0;
  device.memory_bandwidth *= 2.0;
  device.kernel_launch *= 0.5;
  device.host_link *= 2.0;
  for (Link* link : {&twice.cluster.intra_node, &twice.cluster.inter_node}) {
    link->bandwidth *= 2.0;
    link->latency *= 0.5;
  }
  RC_ASSERT(std::abs(step_seconds(twice) / step_seconds(q) - 0.5) < 1e-9);
}

// A line says the whole layout.
RC_GTEST_PROP(Properties, NamesRoundTrip, ()) {
  const Question q = any_question();
  RC_ASSERT(layout_from_text(short_name(q.layout)) == q.layout);
}

}  // namespace
}  // namespace meshwright
