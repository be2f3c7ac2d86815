// SPDX-License-Identifier: Apache-2.0
// A small plan with made-up but consistent numbers, so that tests of faces do not depend on the
// cost model.
#pragma once

#include "planner/accuracy/validation.h"
#include "planner/search/plan.h"
#include "reports/records/origin.h"

namespace meshwright::reports {

inline Origin sample_origin() {
  return {.tool_version = "0.1.0",
          .command = "meshwright plan --model m.json --cluster c.json",
          .inputs = {{"model", "m.json", std::string(64, 'a')},
                     {"cluster", "c.json", std::string(64, 'b')}}};
}

inline Model sample_model() {
  Model model;
  model.name = "gpt-small";
  model.num_layers = 4;
  model.hidden_size = 1024;
  model.ffn_hidden_size = 4096;
  model.num_attention_heads = 16;
  model.num_query_groups = 16;
  model.kv_channels = 64;
  model.vocab_size = 50304;
  model.max_position_embeddings = 2048;
  return model;
}

inline Cluster sample_cluster() {
  Cluster cluster;
  cluster.name = "two nodes";
  cluster.device.name = "GPU 80 GiB";
  cluster.device.source = "datasheet, 2023";
  cluster.device.num_multiprocessors = 132;
  cluster.device.memory = gibibytes(80);
  cluster.device.memory_bandwidth = gigabytes_per_second(3350);
  cluster.device.kernel_launch = microseconds(2);
  cluster.device.host_launch = microseconds(5);
  cluster.device.host_link = gigabytes_per_second(50);
  GemmModel gemm;
  gemm.peak = teraflops_per_second(989);
  gemm.sustained_fraction = 0.7;
  cluster.device.gemm = {gemm};
  cluster.gpus_per_node = 8;
  cluster.num_nodes = 2;
  cluster.intra_node.name = "NVLink";
  cluster.intra_node.bandwidth = gigabytes_per_second(450);
  cluster.intra_node.latency = microseconds(5);
  cluster.inter_node.name = "InfiniBand";
  cluster.inter_node.bandwidth = gigabytes_per_second(50);
  cluster.inter_node.latency = microseconds(10);
  return cluster;
}

inline Job sample_job() {
  Job job;
  job.seq_length = 2048;
  job.global_batch_size = 64;
  job.train_tokens = 1e11;
  return job;
}

// Terms add up to the step: 0.20 + 0.40 + 0.05 (tp) + 0.05 (bubble) + 0.10 (dp) = 0.80 s, times
// `slower`.
inline Estimate sample_estimate(const Layout& layout, double slower) {
  Estimate estimate;
  estimate.layout = layout;
  const auto set = [&](TermKind kind, double time, Provenance provenance) {
    estimate.terms[static_cast<std::size_t>(kind)] = {
        .kind = kind,
        .cost = {.time = seconds(time * slower), .relative_spread = 0.1, .provenance = provenance}};
  };
  for (int i = 0; i < kNumTerms; ++i) set(static_cast<TermKind>(i), 0.0, Provenance::measured);
  set(TermKind::forward_compute, 0.20, Provenance::measured);
  set(TermKind::backward_compute, 0.40, Provenance::interpolated);
  set(TermKind::tensor_parallel_communication, 0.05, Provenance::datasheet);
  set(TermKind::pipeline_bubble, 0.05, Provenance::measured);
  set(TermKind::data_parallel_communication, 0.10, Provenance::extrapolated);
  estimate.step_time = seconds(0.80 * slower);
  estimate.step_time_low = seconds(0.70 * slower);
  estimate.step_time_high = seconds(0.90 * slower);
  for (int stage = 0; stage < layout.pipeline_parallel_size; ++stage) {
    StageMemory memory;
    memory.weights = gibibytes(4);
    memory.gradients = gibibytes(8);
    memory.optimizer = gibibytes(16);
    memory.activations = gibibytes(10.0 - stage);
    memory.reserve = gibibytes(2);
    estimate.memory.push_back(memory);
    StageVolume stage_volume{.stage = stage, .transfers = {}};
    stage_volume.transfers.push_back({.name = "attention output all-reduce",
                                      .group = Group::tensor,
                                      .collective = Collective::all_reduce,
                                      .phase = Phase::forward,
                                      .group_size = layout.tensor_parallel_size,
                                      .times_per_step = 64,
                                      .payload = bytes(4194304),
                                      .overlappable = false,
                                      .formula = "b*s*h*w/c"});
    stage_volume.transfers.push_back({.name = "gradient all-reduce",
                                      .group = Group::data,
                                      .collective = Collective::all_reduce,
                                      .phase = Phase::step,
                                      .group_size = layout.data_parallel_size,
                                      .times_per_step = 1,
                                      .payload = gigabytes(1),
                                      .overlappable = true,
                                      .formula = "4*parameters"});
    estimate.volume.stages.push_back(stage_volume);
  }
  estimate.provenance = Provenance::datasheet;
  estimate.tokens_per_second_per_gpu = 64.0 * 2048 / 16 / (0.80 * slower);
  estimate.model_flops_utilization = 0.41 / slower;
  return estimate;
}

inline planner::Plan sample_plan() {
  planner::Plan plan;
  plan.model = sample_model();
  plan.cluster = sample_cluster();
  plan.job = sample_job();
  Layout first{.tensor_parallel_size = 2, .pipeline_parallel_size = 2, .data_parallel_size = 4};
  Layout second{.tensor_parallel_size = 4, .pipeline_parallel_size = 2, .data_parallel_size = 2};
  plan.ranked = {sample_estimate(first, 1.0), sample_estimate(second, 1.25)};
  plan.pareto = {0};
  planner::Rejection rejection;
  rejection.rule = Rule::memory_capacity;
  rejection.count = 12;
  rejection.nearest = {.layout = {.data_parallel_size = 16},
                       .violation = {.rule = Rule::memory_capacity,
                                     .needed = gibibytes(96).value(),
                                     .available = gibibytes(80).value()}};
  rejection.sentence = "needs 96 GiB of 80 GiB";
  rejection.smallest_change = "tensor_parallel_size 2";
  plan.rejections = {rejection};
  plan.statistics = {.enumerated = 100, .legal = 40, .fitting = 28};
  plan.notes = {"Every link's speed is a datasheet number."};
  return plan;
}

}  // namespace meshwright::reports
