// SPDX-License-Identifier: Apache-2.0
// accelerate's YAML and the commands that start it, in shapes of our own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/read_launch/read_launch.h"
#include "sim/base/error.h"

namespace meshwright::interop {
namespace {

using testing::HasSubstr;

constexpr const char* kHybrid =
    "\xEF\xBB\xBF"
    "compute_environment: LOCAL_MACHINE\r\ndistributed_type: FSDP\r\ndowncast_bf16: 'no'\r\n"
    "fsdp_config:\r\n  fsdp_version: 2\r\n  fsdp_reshard_after_forward: true\r\n"
    "  fsdp_activation_checkpointing: true\r\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\r\n"
    "mixed_precision: bf16\r\nnum_machines: 4\r\nnum_processes: 32\r\nparallelism_config:\r\n"
    "  parallelism_config_dp_replicate_size: 2\r\n  parallelism_config_dp_shard_size: 8\r\n"
    "  parallelism_config_tp_size: 2\r\n  parallelism_config_cp_size: 1\r\ntpu_use_sudo: false\r\n";

LaunchHints with_sequence() {
  LaunchHints hints;
  hints.seq_length = 4096;
  return hints;
}

TEST(Accelerate, ReadsFsdp2WithCopiesAndTensorRanks) {
  const LaunchRecord record = read_launch(kHybrid, "fsdp2.yaml", with_sequence());
  EXPECT_EQ(record.target, "accelerate");
  EXPECT_EQ(record.gpus, 32);
  EXPECT_EQ(record.gpus_per_node, 8);
  EXPECT_EQ(record.replicas, 2);
  EXPECT_EQ(record.layout.data_parallel_size, 16);
  EXPECT_EQ(record.layout.tensor_parallel_size, 2);
  EXPECT_FALSE(record.layout.sequence_parallel);
  EXPECT_EQ(record.layout.zero_stage, 3);
  EXPECT_EQ(record.layout.fsdp_unit, FsdpUnit::block);
  EXPECT_EQ(record.layout.recompute_granularity, RecomputeGranularity::full);
  EXPECT_EQ(record.job.precision, Precision::bf16);
  EXPECT_TRUE(record.not_understood.empty());
}

// Version 1: HYBRID_SHARD shares inside a node of 8, two nodes are two copies.
TEST(Accelerate, ReadsFsdp1) {
  const LaunchRecord record = read_launch(
      "distributed_type: FSDP\nfsdp_config:\n  fsdp_sharding_strategy: HYBRID_SHARD\n"
      "  fsdp_backward_prefetch: BACKWARD_PRE\nmixed_precision: 'no'\nnum_machines: 2\n"
      "num_processes: 16\n",
      "fsdp.yaml", with_sequence());
  EXPECT_EQ(record.framework, "pytorch-fsdp-2023");
  EXPECT_TRUE(record.shards_in_node);
  EXPECT_EQ(record.layout.zero_stage, 3);
  EXPECT_EQ(record.job.precision, Precision::fp32);
}

TEST(Accelerate, TheCommandSaysTheBatch) {
  const ReadNamedFile read = [](const std::string& name) -> std::optional<std::string> {
    if (name == "fsdp2.yaml") return kHybrid;
    return std::nullopt;
  };
  const LaunchRecord record = read_launch(
      "#!/bin/bash\naccelerate launch --config_file fsdp2.yaml --num_processes 32 \\\n  train.py "
      "--per_device_train_batch_size 4 --gradient_accumulation_steps 2 --max_seq_length 8192 "
      "--bf16 --model_name_or_path meta-llama/Llama-3-8b\n",
      "run.sh", {}, read);
  EXPECT_EQ(record.target, "accelerate");
  EXPECT_EQ(record.layout.micro_batch_size, 4);
  EXPECT_EQ(record.micro_batches_a_rank, 2);
  EXPECT_EQ(record.job.seq_length, 8192);
  EXPECT_EQ(record.model_name, "meta-llama/Llama-3-8b");
  EXPECT_TRUE(record.not_understood.empty());
}

TEST(Accelerate, RefusesWhatItCannotSay) {
  const auto error = [](const char* text) {
    try {
      read_launch(text, "a.yaml", with_sequence());
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_THAT(error("distributed_type: MEGATRON_LM\nnum_processes: 8\n"), HasSubstr("a.yaml:1:19"));
  EXPECT_THAT(error("distributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n  "
                    "fsdp_sharding_strategy: SOME\n"),
              HasSubstr("a.yaml:4"));
}

}  // namespace
}  // namespace meshwright::interop
