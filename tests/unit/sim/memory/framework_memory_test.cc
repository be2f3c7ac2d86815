// SPDX-License-Identifier: Apache-2.0
// Activations, loss and FSDP beside what PyTorch 2.15.0 keeps for torchtitan 0.3.0's and
// transformers 5.23.0's modules: distinct storages saved by one block of Llama 3 8B, and live bytes
// from the final hidden state to its gradient (shared storages once; FlashAttention on fake
// tensors). Left out: temporary tensors of AdamW, which are gone when the next forward pass begins.
#include <gtest/gtest.h>

#include "sim/layout/pipeline_shape.h"
#include "sim/layout/token_shape.h"
#include "sim/memory/activation_memory.h"
#include "sim/memory/memory.h"

namespace meshwright {
namespace {

Model llama_3_8b() {
  Model model;
  model.num_layers = 32;
  model.hidden_size = 4096;
  model.ffn_hidden_size = 14336;
  model.num_attention_heads = 32;
  model.num_query_groups = 8;
  model.kv_channels = 128;
  model.vocab_size = 128256;
  model.max_position_embeddings = 8192;
  model.activation = Activation::swiglu;
  model.normalization = Normalization::rms_norm;
  model.position_embedding = PositionEmbedding::rope;
  model.add_bias_linear = false;
  model.tied_embeddings = false;
  return model;
}

Job job_of(int seq_length, KernelFusion fusion) {
  Job job;
  job.seq_length = seq_length;
  job.kernel_fusion = fusion;
  job.make_vocab_size_divisible_by = 1;
  return job;
}

double block_bytes(const Job& job, const Layout& layout = {}) {
  return layer_activation_bytes(llama_3_8b(), {}, job, micro_batch_tokens(job, layout), layout,
                                layout.recompute_granularity == RecomputeGranularity::full)
      .value();
}

void expect_within(double ours, double theirs, double error) {
  EXPECT_NEAR(ours / theirs, 1.0, error) << ours << " for " << theirs;
}

TEST(FrameworkMemory, BlockOfTorchtitan) {
  Job job = job_of(8192, KernelFusion::eager);
  Layout layout;
  layout.tensor_engine = TensorEngine::spmd_types;
  expect_within(block_bytes(job, layout), 1381040152, 0.01);
  layout.recompute_granularity = RecomputeGranularity::full;
  expect_within(block_bytes(job, layout), 67108864, 1e-9);
  layout.recompute_granularity = RecomputeGranularity::selective;
  layout.recompute_modules = {kRecomputeOp};
  expect_within(block_bytes(job, layout), 537919512, 0.01);
  job.precision = Precision::fp32;
  layout.recompute_granularity = RecomputeGranularity::none;
  expect_within(block_bytes(job, layout), 2756771864, 0.01);
}

TEST(FrameworkMemory, BlockOfTransformers) {
  Job job = job_of(8192, KernelFusion::transformers);
  expect_within(block_bytes(job), 1649475608, 0.01);
  job.seq_length = 2048;
  job.attention_kernel = AttentionKernel::unfused;
  expect_within(block_bytes(job), 1242578944, 0.01);
  job.seq_length = 4096;
  expect_within(block_bytes(job), 4093673472, 0.01);
}

double head_peak(const Job& job) {
  const TokenShape tokens = micro_batch_tokens(job, Layout{});
  const LogitsBytes logits = logits_bytes(llama_3_8b(), job, tokens, {});
  const double hidden = 2.0 * job.seq_length * 4096;
  return hidden + logits.kept.value() + logits.beside.value();
}

// Entries E = 8192 x 128,256; a hidden state H of 67.1 MB. Plain 12 E + H; transformers 14 E + H;
// in 8 pieces 14 E / 8, the weight's gradient of 1.05 GB, and H with its gradient twice.
TEST(FrameworkMemory, HeadAndLoss) {
  Job job = job_of(8192, KernelFusion::eager);
  expect_within(head_peak(job), 12675186696, 1e-6);
  job.loss_chunks = 8;
  expect_within(head_peak(job), 3090677772, 1e-6);
  expect_within(head_peak(job_of(8192, KernelFusion::transformers)), 14776533000, 1e-6);
}

// A block of Qwen3 30B-A3B, 4,096 tokens, with grouped products of experts: 8 copies of a token
// before the experts and 8 after them.
TEST(FrameworkMemory, ExpertsOfTransformers) {
  Model model = llama_3_8b();
  model.hidden_size = 2048;
  model.num_query_groups = 4;
  model.qk_layernorm = true;
  model.moe = MixtureOfExperts{};
  model.moe->num_moe_experts = 128;
  model.moe->moe_router_topk = 8;
  model.moe->moe_ffn_hidden_size = 768;
  Job job = job_of(4096, KernelFusion::transformers);
  job.moe_load_imbalance = 1.0;
  const Bytes ours = layer_activation_bytes(model, {.mixture_of_experts = true}, job,
                                            micro_batch_tokens(job, Layout{}), {}, false);
  expect_within(ours.value(), 797229568, 0.01);
}

// Tensor parallelism over 4: DTensor keeps attention's and the MLP's gathered inputs, 2 x 2 b s h,
// where Megatron-LM keeps a rank's quarter.
TEST(FrameworkMemory, GatheredInputs) {
  const Job job = job_of(8192, KernelFusion::fused);
  Layout layout;
  layout.tensor_parallel_size = 4;
  layout.sequence_parallel = true;
  const double pieces = block_bytes(job, layout);
  layout.tensor_engine = TensorEngine::dtensor;
  EXPECT_EQ(block_bytes(job, layout) - pieces, 2 * 0.75 * 2.0 * 8192 * 4096);
}

struct FsdpStep {
  const char* name;
  int ranks, zero_stage, sequences, micro_batches;
  bool checkpoints, defers;
  FsdpVocabulary vocabulary;
  Precision precision;
  double peak;  // bytes beside sharded parameters and moments
};
constexpr FsdpVocabulary kRoot = FsdpVocabulary::root;
constexpr Precision kBf16 = Precision::bf16;
constexpr FsdpStep kFsdpSteps[] = {
    {"gathered again", 8, 3, 1, 1, false, false, kRoot, kBf16, 10924064872},
    {"weights kept", 8, 2, 1, 1, false, false, kRoot, kBf16, 12668895336},
    {"checkpoints", 8, 3, 1, 1, true, false, kRoot, kBf16, 8573157384},
    {"fp32", 8, 3, 1, 1, false, false, kRoot, Precision::fp32, 15541993576},
    {"units", 8, 3, 1, 1, false, false, FsdpVocabulary::units, kBf16, 9873391720},
    {"64 ranks", 64, 3, 1, 1, false, false, kRoot, kBf16, 10924064872},
    {"2 micro-batches", 8, 3, 1, 2, false, false, kRoot, kBf16, 11885609064},
    {"reduced once", 8, 3, 1, 2, false, true, kRoot, kBf16, 18616418408},
    {"2 sequences", 8, 3, 2, 1, true, false, kRoot, kBf16, 15044968456}};

// Second step of FSDP2 of four blocks without norms, 4,096 tokens, plain cross-entropy. The peak
// lies at the loss: 525 M logits of 12 bytes, the root's 2.1 GB (of units the head's half), 0.62 GB
// a block, and no gradient before the second micro-batch.
TEST(FrameworkMemory, StepsOfFsdp) {
  Model model = llama_3_8b();
  model.num_layers = 4;
  model.normalization = Normalization::none;
  for (const FsdpStep& step : kFsdpSteps) {
    SCOPED_TRACE(step.name);
    Job job = job_of(4096, KernelFusion::eager);
    job.precision = step.precision;
    job.global_batch_size = step.ranks * step.sequences * step.micro_batches;
    Layout layout;
    layout.data_parallel_size = step.ranks;
    layout.micro_batch_size = step.sequences;
    layout.zero_stage = step.zero_stage;
    layout.fsdp_unit = FsdpUnit::block;
    layout.fsdp_vocabulary = step.vocabulary;
    layout.tensor_engine = TensorEngine::spmd_types;
    layout.defer_grad_reduce = step.defers;
    if (step.checkpoints) layout.recompute_granularity = RecomputeGranularity::full;
    const Stage stage = pipeline_stages(model, layout).front();
    const StageMemory memory = stage_memory(model, job, layout, stage, 0);
    const double shards = 4 * stage_parameters(model, job, layout, stage).dense / step.ranks;
    expect_within((memory.allocated() - memory.optimizer).value() - shards, step.peak, 0.005);
  }
}

}  // namespace
}  // namespace meshwright
