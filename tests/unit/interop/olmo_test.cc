// SPDX-License-Identifier: Apache-2.0
// OLMo's files in a shape of our own.
#include "interop/read_launch/olmo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.h"
#include "sim/model/parameters.h"

namespace meshwright::interop {
namespace {

bool recognised_as_olmo(const std::string& text) { return is_olmo(launch_text(text, "olmo.yaml")); }

using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kModel[] =
    "run_name: OLMo-1B\nseed: 6198\nwandb:\n  name: ${run_name}\nmodel:\n  d_model: 2048\n"
    "  n_heads: 16\n  n_layers: 16\n  mlp_ratio: 8\n  weight_tying: true\n  alibi: false\n"
    "  rope: true\n  flash_attention: true\n  attention_dropout: 0.0\n  residual_dropout: 0.0\n  "
    "embedding_dropout: 0.0\n  include_bias: false\n"
    "  block_type: sequential\n  layer_norm_type: default\n  layer_norm_with_affine: false\n"
    "  activation_type: swiglu\n  max_sequence_length: 2048\n  vocab_size: 50280\n"
    "  embedding_size: 50304\n  eos_token_id: 50279\n  init_device: meta\n";

constexpr char kRest[] =
    "compile: null\noptimizer:\n  name: adamw\n  betas:\n  - 0.9\n  - 0.95\n"
    "save_folder: ${path.choose:a,b}/${oc.env:JOB,${run_name}}\nload_path: null\n"
    "max_duration: 739_328\nglobal_train_batch_size: 256\ndevice_train_microbatch_size: 2\n"
    "precision: amp_bf16\neval_interval: ${save_interval}\n"
    "device_eval_batch_size: ${device_train_microbatch_size}\nevaluators:\n  - label: piqa\n"
    "    type: downstream\ndata:\n  num_workers: 0\n  paths:\n    - one.npy\n";

constexpr char kFsdp[] =
    "distributed_strategy: fsdp\nfsdp:\n  wrapping_strategy: by_block_and_size\n"
    "  precision: mixed\n  sharding_strategy: SHARD_GRAD_OP\n";

LaunchRecord read_with(const std::string& more) {
  return read_olmo(std::string(kModel) + kRest + more, "olmo.yaml", {});
}

// A layer has 4 h^2 and 3 x 4 h^2, and two norms; 50,304 rows stand for embedding and head.
TEST(Olmo, OneBillionIsReadWhole) {
  const LaunchRecord r = read_with(kFsdp);
  EXPECT_EQ(r.target, "OLMo");
  EXPECT_EQ(r.framework, "pytorch-fsdp-2023");
  EXPECT_THAT(r.not_understood, IsEmpty());
  EXPECT_EQ(r.model.ffn_hidden_size, 8192);
  EXPECT_EQ(total_parameters(r.model), 16LL * 16 * 2048 * 2048 + 50304LL * 2048 + 33LL * 2048);
  EXPECT_NEAR(static_cast<double>(total_parameters(r.model)), 1.177e9, 0.001e9);
  EXPECT_EQ(r.job.seq_length, 2048);
  EXPECT_EQ(r.job.global_batch_size, 256);
  EXPECT_EQ(r.job.precision, Precision::bf16);
  EXPECT_EQ(r.job.gradient_precision, Precision::fp32);
  EXPECT_EQ(r.job.attention_kernel, AttentionKernel::flash);
  EXPECT_FALSE(r.job.dropout);
  EXPECT_EQ(r.layout.micro_batch_size, 2);
  EXPECT_EQ(r.layout.zero_stage, 2);
  EXPECT_EQ(r.layout.fsdp_unit, FsdpUnit::block);
  EXPECT_EQ(r.layout.recompute_granularity, RecomputeGranularity::none);
}

TEST(Olmo, LlmFoundrysFileIsAnother) {
  EXPECT_TRUE(recognised_as_olmo(std::string(kModel) + kRest));
  EXPECT_FALSE(
      recognised_as_olmo("max_seq_len: 2048\nmodel:\n  d_model: 768\n  n_heads: 12\n"
                         "global_train_batch_size: 8\ndevice_train_microbatch_size: 2\n"));
  EXPECT_FALSE(recognised_as_olmo("max_sequence_length: 2048\n"));
}

TEST(Olmo, DistributedDataParallelShardsNothing) {
  const LaunchRecord r = read_with(
      "distributed_strategy: ddp\nddp:\n  grad_sync_mode: batch\n  find_unused_params: "
      "false\n");
  EXPECT_THAT(r.not_understood, IsEmpty());
  EXPECT_EQ(r.layout.zero_stage, 0);
  EXPECT_EQ(r.layout.fsdp_unit, FsdpUnit::none);
  EXPECT_TRUE(r.layout.overlap_grad_reduce);
}

TEST(Olmo, WithoutAWrappingTheModelIsOneUnitThatReducesIn16Bits) {
  const LaunchRecord r = read_with("");
  EXPECT_EQ(r.layout.zero_stage, 3);
  EXPECT_EQ(r.layout.fsdp_unit, FsdpUnit::whole);
  EXPECT_EQ(r.job.gradient_precision, Precision::bf16);
}

TEST(Olmo, CopiesOfHybridShardingAreKept) {
  const LaunchRecord r = read_with(
      "fsdp:\n  wrapping_strategy: by_block\n  sharding_strategy: HYBRID_SHARD\n"
      "  hybrid_sharding_num_model_replicas: 4\n");
  EXPECT_EQ(r.replicas, 4);
  EXPECT_THAT(r.not_understood, IsEmpty());
  EXPECT_THAT(read_with("fsdp:\n  sharding_strategy: HYBRID_SHARD\n").not_understood,
              Contains(Field("why", &NotUnderstood::why, HasSubstr("a copy a node"))));
}

TEST(Olmo, WholeLayersAreRecomputedAndPartsListed) {
  EXPECT_EQ(read_with("activation_checkpointing: whole_layer\n").layout.recompute_granularity,
            RecomputeGranularity::full);
  EXPECT_EQ(read_with("activation_checkpointing: false\n").layout.recompute_granularity,
            RecomputeGranularity::none);
  for (const char* part : {"one_in_two", "fine_grained"}) {
    const LaunchRecord r = read_with(std::string("activation_checkpointing: ") + part + "\n");
    EXPECT_EQ(r.layout.recompute_granularity, RecomputeGranularity::none);
    EXPECT_EQ(r.not_understood.size(), 1U);
  }
}

TEST(Olmo, CompiledBlocksAndAFusedLoss) {
  const LaunchRecord r =
      read_olmo(std::string(kModel) +
                    "global_train_batch_size: 8\nprecision: amp_bf16\nfused_loss: true\n"
                    "compile:\n  fullgraph: false\n",
                "olmo.yaml", {});
  EXPECT_EQ(r.job.kernel_fusion, KernelFusion::compiled);
  EXPECT_TRUE(r.job.cross_entropy_loss_fusion);
  EXPECT_EQ(r.layout.micro_batch_size, 16);
}

// 22,016 / 2 of each, and norms over all heads: 2 x 4,096 a layer.
TEST(Olmo, TheSecondsSevenBillion) {
  const std::string text =
      "model:\n  d_model: 4096\n  n_heads: 32\n  n_layers: 32\n  mlp_hidden_size: 22016\n"
      "  weight_tying: false\n  rope: true\n  include_bias: false\n  layer_norm_type: rms\n"
      "  attention_layer_norm: true\n  norm_after: true\n  max_sequence_length: 4096\n"
      "  vocab_size: 100278\n  embedding_size: 100352\nglobal_train_batch_size: 1024\n"
      "device_train_microbatch_size: 2\nprecision: amp_bf16\n";
  EXPECT_TRUE(recognised_as_olmo(text));
  const LaunchRecord r = read_olmo(text, "olmo2.yaml", {});
  EXPECT_THAT(r.not_understood, IsEmpty());
  EXPECT_TRUE(r.job.dropout);  // 0.1 unless told
  EXPECT_EQ(total_parameters(r.model), 32LL * (4LL * 4096 * 4096 + 3LL * 4096 * 11008 + 4 * 4096) +
                                           2LL * 100352 * 4096 + 4096);
}

TEST(Olmo, UnknownKeysAndWrongValues) {
  EXPECT_EQ(read_with("what: 1\n").not_understood.size(), 1U);
  EXPECT_THROW(read_with("distributed_strategy: zero\n"), InputError);
  EXPECT_THROW(read_olmo("model:\n  d_model: 8\n", "a.yaml", {}), InputError);
  LaunchHints hints;
  hints.model = Model{};
  hints.seq_length = 512;
  EXPECT_EQ(read_olmo("global_train_batch_size: 8\n", "a.yaml", hints).job.seq_length, 512);
}

}  // namespace
}  // namespace meshwright::interop
