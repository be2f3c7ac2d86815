// SPDX-License-Identifier: Apache-2.0
// What launchers do where their files say nothing, or say it in two places.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/read_launch/megatron_bridge.h"
#include "interop/read_launch/read_launch.h"

namespace meshwright::interop {
namespace {

using testing::Contains;
using testing::Field;

constexpr const char* kBridge =
    "model: { tensor_model_parallel_size: 2 }\n"
    "ddp: { use_distributed_optimizer: true, overlap_grad_reduce: false }\n"
    "optimizer: { use_distributed_optimizer: true }\n"
    "train: { micro_batch_size: 1, global_batch_size: 64 }\n"
    "dataset: { seq_length: 2048 }\n";

TEST(LauncherDefaults, BridgesCommOverlapOverrulesDdp) {
  const auto read = [](const std::string& more) {
    return read_megatron_bridge(kBridge + more, "b.yaml", {});
  };
  EXPECT_FALSE(read("").layout.overlap_grad_reduce);
  EXPECT_EQ(read("").job.seq_length, 2048);
  const LaunchRecord on = read("comm_overlap: { tp_comm_overlap: false }\n");
  EXPECT_TRUE(on.layout.overlap_grad_reduce);
  EXPECT_TRUE(on.layout.overlap_param_gather);
  EXPECT_THAT(on.assumed, Contains(Field(&Fact::field, "overlap_grad_reduce")));
  const LaunchRecord off = read("comm_overlap: { overlap_grad_reduce: false }\n");
  EXPECT_FALSE(off.layout.overlap_grad_reduce);
  EXPECT_TRUE(off.layout.overlap_param_gather);
}

// expert_tensor_parallel_degree is 1 unless told, and without effect where experts are not dealt
// out: their tensor ranks cut them, which a layout says by 0.
TEST(LauncherDefaults, TorchtitansExpertsAreNotCut) {
  const auto read = [](const std::string& more) {
    return read_torchtitan(
               "[model]\nname = \"deepseek_v3\"\nflavor = \"671B\"\n[training]\nseq_len = 4096\n"
               "[parallelism]\ntensor_parallel_degree = 8\n" +
                   more,
               "t.toml", {})
        .layout.expert_tensor_parallel_size;
  };
  EXPECT_EQ(read("expert_parallel_degree = 4\n"), 1);
  EXPECT_EQ(read("expert_parallel_degree = 4\nexpert_tensor_parallel_degree = 8\n"), 0);
  EXPECT_EQ(read(""), 0);
  EXPECT_EQ(read("expert_tensor_parallel_degree = 1\n"), 0);
}

std::string nanotron(const std::string& parallelism) {
  return "model:\n  dtype: bfloat16\n  model_config:\n    hidden_size: 64\n"
         "    intermediate_size: 256\n    num_attention_heads: 4\n    num_hidden_layers: 4\n"
         "    vocab_size: 100\noptimizer: { zero_stage: 0 }\n"
         "tokens: { micro_batch_size: 1, batch_accumulation_per_replica: 4, sequence_length: 128 "
         "}\n"
         "parallelism: { dp: 2, pp: 2, tp: 2" +
         parallelism + " }\n";
}

TEST(LauncherDefaults, NanotronRunsAllForwardsFirstAndPadsNothing) {
  const LaunchRecord silent = read_launch(nanotron(""), "n.yaml", {});
  EXPECT_EQ(silent.layout.schedule, PipelineSchedule::gpipe);
  EXPECT_FALSE(silent.layout.sequence_parallel);
  EXPECT_EQ(silent.job.make_vocab_size_divisible_by, 1);
  EXPECT_THAT(silent.assumed, Contains(Field(&Fact::field, "schedule")));
  const LaunchRecord said =
      read_launch(nanotron(", pp_engine: 1f1b, tp_mode: reduce_scatter"), "n.yaml", {});
  EXPECT_EQ(said.layout.schedule, PipelineSchedule::one_f_one_b);
  EXPECT_TRUE(said.layout.sequence_parallel);
}

// Gradients travel in the type that FSDP computes in; replicas reduce those of fp32 weights.
TEST(LauncherDefaults, AccelerateReducesInTheTypeThatItComputesIn) {
  LaunchHints hints;
  hints.seq_length = 2048;
  const auto read = [&](const std::string& type, const std::string& more) {
    return read_launch("distributed_type: " + type + "\nfsdp_config: { fsdp_version: 2 }\n" +
                           "mixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n" + more,
                       "a.yaml", hints);
  };
  const LaunchRecord fsdp = read("FSDP", "");
  EXPECT_EQ(fsdp.framework, "accelerate-2026");
  EXPECT_EQ(fsdp.job.gradient_precision, Precision::bf16);
  EXPECT_EQ(read("MULTI_GPU", "").job.gradient_precision, Precision::fp32);
  const LaunchRecord compiled = read("FSDP", "dynamo_config: { dynamo_backend: INDUCTOR }\n");
  EXPECT_EQ(compiled.job.kernel_fusion, KernelFusion::compiled);
}

}  // namespace
}  // namespace meshwright::interop
