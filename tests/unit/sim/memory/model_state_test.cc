// SPDX-License-Identifier: Apache-2.0
// Bytes a parameter that training keeps: weights, gradients, optimizer, and the buffers beside
// them.
#include "sim/memory/model_state.h"

#include <gtest/gtest.h>

#include "korthikanti.h"

namespace meshwright {
namespace {

StageParameters one_million() { return {1e6, 0}; }

double state_bytes_per_parameter(const Job& job, const Layout& layout) {
  return model_state_memory(one_million(), job, layout).total() / bytes(1e6);
}

Job job_with(Precision precision) {
  Job job;
  job.precision = precision;
  return job;
}

// Megatron-LM dist_optimizer.md: bf16 with fp32 gradients 2 + 4 + (4 + 4 + 4) = 18, distributed
// 6 + 12/d; fp32 4 + 4 + (4 + 4) = 16, distributed 8 + 8/d; fp16 with fp16 gradients
// 2 + 2 + (4 + 4 + 4 + 4) = 20, distributed 4 + 16/d.
TEST(ModelState, BytesPerParameterAreMegatrons) {
  EXPECT_DOUBLE_EQ(state_bytes_per_parameter(job_with(Precision::bf16), sharded_over(8, 0)), 18);
  EXPECT_DOUBLE_EQ(state_bytes_per_parameter(job_with(Precision::bf16), sharded_over(8, 1)), 7.5);
  EXPECT_DOUBLE_EQ(state_bytes_per_parameter(job_with(Precision::fp32), sharded_over(8, 0)), 16);
  EXPECT_DOUBLE_EQ(state_bytes_per_parameter(job_with(Precision::fp32), sharded_over(8, 1)), 9);
  Job fp16 = job_with(Precision::fp16);
  fp16.gradient_precision = Precision::fp16;
  EXPECT_DOUBLE_EQ(state_bytes_per_parameter(fp16, sharded_over(8, 0)), 20);
  EXPECT_DOUBLE_EQ(state_bytes_per_parameter(fp16, sharded_over(8, 1)), 6);
}

// bf16 with bf16 gradients: 2 + 2 + (8 + 4) = 16; with remainders 2 in place of the 4 of a master
// weight: 14, distributed 4 + 10/8. fp16 weights lack other bits, and fp8 ones have none: 4 as
// before.
TEST(ModelState, RemaindersTakeHalfOfAMasterWeight) {
  Job job = job_with(Precision::bf16);
  job.gradient_precision = Precision::bf16;
  EXPECT_DOUBLE_EQ(state_bytes_per_parameter(job, sharded_over(8, 0)), 16);
  job.store_param_remainders = true;
  EXPECT_DOUBLE_EQ(state_bytes_per_parameter(job, sharded_over(8, 0)), 14);
  EXPECT_DOUBLE_EQ(state_bytes_per_parameter(job, sharded_over(8, 1)), 5.25);
  EXPECT_EQ(master_bytes(job), 2.0);
  job.precision = Precision::fp16;
  EXPECT_EQ(master_bytes(job), 4.0);
  job.precision = Precision::fp8;
  EXPECT_EQ(master_bytes(job), 2.0);
  job.fp8_param_gather = true;
  EXPECT_EQ(master_bytes(job), 4.0);
}

// A million parameters of which nothing is trained are 2 MB in bf16 and 4 MB in fp32; ZeRO-3 over 4
// ranks leaves 2/4 MB. Training adds 4 of gradients and 4 + 4 + 4 of optimizer in bf16, to the same
// weights.
TEST(ModelState, WithoutTrainingWeightsAreAll) {
  Numerics numerics;
  EXPECT_EQ(weight_memory(one_million(), numerics, sharded_over(4, 0)), bytes(2e6));
  EXPECT_EQ(weight_memory(one_million(), numerics, sharded_over(4, 3)), bytes(0.5e6));
  const StageMemory trained =
      model_state_memory(one_million(), job_with(Precision::bf16), sharded_over(4, 0));
  EXPECT_EQ(trained.weights, bytes(2e6));
  EXPECT_EQ(trained.gradients + trained.optimizer, bytes(4e6 + 12e6));
  numerics.precision = Precision::fp32;
  EXPECT_EQ(weight_memory(one_million(), numerics, sharded_over(4, 0)), bytes(4e6));
}

// Eager: DistributedDataParallel's buckets hold the gradients once more in bf16, 18 + 2, once there
// is somebody to reduce with.
TEST(ModelState, EagerJobsHoldBucketsToo) {
  Job job = job_with(Precision::bf16);
  job.kernel_fusion = KernelFusion::eager;
  EXPECT_DOUBLE_EQ(state_bytes_per_parameter(job, sharded_over(8, 0)), 20);
  EXPECT_DOUBLE_EQ(state_bytes_per_parameter(job, sharded_over(8, 1)), 9.5);
  EXPECT_DOUBLE_EQ(state_bytes_per_parameter(job, sharded_over(1, 0)), 18);
}

// ZeRO (1910.02054, figure 1), 16-bit gradients, d = 4: 2 + 2 + 12 = 16; stage 1 4 + 12/4 = 7;
// stage 2 2 + 14/4 = 5.5; stage 3 16/4 = 4.
TEST(ModelState, ZeroStagesShardOneThingMoreEach) {
  Job job = job_with(Precision::bf16);
  job.gradient_precision = Precision::bf16;
  EXPECT_DOUBLE_EQ(state_bytes_per_parameter(job, sharded_over(4, 0)), 16);
  EXPECT_DOUBLE_EQ(state_bytes_per_parameter(job, sharded_over(4, 1)), 7);
  EXPECT_DOUBLE_EQ(state_bytes_per_parameter(job, sharded_over(4, 2)), 5.5);
  EXPECT_DOUBLE_EQ(state_bytes_per_parameter(job, sharded_over(4, 3)), 4);
}

// Replicas of fp32 weights under autocast: 2 + 4 + 12, though shards are reduced in bf16; a ZeRO
// stage is a shard, 2 + 2 + 12/4.
TEST(ModelState, ReplicasMayKeepFp32GradientsBesideBf16Shards) {
  Job job = job_with(Precision::bf16);
  job.gradient_precision = Precision::bf16;
  job.replicas_keep_fp32_gradients = true;
  EXPECT_DOUBLE_EQ(state_bytes_per_parameter(job, sharded_over(4, 0)), 18);
  EXPECT_DOUBLE_EQ(state_bytes_per_parameter(job, sharded_over(4, 1)), 7);
}

// FSDP on 4 ranks: fp32 parameters, gradients and two moments in shards, 16/4 = 4. Stages 1 and 2
// keep the gathered parameters to the backward, 2 more, which ranks do not divide; one unit of
// everything counts its own with the buffers. Deferred reductions of several micro-batches keep
// gradients whole, 4 bytes in place of the shard's 4/4, which come as they go; a pipeline both.
TEST(ModelState, FsdpShardsEverythingInFp32) {
  Job job = job_with(Precision::bf16);
  Layout layout = sharded_over(4, 3);
  layout.fsdp_unit = FsdpUnit::block;
  EXPECT_DOUBLE_EQ(state_bytes_per_parameter(job, layout), 4);
  layout.defer_grad_reduce = true;
  EXPECT_DOUBLE_EQ(state_bytes_per_parameter(job, layout), 4 - 1 + 4);
  job.global_batch_size = 4;  // one micro-batch, which is the last
  EXPECT_DOUBLE_EQ(state_bytes_per_parameter(job, layout), 4);
  layout.zero_stage = 2;
  EXPECT_DOUBLE_EQ(state_bytes_per_parameter(job, layout), 4 + 2);
  layout.zero_stage = 1;
  EXPECT_DOUBLE_EQ(state_bytes_per_parameter(job, layout), 4 + 2);
  job.global_batch_size = 8;
  EXPECT_DOUBLE_EQ(state_bytes_per_parameter(job, layout), 4 - 1 + 4 + 2);
  layout.fsdp_unit = FsdpUnit::whole;
  EXPECT_DOUBLE_EQ(state_bytes_per_parameter(job, layout), 4 - 1 + 4);
  layout.defer_grad_reduce = false;
  layout.pipeline_parallel_size = 2;
  EXPECT_DOUBLE_EQ(state_bytes_per_parameter(job, layout), 4 - 1 + 4 + 2);
  job.precision = Precision::fp32;  // gathered as they are
  EXPECT_DOUBLE_EQ(state_bytes_per_parameter(job, layout), 4 - 1 + 4 + 4);
}

// Frozen weights of LoRA are gathered like others: of 2 bytes on 4 ranks 2/4 remain, or 2 more from
// forward to backward.
TEST(ModelState, FsdpKeepsFrozenWeightsToo) {
  const PublishedRun setup = modern_layer();
  Job job = setup.job;
  job.lora_rank = 8;
  Layout layout = sharded_over(4, 3);
  layout.fsdp_unit = FsdpUnit::block;
  const Stage stage = pipeline_stages(setup.model, layout).front();
  const double all = stage_parameters(setup.model, job, layout, stage).dense;
  const double adapters = adapter_parameters(setup.model, job, layout, stage).dense;
  const Bytes freed = static_memory(setup.model, job, layout, stage).weights;
  layout.zero_stage = 2;
  const Bytes kept = static_memory(setup.model, job, layout, stage).weights;
  EXPECT_EQ(freed, bytes((4 * adapters + 2 * all) / 4));
  EXPECT_EQ(kept - freed, bytes(2 * (adapters + all)));
}

// A unit at work and its gradient, the next unit, the input of an fp32 reduction: 2 + 2 + 2 + 4 =
// 10 bytes a parameter of a layer; the root (embedding, positions, final norm) stays gathered, 2
// bytes.
TEST(Buffers, FsdpHoldsTwoUnitsAndItsRoot) {
  Model model;
  model.num_layers = 4;
  model.hidden_size = 64;
  model.ffn_hidden_size = 256;
  model.num_attention_heads = model.num_query_groups = 8;
  model.kv_channels = 8;
  model.vocab_size = 128;
  model.max_position_embeddings = 32;
  Job job = job_with(Precision::bf16);
  Layout layout = sharded_over(4, 3);
  layout.fsdp_unit = FsdpUnit::block;
  const Stage stage = pipeline_stages(model, layout).front();
  const double all = stage_parameters(model, job, layout, stage).dense;
  const double root = 128 * 64 + 32 * 64 + 2 * 64;
  EXPECT_EQ(zero_3_buffers(model, job, layout, stage), bytes(10 * (all - root) / 4 + 2 * root));
  // Parameters that stay count with the states: a gradient and the reduction's input, 2 + 4.
  layout.zero_stage = 2;
  EXPECT_EQ(zero_3_buffers(model, job, layout, stage), bytes(6 * (all - root) / 4));
  layout.zero_stage = 3;
  // Reduced once, the input of a reduction takes the place of a whole gradient: 2 + 2 + 2.
  layout.defer_grad_reduce = true;
  EXPECT_EQ(zero_3_buffers(model, job, layout, stage), bytes(6 * (all - root) / 4 + 2 * root));
  layout.fsdp_unit = FsdpUnit::whole;
  EXPECT_EQ(zero_3_buffers(model, job, layout, stage), bytes((2 + 2) * all));
  job.global_batch_size = 4;  // one micro-batch: nothing waits for another
  EXPECT_EQ(zero_3_buffers(model, job, layout, stage), bytes((2 + 2 + 4) * all));
}

// At the loss the root alone is gathered: 10 bytes a parameter of a layer are not there. The first
// micro-batch finds no gradients, the second 4 bytes a parameter of the shard. Below a pipeline,
// and without FSDP, nothing differs.
TEST(ModelState, FsdpHoldsLessAtTheLoss) {
  PublishedRun setup = modern_layer();
  setup.model.num_layers = 4;
  setup.job.global_batch_size = 4;
  setup.layout = sharded_over(4, 3);
  const auto less = [&] {
    const Stage stage = pipeline_stages(setup.model, setup.layout).front();
    const StageMemory held = static_memory(setup.model, setup.job, setup.layout, stage);
    return held.total() -
           static_memory_at_loss(held, setup.model, setup.job, setup.layout, stage).total();
  };
  EXPECT_EQ(less(), Bytes{});
  setup.layout.fsdp_unit = FsdpUnit::block;
  const Stage stage = pipeline_stages(setup.model, setup.layout).front();
  const double all = stage_parameters(setup.model, setup.job, setup.layout, stage).dense;
  const double layer = largest_layer_parameters(setup.model, setup.layout, stage);
  EXPECT_EQ(less(), bytes(10 * layer + 4 * all / 4));
  setup.job.global_batch_size = 8;
  EXPECT_EQ(less(), bytes(10 * layer));
  setup.layout.pipeline_parallel_size = 2;
  EXPECT_EQ(less(), Bytes{});
}

// Hybrid sharding: 16 data ranks, copies shared by 4: as with 4 data ranks.
TEST(ModelState, HybridShardsShareWithinTheirGroupOnly) {
  Layout hybrid = sharded_over(16, 3);
  hybrid.zero_shard_size = 4;
  EXPECT_DOUBLE_EQ(state_bytes_per_parameter(job_with(Precision::bf16), hybrid),
                   state_bytes_per_parameter(job_with(Precision::bf16), sharded_over(4, 3)));
}

// 8 dense ranks in shards of 2, 4 copies; experts over 2 of them: their 4 ranks in shards of 1. One
// rule for memory, volume and the optimizer's time.
TEST(ModelState, ExpertsHaveAsManyCopiesAsTheRest) {
  Layout layout = sharded_over(8, 1);
  layout.expert_parallel_size = 2;
  layout.zero_shard_size = 2;
  EXPECT_EQ(expert_shard_group_size(layout), 1);
  layout.zero_shard_size = 0;
  EXPECT_EQ(expert_shard_group_size(layout), 4);
  layout.expert_parallel_size = 8;
  layout.zero_shard_size = 2;
  EXPECT_EQ(expert_shard_group_size(layout), 1);
}

// Context ranks hold the same weights and share the sharded state: d*c = 2*4.
TEST(ModelState, ContextRanksShareTheShards) {
  Layout layout = sharded_over(2, 1);
  layout.context_parallel_size = 4;
  EXPECT_DOUBLE_EQ(state_bytes_per_parameter(job_with(Precision::bf16), layout), 6 + 12.0 / 8);
}

// Experts over ep = 4 of d = 8 ranks: their state has 8/4 = 2 owners. Dense 1e6 over 8.
TEST(ModelState, ExpertsShardOverTheirOwnDataRanks) {
  Layout layout = sharded_over(8, 1);
  layout.expert_parallel_size = 4;
  const StageMemory memory = model_state_memory({1e6, 1e6}, job_with(Precision::bf16), layout);
  EXPECT_DOUBLE_EQ(memory.optimizer / bytes(1e6), 12.0 / 8 + 12.0 / 2);
}

TEST(ModelState, OneRankShardsNothing) {
  for (int zero = 0; zero <= 3; ++zero) {
    EXPECT_DOUBLE_EQ(state_bytes_per_parameter(job_with(Precision::bf16), sharded_over(1, zero)),
                     18);
  }
}

TEST(ModelState, OffloadLeavesWeightsAndGradients) {
  Layout layout;
  layout.optimizer_offload = true;
  EXPECT_DOUBLE_EQ(state_bytes_per_parameter(job_with(Precision::bf16), layout), 6);
}

TEST(ModelState, MoreShardingNeverNeedsMore) {
  for (int zero = 0; zero <= 3; ++zero) {
    for (int d = 1; d < 64; d *= 2) {
      EXPECT_LE(state_bytes_per_parameter(job_with(Precision::bf16), sharded_over(2 * d, zero)),
                state_bytes_per_parameter(job_with(Precision::bf16), sharded_over(d, zero)));
    }
  }
}
}  // namespace
}  // namespace meshwright
