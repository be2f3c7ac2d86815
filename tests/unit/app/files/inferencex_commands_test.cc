// SPDX-License-Identifier: Apache-2.0
#include "app/files/inferencex_commands.h"

#include <gtest/gtest.h>

namespace meshwright::app {
namespace {

// 70b_fp8_b200_trt_slurm.sh: --max_num_tokens 16384; for 1k/1k and fewer than 8 ranks
// batch_wait_max_tokens_ratio 0.9 and batch_wait_timeout_iters 20.
TEST(InferencexCommands, OfTensorRtHoldPromptsBackForShortAnswers) {
  ReplicaOptions options{.layout = {.tensor_parallel_size = 4}};
  InferencexRow row{"llama-3-70b", "b200", "trtllm", WeightFormat::fp8, 1024, 1024, 32, false};
  EXPECT_TRUE(set_inferencex_options(options, row));
  EXPECT_EQ(options.max_num_batched_tokens, 16384);
  EXPECT_EQ(options.prompt_wait, (PromptWait{20, 0.9, 0, 0}));
  ReplicaOptions wide{.layout = {.tensor_parallel_size = 8}};
  set_inferencex_options(wide, row);
  EXPECT_EQ(wide.prompt_wait, PromptWait{});
  ReplicaOptions long_prompts{.layout = {.tensor_parallel_size = 4}};
  row.input = 8192;
  set_inferencex_options(long_prompts, row);
  EXPECT_EQ(long_prompts.prompt_wait, PromptWait{});
}

// dsr1_fp8_*_trt.sh: (64 + 1,024 + 64 + 63) / 64 * 64 = 1,152 rows.
TEST(InferencexCommands, OfDeepSeekUnderTensorRtTakeOnePromptAStep) {
  ReplicaOptions options{.layout = {.tensor_parallel_size = 8}};
  set_inferencex_options(
      options, {"deepseek-v3", "h200", "trtllm", WeightFormat::fp8_block, 1024, 1024, 64, false});
  EXPECT_EQ(options.max_num_batched_tokens, 1152);
}

// minimaxm2.5_fp8_h100.sh: --tensor-parallel-size, --enable-expert-parallel, --max-num-seqs 256.
TEST(InferencexCommands, OfMiniMaxInFp8HaveNoDataRanks) {
  ReplicaOptions options{.layout = {.data_parallel_size = 4, .expert_parallel_size = 4}};
  set_inferencex_options(
      options, {"minimax-m2.5", "h100", "vllm", WeightFormat::fp8_block, 1024, 1024, 64, false});
  EXPECT_EQ(options.layout, (ReplicaLayout{.tensor_parallel_size = 4, .expert_parallel_size = 4}));
  EXPECT_EQ(options.max_num_seqs, 256);
}

// dsr1_fp8_b200.sh: --scheduler-recv-interval 10 below 16 users, 30 from there on.
TEST(InferencexCommands, OfDeepSeekUnderSglangSeeRequestsNowAndThen) {
  InferencexRow row{"deepseek-v3", "b200", "sglang", WeightFormat::fp8_block, 1024, 1024, 4, false};
  ReplicaOptions few{.layout = {.tensor_parallel_size = 8}};
  set_inferencex_options(few, row);
  EXPECT_EQ(few.prompt_wait.receive_interval, 10);
  EXPECT_EQ(few.max_num_seqs, 128);
  EXPECT_EQ(few.memory_fraction, 0.82);
  row.users = 16;
  ReplicaOptions many{.layout = {.tensor_parallel_size = 8}};
  set_inferencex_options(many, row);
  EXPECT_EQ(many.prompt_wait.receive_interval, 30);
}

// minimaxm2.5_fp8_b200.sh: --max-num-batched-tokens $((ISL * 2)).
TEST(InferencexCommands, LeaveWhatTheRowStates) {
  const InferencexRow row{"minimax-m2.5", "b200", "vllm", WeightFormat::fp8_block,
                          1024,           1024,   64,     true};
  ReplicaOptions options;
  EXPECT_TRUE(set_inferencex_options(options, row));
  EXPECT_EQ(options.max_num_batched_tokens, 2048);
  EXPECT_EQ(options.kv_cache, KvCacheFormat::bf16);
  ReplicaOptions stated{.max_num_batched_tokens = 4096};
  EXPECT_FALSE(set_inferencex_options(stated, row));
  EXPECT_EQ(stated.max_num_batched_tokens, 4096);
}

}  // namespace
}  // namespace meshwright::app
