// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/read_launch/read_launch.h"

namespace meshwright::interop {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kCommand =
    "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 2 --hidden-size 64 "
    "--num-attention-heads 2 --seq-length 64 --max-position-embeddings 64 --micro-batch-size 1 "
    "--vocab-size 256 --bf16\n";

std::vector<std::string> names(const std::string& script) {
  std::vector<std::string> found;
  for (const EnvironmentNote& note : read_launch(script, "train.sh", {}).environment) {
    found.push_back(note.name + "=" + note.value);
  }
  return found;
}

TEST(Environment, WhatSlowsStandsFirst) {
  EXPECT_THAT(names(std::string("export NCCL_IB_HCA=mlx5_0\nexport NCCL_P2P_DISABLE=1\n"
                                "export NCCL_DEBUG=INFO\nexport OMP_NUM_THREADS=8\n"
                                "export NCCL_OF_TOMORROW=3\n") +
                    kCommand),
              ElementsAre("NCCL_P2P_DISABLE=1", "NCCL_IB_HCA=mlx5_0", "NCCL_OF_TOMORROW=3"));
}

TEST(Environment, UsualValuesAreNotNamed) {
  EXPECT_THAT(
      names(std::string("export CUDA_LAUNCH_BLOCKING=0\nexport NCCL_NVLS_ENABLE=1\n"
                        "export CUDA_DEVICE_MAX_CONNECTIONS=1\nexport NVTE_FLASH_ATTN=1\n") +
            kCommand),
      ElementsAre());
  EXPECT_THAT(names(std::string("export CUDA_DEVICE_MAX_CONNECTIONS=32\n") + kCommand),
              ElementsAre("CUDA_DEVICE_MAX_CONNECTIONS=32"));
}

TEST(Environment, ItIsReadBeforeTheCommandAndOnIt) {
  EXPECT_THAT(names(std::string("NVTE_FUSED_ATTN=0 ") + kCommand),
              ElementsAre("NVTE_FUSED_ATTN=0"));
  EXPECT_THAT(names(std::string("mpirun -np 8 -x NCCL_ALGO=Ring ") + kCommand),
              ElementsAre("NCCL_ALGO=Ring"));
}

TEST(Environment, OfAConfiguration) {
  LaunchHints hints;
  hints.model = Model{};
  const LaunchRecord record =
      read_launch("env_vars:\n  NCCL_NVLS_ENABLE: 0\nmodel:\n  tensor_model_parallel_size: 2\n",
                  "run.yaml", hints);
  ASSERT_EQ(record.environment.size(), 1U);
  EXPECT_EQ(record.environment.front().name, "NCCL_NVLS_ENABLE");
  EXPECT_THAT(record.environment.front().effect, HasSubstr("NVLink SHARP"));
  EXPECT_EQ(record.environment.front().place.line, 2);
}

}  // namespace
}  // namespace meshwright::interop
