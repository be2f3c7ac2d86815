// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <utility>

#include "tests/unit/sim/operators/gpt3_layer.h"

namespace meshwright {
namespace {

TEST(ExpertOperators, BalancedExpertsSeeTopkTokensOverAllExperts) {
  Model model = gpt3();
  model.moe =
      MixtureOfExperts{.num_moe_experts = 8, .moe_router_topk = 2, .moe_ffn_hidden_size = 1024};
  Layout layout;
  layout.expert_parallel_size = 4;
  layout.data_parallel_size = 4;
  const LayerKind expert{true, false};
  const auto ops = layer_operators(model, expert, job_2048(AttentionKernel::flash), layout);
  // 2048 tokens * 2 copies on each rank; 8/4 = 2 local experts: 2048 rows each.
  EXPECT_EQ(find(ops, "experts.fc1").batch, 2);
  EXPECT_EQ(find(ops, "experts.fc1").m, 2048);
}

// Every expert's buffer is filled to 1.25 of the balanced 2048 rows.
TEST(ExpertOperators, ACapacityFactorFillsTheExpertsBuffers) {
  Model model = gpt3();
  model.moe = MixtureOfExperts{.num_moe_experts = 8,
                               .moe_router_topk = 2,
                               .moe_ffn_hidden_size = 1024,
                               .moe_expert_capacity_factor = 1.25};
  Layout layout;
  layout.expert_parallel_size = 4;
  layout.data_parallel_size = 4;
  const auto ops = layer_operators(model, {true, false}, job_2048(AttentionKernel::flash), layout);
  EXPECT_EQ(find(ops, "experts.fc1").m, 2560);
}

// Gathered tokens are not padded: the balanced 2048 rows. A factor of a half drops half of them.
TEST(ExpertOperators, GatheredTokensAreDroppedButNotPadded) {
  Model model = eight_experts();
  Layout layout;
  layout.expert_parallel_size = layout.data_parallel_size = 4;
  layout.moe_token_dispatcher_type = MoeTokenDispatcherType::allgather;
  for (const auto& [factor, rows] : {std::pair{1.25, 2048}, std::pair{0.5, 1024}}) {
    model.moe->moe_expert_capacity_factor = factor;
    const auto ops =
        layer_operators(model, {true, false}, job_2048(AttentionKernel::flash), layout);
    EXPECT_EQ(find(ops, "experts.fc1").m, rows) << factor;
  }
}

double permuted_bytes(MoeTokenDispatcherType type, MoeFlexDispatcherBackend backend) {
  Layout layout;
  layout.expert_parallel_size = layout.data_parallel_size = 4;
  layout.moe_token_dispatcher_type = type;
  layout.moe_flex_dispatcher_backend = backend;
  const auto ops =
      layer_operators(eight_experts(), {true, false}, job_2048(AttentionKernel::flash), layout);
  return find(ops, "experts.permute").forward_bytes.value() / (2.0 * gpt3().hidden_size);
}

// 2,048 tokens, 4,096 copies, 2 experts a rank. alltoall reads the tokens and writes the copies,
// then sorts as many by expert; DeepEP delivers 4 (1 - C(6, 2) / C(8, 2)) = 52/28 rows a token;
// HybridEP permutes as it copies.
TEST(ExpertOperators, PermutationIsTheDispatchers) {
  using enum MoeTokenDispatcherType;
  using enum MoeFlexDispatcherBackend;
  EXPECT_DOUBLE_EQ(permuted_bytes(alltoall, deepep), 2048 + 4096 + 2 * 4096);
  EXPECT_DOUBLE_EQ(permuted_bytes(allgather, deepep), 2 * 4096);
  EXPECT_NEAR(permuted_bytes(flex, deepep), 2048 * 52.0 / 28.0 + 4096, 1e-6);
  EXPECT_DOUBLE_EQ(permuted_bytes(flex, hybridep), 0);
}

// 4,096 rows of 1,024 gated columns and of h outputs, in 2 bytes: the clamp touches 8 and 10 times
// 2 bytes, the bias 28 and 40; fused in a graph of the whole step.
TEST(ExpertOperators, ClampAndBiasOfExpertsAreKernelsOfTheirOwn) {
  Model model = eight_experts();
  model.activation_func_clamp_value = 7.0;
  model.moe->moe_expert_bias = true;
  Layout layout;
  const auto ops = layer_operators(model, {true, false}, job_2048(AttentionKernel::flash), layout);
  const double hidden = 4096.0 * 1024, outputs = 4096.0 * model.hidden_size;
  EXPECT_DOUBLE_EQ(find(ops, "experts.clamp").forward_bytes.value(), 16 * hidden);
  EXPECT_DOUBLE_EQ(find(ops, "experts.clamp").backward_bytes.value(), 20 * hidden);
  EXPECT_DOUBLE_EQ(find(ops, "experts.bias").forward_bytes.value(), 28 * outputs);
  EXPECT_DOUBLE_EQ(find(ops, "experts.bias").backward_bytes.value(), 40 * outputs);
  EXPECT_EQ(find(ops, "experts.bias").launches, 2 * 8 + 2);
  layout.cuda_graph_impl = CudaGraphImpl::full_iteration;
  const auto fused =
      layer_operators(model, {true, false}, job_2048(AttentionKernel::flash), layout);
  EXPECT_EQ(fused.size(), ops.size() - 1);  // both less, the stash of what is kept more
}

// 4,096 rows of 1,024 gated columns, 2 bytes: forward reads gate and up and writes their product, 3
// touches; backward reads dy, gate and up and writes two gradients, 5, and reads the three again
// for the gradients of the rows' probabilities, 8. A shared expert's rows are not weighed.
TEST(ExpertOperators, RowsOfExpertsAreWeighed) {
  Model model = eight_experts();
  model.moe->moe_shared_expert_intermediate_size = 1024;
  const auto ops = layer_operators(model, {true, false}, job_2048(AttentionKernel::flash), {});
  const double hidden = 4096.0 * 1024;
  EXPECT_DOUBLE_EQ(find(ops, "experts.activation").forward_bytes.value(), 3 * 2 * hidden);
  EXPECT_DOUBLE_EQ(find(ops, "experts.activation").backward_bytes.value(), 8 * 2 * hidden);
  EXPECT_DOUBLE_EQ(find(ops, "shared_expert.activation").backward_bytes.value(),
                   find(ops, "shared_expert.activation").forward_bytes.value() * 5 / 3);
}

// In a graph of the whole step products of scaled blocks activate and cast what they put out: fc1's
// input and fc2's output gradient are still cast by kernels.
TEST(ExpertOperators, ScaledBlocksActivateInTheirProducts) {
  Job job = job_2048(AttentionKernel::flash);
  job.precision = Precision::fp8;
  job.fp8_recipe = Fp8Recipe::mxfp8;
  Layout layout;
  layout.cuda_graph_impl = CudaGraphImpl::full_iteration;
  const auto ops = layer_operators(eight_experts(), {true, false}, job, layout);
  EXPECT_EQ(find(ops, "experts.activation").forward_bytes, Bytes{});
  EXPECT_EQ(find(ops, "experts.activation").backward_bytes, Bytes{});
  EXPECT_EQ(find(ops, "experts.quantize_fc2").forward_bytes, Bytes{});
  EXPECT_EQ(find(ops, "experts.quantize_fc1").backward_bytes, Bytes{});
  EXPECT_GT(find(ops, "experts.quantize_fc1").forward_bytes, Bytes{});
  EXPECT_GT(find(ops, "experts.quantize_fc2").backward_bytes, Bytes{});
}

}  // namespace
}  // namespace meshwright
