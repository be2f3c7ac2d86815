// SPDX-License-Identifier: Apache-2.0
#include "sim/step/stage.h"

#include <gtest/gtest.h>

#include "sim/memory/activation_memory.h"
#include "sim/memory/stage_parameters.h"
#include "sim/step/pipeline.h"
#include "sim/step/stage_memories.h"
#include "tests/unit/sim/volume/volume_fixture.h"

namespace meshwright {
namespace {

using volume_test::small_job;
using volume_test::small_model;

// 3 of 8 layers whole; or the q, k and v (3 x 4096 bytes) of all 8, of which a stage of two has 4.
TEST(OffloadTime, MovesTheActivationsOfLayersOrModules) {
  const Model model = small_model();
  const Job job = small_job();
  Cluster cluster;
  cluster.device.host_link = gigabytes_per_second(25);
  CostTable table({model, cluster, job});
  const auto time = [&](const Layout& layout) {
    return offload_time(table, layout, pipeline_shape(model, layout)).value();
  };
  Layout layout;
  EXPECT_EQ(time(layout), 0.0);
  const Bytes layer =
      layer_activation_bytes(model, {}, job, micro_batch_tokens(job, layout), layout, false);
  layout.cpu_offloading_num_layers = 3;
  EXPECT_NEAR(time(layout), 3 * layer.value() / 25e9, 1e-15);
  layout.cpu_offloading_num_layers = 0;
  layout.offload_modules = {kOffloadCoreAttention};
  EXPECT_NEAR(time(layout), 8 * 3 * 4096 / 25e9, 1e-15);
  layout.pipeline_parallel_size = 2;
  EXPECT_NEAR(time(layout), 4 * 3 * 4096 / 25e9, 1e-15);
  layout.recompute_granularity = RecomputeGranularity::full;
  EXPECT_EQ(time(layout), 0.0);
}

// There beside the forward pass, back beside the backward pass.
TEST(OffloadCost, IsWhatSticksOutOfEachPass) {
  StageCost stage;
  stage.forward_time = seconds(3);
  stage.backward_time = seconds(6);
  EXPECT_EQ(offload_cost(seconds(5), stage).time, seconds(2));
  EXPECT_EQ(offload_cost(seconds(8), stage).time, seconds(5 + 2));
  EXPECT_EQ(offload_cost(seconds(3), stage).time, seconds(0));
}

Cluster eight_nodes() {
  Cluster cluster;
  cluster.gpus_per_node = 1;
  cluster.num_nodes = 8;
  cluster.device.num_multiprocessors = 100;
  cluster.device.memory_bandwidth = gigabytes_per_second(1000);
  cluster.device.memory_bandwidth_fraction = 1.0;
  cluster.device.kernel_launch = microseconds(1);
  GemmModel half, single;
  half.peak = teraflops_per_second(300);
  single.precision = Precision::fp32;
  single.peak = teraflops_per_second(20);
  cluster.device.gemm = {half, single};
  cluster.intra_node.bandwidth = cluster.inter_node.bandwidth = gigabytes_per_second(25);
  return cluster;
}

// A stage that sends and receives in program order waits for twice as many messages.
TEST(SendCost, BlockingSendsTakeTurns) {
  Cluster cluster = eight_nodes();
  Layout layout;
  layout.pipeline_parallel_size = 4;
  const Seconds paired = send_cost({small_model(), cluster, small_job()}, layout).message.time;
  cluster.framework.pipeline.blocking_sends = true;
  EXPECT_EQ(send_cost({small_model(), cluster, small_job()}, layout).message.time, paired * 2.0);
}

// A message of 3 s beside 2 s that other axes leave of a chunk's pass on the same wire: 1 s sticks
// out, and a tenth of the 2 s comes back as slower compute. Not overlapped, it takes its 3 s.
TEST(SendCost, HidesInWhatOtherAxesLeaveOfTheWire) {
  SendCost send{{seconds(3)}, true, 0.1, Tier::inter_node};
  EXPECT_DOUBLE_EQ(send.waited(seconds(2)).value(), 1.2);
  send.hidden = false;
  EXPECT_EQ(send.waited(seconds(2)), seconds(3));
}

// Two chunks: a forward pass of 8 s of which 4 s hold the NIC leaves 2 s a chunk, a backward of 16
// s that holds it for 8 leaves 4 s: a message of 3 s waits 1 s and nothing, 0.5 s on average.
// Inside the node nothing else passes: it waits for nothing.
TEST(SendCost, WaitsForTheMeanOfBothWays) {
  StageCost stage;
  stage.forward_time = seconds(8);
  stage.backward_time = seconds(16);
  stage.forward_wires.across = seconds(4);
  stage.backward_wires.across = seconds(8);
  SendCost send{{seconds(3)}, true, 0.0, Tier::inter_node};
  EXPECT_EQ(send_wait(send, stage, 2), seconds(0.5));
  send.tier = Tier::intra_node;
  EXPECT_EQ(send_wait(send, stage, 2), seconds(0));
}

UnitCost work_of(const Model& model, const KernelFacts& kernels) {
  Cluster cluster = eight_nodes();
  cluster.framework.kernels = kernels;
  Job job = small_job();
  job.seq_length = 2048;
  job.attention_kernel = AttentionKernel::unfused;
  return layer_cost({model, cluster, job}, {}, {}, false);
}

Model with_heads_of(int width) {
  Model model = small_model();
  model.kv_channels = width;
  return model;
}

// Heads of 8 numbers are rows of 16 bytes, of 12 numbers rows of 24.
TEST(LayerWork, UnalignedHeadsRunWithoutTensorCores) {
  const KernelFacts aligned{.aligned_batched_products = true};
  EXPECT_EQ(work_of(with_heads_of(8), aligned).forward.time,
            work_of(with_heads_of(8), {}).forward.time);
  EXPECT_GT(work_of(with_heads_of(12), aligned).forward.time,
            work_of(with_heads_of(12), {}).forward.time);
}

// A layer of h = 64, f = 256: 12 h^2 weights, 4h + 256 + ... of biases and norms as
// stage_parameters counts them, each read in 2 bytes, its sum read and written in 4: 10 bytes.
TEST(LayerWork, GradientsThatAreAddedAloneCostTheirBytes) {
  const Model model = small_model();
  Stage layer;
  layer.chunks = {Chunk{0, 1, false, false}};
  const double parameters = stage_parameters(model, small_job(), {}, layer).dense;
  const KernelFacts added{.adds_gradients = true};
  const Seconds more =
      work_of(model, added).backward_weight.time - work_of(model, {}).backward_weight.time;
  EXPECT_NEAR(more.value(), 1e-6 + 10 * parameters / 1e12, 1e-12);
}

// 100 kernels of 10 us beside 20 ms: 1 ms more where the host waits for each, next to nothing where
// it runs ahead.
TEST(ChunkCost, AHostThatWaitsAddsEveryLaunch) {
  UnitCost work;
  work.forward.time = seconds(20e-3);
  work.forward_launches = 100;
  Cluster cluster = eight_nodes();
  cluster.framework.host_launch = microseconds(10);
  EXPECT_LT(chunk_cost(work, cluster).forward_host.value(), 1e-5);
  cluster.framework.kernels.host_runs_ahead = false;
  EXPECT_NEAR(chunk_cost(work, cluster).forward_host.value(), 1e-3, 1e-12);
}

// Kernels before which the host waits add their launches, whatever the device does.
TEST(ChunkCost, LaunchesAfterAWaitAddToTheDevicesTime) {
  UnitCost work;
  work.forward.time = seconds(20e-3);
  work.forward_launches = work.forward_waited = 100;
  Cluster cluster = eight_nodes();
  cluster.framework.host_launch = microseconds(10);
  EXPECT_NEAR(chunk_cost(work, cluster).forward_host.value(), 1e-3, 1e-5);
}

// Experts' kernels of the fullest rank take so much longer, the others as long.
TEST(LayerWork, AnImbalanceIsTheExpertsTime) {
  const Cluster cluster = eight_nodes();
  const auto forward = [&](double imbalance) {
    Job job = small_job();
    job.moe_load_imbalance = imbalance;
    return layer_cost({volume_test::small_experts(), cluster, job}, {}, {true, false}, false)
        .forward.time;
  };
  const Seconds balanced = forward(1.0), twice = forward(2.0);
  EXPECT_GT(twice, balanced);
  EXPECT_LT(twice, balanced * 2.0);
  EXPECT_NEAR((forward(3.0) - twice).value(), (twice - balanced).value(), 1e-15);
}

// Work on CPU cores whose kernel times have this relative spread.
UnitCost work_with_jitter(const Layout& layout, double time_jitter) {
  Cluster cluster = eight_nodes();
  cluster.device.time_jitter = time_jitter;
  return layer_cost({small_model(), cluster, small_job()}, layout, {}, false);
}

// In a layer two tensor ranks wait 0.1 c(2), four that are tensor and context ranks 0.1 c(4), and
// the tensor axis pays; data ranks do not meet in a layer.
TEST(LayerWork, RanksThatMeetWaitForTheSlowest) {
  const auto waiting = [](const Layout& layout) {
    return work_with_jitter(layout, 0.1).forward_communication.total() -
           work_with_jitter(layout, 0.0).forward_communication.total();
  };
  Layout layout;
  layout.data_parallel_size = 4;
  EXPECT_EQ(waiting(layout), seconds(0));
  layout.tensor_parallel_size = 2;
  const UnitCost two = work_with_jitter(layout, 0.1);
  EXPECT_NEAR(waiting(layout) / two.forward.time, 0.05642, 1e-6);
  layout.context_parallel_size = 2;
  const UnitCost four = work_with_jitter(layout, 0.1), calm = work_with_jitter(layout, 0.0);
  EXPECT_NEAR(waiting(layout) / four.forward.time, 0.10294, 1e-6);
  EXPECT_EQ(four.forward_communication.context.time, calm.forward_communication.context.time);
}

TEST(LayerWork, BackwardWaitsForAllThatItComputes) {
  Layout layout;
  layout.context_parallel_size = 2;
  layout.recompute_granularity = RecomputeGranularity::selective;
  const UnitCost noisy = work_with_jitter(layout, 0.1), calm = work_with_jitter(layout, 0.0);
  const Seconds waiting =
      noisy.backward_communication.context.time - calm.backward_communication.context.time;
  const Seconds compute =
      calm.backward_input.time + calm.backward_weight.time + calm.recompute.time;
  EXPECT_GT(calm.recompute.time, seconds(0));
  EXPECT_NEAR(waiting / compute, 0.05642, 1e-6);
}

// A hidden token exchange next to compute of the same length costs the share of multiprocessors
// that the library takes: 20 of 100 leave 80.
TEST(LayerWork, TokensOnTheirWaySlowWhatRunsBeside) {
  Cluster cluster = eight_nodes();
  Layout layout;
  layout.data_parallel_size = layout.expert_parallel_size = 4;
  layout.moe_token_dispatcher_type = MoeTokenDispatcherType::flex;
  layout.overlap_moe_expert_parallel_comm = true;
  const auto cost = [&](int taken, double slowdown) {
    cluster.framework.experts.dispatch_multiprocessors = {taken, 0, 0};
    cluster.device.overlap_slowdown = slowdown;
    return layer_cost({volume_test::small_experts(), cluster, small_job()}, layout, {true, false},
                      false);
  };
  EXPECT_EQ(cost(20, 0.9).hidden_exchange, cost(0, 0.25).hidden_exchange);
  EXPECT_GT(cost(20, 0.9).hidden_exchange, seconds(0));
  EXPECT_LT(cost(50, 0.9).hidden_exchange, cost(20, 0.9).hidden_exchange);
}

UnitCost expert_layer(const Layout& layout) {
  Cluster cluster = eight_nodes();
  cluster.framework.experts = {.launches_per_operator = 3,
                               .router_launches = 30,
                               .dispatch_launches = 20,
                               .launches_each = true,
                               .waits_for_counts = true};
  return layer_cost({volume_test::small_experts(), cluster, small_job()}, layout, {true, false},
                    false);
}

// 4 experts: fc1 and fc2 4 kernels each, the permutations and the activation 1: 11, with dispatch
// 31 after the wait; 30 of the router; norm, qkv, rotary-free core, projection, sum, norm, sum: 7
// operators of 3. Backward every product twice: 8 more of experts, 3 * 2 more of attention.
TEST(LayerWork, CountsTheLaunchesOfExperts) {
  const UnitCost work = expert_layer({});
  EXPECT_EQ(work.forward_waited, 31);
  EXPECT_EQ(work.forward_launches, 31 + 30 + 3 * 7);
  EXPECT_EQ(work.backward_launches, 31 + 8 + 30 + 3 * 7 + 3 * 2);
}

// All experts of a rank in one call take the device's factor, in each pass; one call each does not.
TEST(LayerWork, GroupedProductsOfExpertsTakeTheirMeasuredFactor) {
  const auto work = [](double factor, bool each) {
    Cluster cluster = eight_nodes();
    cluster.framework.experts.launches_each = each;
    cluster.device.grouped_gemm = {
        {.precision = small_job().precision, .time_factor = factor, .relative_spread = 0.0}};
    return layer_cost({volume_test::small_experts(), cluster, small_job()}, {}, {true, false},
                      false);
  };
  const UnitCost one = work(1.0, false), two = work(2.0, false), three = work(3.0, false);
  for (const auto pass :
       {&UnitCost::forward, &UnitCost::backward_input, &UnitCost::backward_weight}) {
    const double experts = ((two.*pass).time - (one.*pass).time).value();
    EXPECT_GT(experts, 0.0);
    EXPECT_NEAR(((three.*pass).time - (one.*pass).time).value(), 2.0 * experts, 1e-12);
  }
  EXPECT_EQ(work(1.0, true).forward.time, work(3.0, true).forward.time);
}

// Graphs of attention, router and half of what dispatch launches; of the whole step.
TEST(LayerWork, GraphsTakeLaunchesAway) {
  Layout layout;
  layout.cuda_graph_impl = CudaGraphImpl::transformer_engine;
  EXPECT_EQ(expert_layer(layout).forward_launches, 11 + 10);
  layout.cuda_graph_impl = CudaGraphImpl::full_iteration;
  EXPECT_EQ(expert_layer(layout).forward_launches, 0);
  EXPECT_EQ(expert_layer(layout).forward_waited, 0);
}

}  // namespace
}  // namespace meshwright
