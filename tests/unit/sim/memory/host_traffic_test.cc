// SPDX-License-Identifier: Apache-2.0
// What goes to the host and comes back.
#include "sim/memory/host_traffic.h"

#include <gtest/gtest.h>

#include "korthikanti.h"
#include "sim/memory/stage_parameters.h"

namespace meshwright {
namespace {

Model four_layers() {
  Model model;
  model.num_layers = 4;
  model.hidden_size = 64;
  model.ffn_hidden_size = 256;
  model.num_attention_heads = model.num_query_groups = 8;
  model.kv_channels = 8;
  model.vocab_size = 128;
  model.max_position_embeddings = 32;
  return model;
}

HostTraffic traffic_of(const Job& job, const Layout& layout, double micro_batches) {
  const Model model = four_layers();
  return host_traffic(model, job, layout, pipeline_stages(model, layout).front(), micro_batches);
}

Job job_of_32_positions() {
  Job job;
  job.seq_length = 32;
  job.precision = Precision::bf16;
  job.attention_kernel = AttentionKernel::unfused;
  return job;
}

// sbh = 32 * 64. q, k, v 3 sbh of 2 bytes and the projection's input 1 sbh of each of 4 layers, 3
// micro-batches.
TEST(HostTraffic, ModulesSendTheirInputsEachMicroBatch) {
  Layout layout;
  layout.offload_modules = {kOffloadCoreAttention | kOffloadAttentionProjection};
  const HostTraffic traffic = traffic_of(job_of_32_positions(), layout, 3);
  EXPECT_EQ(traffic.activations, bytes(3.0 * 4 * (3 + 1) * 2 * 32 * 64));
  EXPECT_EQ(traffic.to_host(), traffic.to_device());
  EXPECT_EQ(traffic.gradients, Bytes{});
}

// A layer keeps 34 sbh without dropout's masks (2 + 1 + 1 less): norm inputs 2 + 2, norm outputs 2
// + 2, qkv 6, merged 2, fc1 8, activation 8: 32 sbh, and the scores 2 * 8 heads * 32 * 32. Two
// layers of four.
TEST(HostTraffic, LayersSendAllThatTheyKeep) {
  Layout layout;
  layout.cpu_offloading_num_layers = 2;
  const HostTraffic traffic = traffic_of(job_of_32_positions(), layout, 1);
  EXPECT_EQ(traffic.activations, bytes(2.0 * (32 * 32 * 64 + 2 * 8 * 32 * 32)));
}

// A share of N / 4 parameters: gradients in fp32, weights in bf16.
TEST(HostTraffic, AnOptimizerTakesGradientsAndSendsWeights) {
  Layout layout = sharded_over(4, 1);
  layout.optimizer_offload = true;
  const Model model = four_layers();
  const Job job = job_of_32_positions();
  const Stage stage = pipeline_stages(model, layout).front();
  const double share = stage_parameters(model, job, layout, stage).dense / 4;
  const HostTraffic traffic = host_traffic(model, job, layout, stage, 1);
  EXPECT_EQ(traffic.to_host(), bytes(share * 4));
  EXPECT_EQ(traffic.to_device(), bytes(share * 2));
  EXPECT_EQ(traffic.activations, Bytes{});
}

}  // namespace
}  // namespace meshwright
