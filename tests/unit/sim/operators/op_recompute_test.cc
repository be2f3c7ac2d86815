// SPDX-License-Identifier: Apache-2.0
// A block of Llama 3 8B (h 4096, k and v 1024, f 14336, 32 heads) with 8,192 tokens in bf16 under
// torchtitan's op-level recompute. Its products are q, k, v, o, gate, up, down: every second one,
// k, o and up, runs again.
#include <gtest/gtest.h>

#include "sim/memory/activation_memory.h"
#include "sim/operators/operators.h"
#include "tests/unit/llama_model.h"

namespace meshwright {
namespace {

constexpr double kTokens = 8192, kHidden = 4096, kKeys = 1024, kWidth = 14336, kHeads = 32;

Job job_of(KernelFusion fusion) {
  Job job;
  job.seq_length = 8192;
  job.kernel_fusion = fusion;
  return job;
}

Layout by_op(int tensor = 1) {
  Layout layout;
  layout.tensor_parallel_size = tensor;
  layout.sequence_parallel = tensor > 1;
  layout.recompute_granularity = RecomputeGranularity::selective;
  layout.recompute_modules = {kRecomputeOp};
  return layout;
}

double kept(const Job& job, const Layout& layout) {
  return layer_activation_bytes(llama_model(), {}, job, micro_batch_tokens(job, layout), layout,
                                false)
      .value();
}

double gemm_flops_again(const Job& job, const Layout& layout) {
  double sum = 0.0;
  for (const Operator& op : layer_operators(llama_model(), {}, job, layout)) {
    if (op.kind != OperatorKind::gemm) continue;
    sum += op.forward_flops.value() * recomputed_share(op, layout, false);
  }
  return sum;
}

// Input, q, attention's output: h each; v: 1024; gate: f. And the log-sum-exp in fp32 a head.
TEST(OpRecompute, KeepsTheListedOutputsAndTheInput) {
  const double expected = 2 * kTokens * (3 * kHidden + kKeys + kWidth) + 4 * kTokens * kHeads;
  EXPECT_EQ(kept(job_of(KernelFusion::compiled), by_op()), expected);
}

// Products that run again: k (h x 1024), o (h x h), up (h x f).
TEST(OpRecompute, RunsEverySecondProductAgain) {
  EXPECT_EQ(gemm_flops_again(job_of(KernelFusion::compiled), by_op()),
            2 * kTokens * kHidden * (kKeys + kHidden + kWidth));
}

// The last product's output, which backward does not need: the compiler drops it.
TEST(OpRecompute, EagerHoldsTheLastOutputToo) {
  EXPECT_EQ(
      kept(job_of(KernelFusion::eager), by_op()) - kept(job_of(KernelFusion::compiled), by_op()),
      2 * kTokens * kHidden);
}

// Eight tensor ranks: an eighth of all of it, and the reduce-scattered output of attention, whose
// product is then not needed again.
TEST(OpRecompute, TensorRanksKeepTheReduceScatter) {
  const Job job = job_of(KernelFusion::compiled);
  EXPECT_EQ(kept(job, by_op(8)), kept(job, by_op()) / 8 + 2 * kTokens * kHidden / 8);
  EXPECT_EQ(gemm_flops_again(job, by_op(8)), 2 * kTokens * kHidden * (kKeys + kWidth) / 8);
}

// Products in fp8 put out bf16; their operands are cast again.
TEST(OpRecompute, NarrowOperandsAreNotKept) {
  Job job = job_of(KernelFusion::compiled);
  const double in_16_bits = kept(job, by_op());
  job.precision = Precision::fp8;
  EXPECT_EQ(kept(job, by_op()), in_16_bits);
}

TEST(OpRecompute, KeepsLessThanNoneAndMoreThanFull) {
  const Job job = job_of(KernelFusion::compiled);
  Layout full;
  const Bytes whole = layer_input_bytes(llama_model(), job, micro_batch_tokens(job, full), full);
  EXPECT_GT(kept(job, by_op()), whole.value());
  EXPECT_LT(kept(job, by_op()), kept(job, Layout{}));
}

// Experts are grouped products, which the list does not have: nothing of theirs waits.
TEST(OpRecompute, ExpertsRunAgain) {
  Model model = llama_model();
  model.moe = MixtureOfExperts{};
  model.moe->num_moe_experts = 8;
  model.moe->moe_router_topk = 2;
  model.moe->moe_ffn_hidden_size = 14336;
  const Job job = job_of(KernelFusion::compiled);
  for (const Operator& op : layer_operators(model, layer_kind(model, 0), job, by_op())) {
    if (!op.of_expert && op.module != Module::router) continue;
    EXPECT_EQ(kept_bytes(op, by_op()).value(), 0.0) << op.name;
    EXPECT_EQ(recomputed_share(op, by_op(), false), 1.0) << op.name;
  }
}

}  // namespace
}  // namespace meshwright
