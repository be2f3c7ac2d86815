// SPDX-License-Identifier: Apache-2.0
#include "sim/operators/operators.h"

#include <gtest/gtest.h>

#include "tests/unit/sim/operators/gpt3_layer.h"

namespace meshwright {
namespace {

TEST(Operators, OneLayerCosts24bsh2Plus4bs2hForward) {
  // Narayanan 2021, appendix: 24 b s h^2 + 4 b s^2 h, b = 1, s = 2048, h = 12288:
  // 24*2048*12288^2 = 7.421703487488e12; 4*2048^2*12288 = 2.06158430208e11.
  const auto ops = layer_operators(gpt3(), {}, job_2048(AttentionKernel::unfused), {});
  EXPECT_DOUBLE_EQ(forward_flops(ops).value(), 7.421703487488e12 + 2.06158430208e11);
}

// 96 heads of 12288 / 96 = 128; 113 heads of 108 are rows of 216 bytes, 13.5 times 16.
TEST(Operators, RowsAreAlignedWhereTheHeadsWidthIsAMultipleOfEight) {
  const Job job = job_2048(AttentionKernel::unfused);
  Model model = gpt3();
  EXPECT_TRUE(rows_are_aligned(find(layer_operators(model, {}, job, {}), "attention.scores")));
  model.kv_channels = 108;
  const auto ops = layer_operators(model, {}, job, {});
  EXPECT_FALSE(rows_are_aligned(find(ops, "attention.scores")));
  EXPECT_FALSE(rows_are_aligned(find(ops, "attention.context")));
}

TEST(Operators, TensorRanksShareAllProducts) {
  const Job job = job_2048(AttentionKernel::unfused);
  Layout split;
  split.tensor_parallel_size = 8;
  const Flops whole = forward_flops(layer_operators(gpt3(), {}, job, {}));
  const Flops shard = forward_flops(layer_operators(gpt3(), {}, job, split));
  EXPECT_DOUBLE_EQ(shard.value() * 8.0, whole.value());
}

TEST(Operators, FusedCausalAttentionComputesHalfOfTheScores) {
  // 4 b s^2 h / 2 = 2*2048^2*12288 = 1.03079215104e11.
  const auto ops = layer_operators(gpt3(), {}, job_2048(AttentionKernel::flash), {});
  EXPECT_DOUBLE_EQ(find(ops, "attention.core").forward_flops.value(), 1.03079215104e11);
}

// b = 1, a = 96, s = 2048: 96 * 2048^2 = 402,653,184 scores of 2 bytes. Under a causal mask forward
// reads half and writes all (1.5 touches), backward reads half of two and writes all (2).
TEST(Operators, FusedSoftmaxReadsOnlyTheLowerHalf) {
  Job job = job_2048(AttentionKernel::unfused);
  const auto ops = layer_operators(gpt3(), {}, job, {});
  EXPECT_DOUBLE_EQ(find(ops, "attention.softmax").forward_bytes.value(), 402653184.0 * 3.0);
  EXPECT_DOUBLE_EQ(find(ops, "attention.softmax").backward_bytes.value(), 402653184.0 * 4.0);
  job.causal = false;
  const auto full = layer_operators(gpt3(), {}, job, {});
  EXPECT_DOUBLE_EQ(find(full, "attention.softmax").forward_bytes.value(), 402653184.0 * 4.0);
}

// 96 heads over 32 ranks: 3 heads, no multiple of 4, so PyTorch's five kernels run: 6 + 8 + 8 + 8 +
// 6 bytes a score forward instead of 3. Two sequences more (b = 4): 12 heads, fused again.
TEST(Operators, SoftmaxIsFusedOnlyForBlocksOfFourHeads) {
  const Job job = job_2048(AttentionKernel::unfused);
  Layout layout;
  layout.tensor_parallel_size = 32;
  const auto softmax_bytes = [&] {
    double sum = 0;
    for (const Operator& op : layer_operators(gpt3(), {}, job, layout)) {
      if (op.kernel == kernel::kSoftmax) sum += op.forward_bytes.value();
    }
    return sum;
  };
  const double scores = 3.0 * 2048.0 * 2048.0;
  EXPECT_DOUBLE_EQ(softmax_bytes(), scores * 36.0);
  layout.micro_batch_size = 4;
  EXPECT_DOUBLE_EQ(softmax_bytes(), 4.0 * scores * 3.0);
}

TEST(Operators, SlidingWindowSeesWindowKeysAQuery) {
  // s = 2048, w = 512: pairs = s w - w^2/2 = 917504 a head; 4 * 96 heads * 128 * pairs.
  Model model = gpt3();
  model.sliding_window = 512;
  const LayerKind windowed{false, true};
  const auto ops = layer_operators(model, windowed, job_2048(AttentionKernel::flash), {});
  EXPECT_DOUBLE_EQ(find(ops, "attention.core").forward_flops.value(), 4.0 * 96 * 128 * 917504);
}

// Three sequences get one new token each beside 1,999 known ones. Read are 3 * 96 * 128 query
// numbers and 3 * 2000 * 96 * 256 of keys and values, written as many as queries: 147,529,728 of 2
// bytes. The new token sees 2000 keys less half of itself, 1999.5 pairs a head.
TEST(Operators, AttentionReadsKeysAndValuesByTheKeys) {
  const Job job = job_2048(AttentionKernel::flash);
  const auto ops = layer_operators(gpt3(), {}, job, {3, 1, 2000}, {});
  const Operator& core = find(ops, "attention.core");
  EXPECT_EQ(core.batch, 3 * 96);
  EXPECT_EQ(core.m, 1);
  EXPECT_EQ(core.n, 2000);
  EXPECT_DOUBLE_EQ(core.forward_bytes.value(), 2.0 * 147529728);
  EXPECT_DOUBLE_EQ(core.forward_flops.value(), 4.0 * 3 * 96 * 128 * 1999.5);
  EXPECT_EQ(find(ops, "attention.qkv").m, 3);
  EXPECT_EQ(find(ops, "mlp.fc1").m, 3);
}

// A window of 512. One token after 1,999 others sees 512. Of 400 tokens after 300 others the first
// see fewer, from 300 on: 400 * 512 - (512 - 300)^2 / 2 = 182,328 pairs. In chunks of 512 the one
// sees 1,999 - 3 * 512 and half of itself, and the 400 see (512^2 + 188^2 - 300^2) / 2 = 103,744.
TEST(Operators, NewTokensSeeTheWindowBeforeThem) {
  Model model = gpt3();
  model.sliding_window = 512;
  const LayerKind windowed{false, true};
  const Job job = job_2048(AttentionKernel::flash);
  const auto pairs = [&](const TokenShape& tokens) {
    const auto ops = layer_operators(model, windowed, job, tokens, {});
    return find(ops, "attention.core").forward_flops.value() / (4.0 * 96 * 128);
  };
  EXPECT_DOUBLE_EQ(pairs({1, 1, 2000}), 512.0);
  EXPECT_DOUBLE_EQ(pairs({1, 400, 700}), 182328.0);
  model.sliding_window_in_chunks = true;
  EXPECT_DOUBLE_EQ(pairs({1, 1, 2000}), 463.5);
  EXPECT_DOUBLE_EQ(pairs({1, 400, 700}), 103744.0);
}

TEST(Operators, GatedActivationDoublesTheFirstLinear) {
  Model model = gpt3();
  model.activation = Activation::swiglu;
  const auto ops = layer_operators(model, {}, job_2048(AttentionKernel::flash), {});
  EXPECT_EQ(find(ops, "mlp.fc1").n, 2 * 49152);
  EXPECT_EQ(find(ops, "mlp.fc2").k, 49152);
}

TEST(Operators, ColumnsOfSharedQueryGroupsAreSplitEvenlyAndWorkedOnByHead) {
  // 96 heads and 2 groups of 128 on 8 ranks: (96 + 2 * 2) * 128 / 8 = 1600 columns each. After the
  // gather a rank works on 12 query heads and one key head.
  Model model = gpt3();
  model.num_query_groups = 2;
  Layout layout;
  layout.tensor_parallel_size = 8;
  const auto ops = layer_operators(model, {}, job_2048(AttentionKernel::flash), layout);
  EXPECT_EQ(find(ops, "attention.qkv").n, 1600);
  EXPECT_EQ(find(ops, "attention.core").batch, 12);
}

TEST(Operators, AModelWithoutAttentionIsTwoLinears) {
  Model toy;
  toy.num_layers = 1;
  toy.hidden_size = 10000;
  toy.ffn_hidden_size = 3200;
  toy.normalization = Normalization::none;
  toy.activation = Activation::relu;
  const auto ops = layer_operators(toy, {}, job_2048(AttentionKernel::flash), {});
  ASSERT_EQ(ops.size(), 3U);
  EXPECT_EQ(ops[0].name, "mlp.fc1");
  EXPECT_EQ(ops[2].name, "mlp.fc2");
  EXPECT_TRUE(embedding_operators(toy, job_2048(AttentionKernel::flash), {}).empty());
}

TEST(Operators, SelectiveRecomputeRunsOnlyTheModulesAskedFor) {
  Layout layout;
  layout.recompute_granularity = RecomputeGranularity::selective;
  layout.recompute_modules = {kRecomputeCoreAttention};
  for (const Operator& op :
       layer_operators(gpt3(), {}, job_2048(AttentionKernel::unfused), layout)) {
    const double share = op.module == Module::core_attention ? 1.0 : 0.0;
    EXPECT_EQ(recomputed_share(op, layout, false), share) << op.name;
    EXPECT_EQ(recomputed_share(op, layout, true), 1.0);
  }
}

// The operators that are run again, in their order.
std::string run_again(const Model& model, LayerKind kind, unsigned modules) {
  Layout layout;
  layout.recompute_granularity = RecomputeGranularity::selective;
  layout.recompute_modules = {static_cast<std::uint8_t>(modules)};
  std::string names;
  for (const Operator& op :
       layer_operators(model, kind, job_2048(AttentionKernel::flash), layout)) {
    if (recomputed_share(op, layout, false) == 0.0) continue;
    names.append(names.empty() ? "" : " ").append(op.name);
  }
  return names;
}

Model with_experts() {
  Model model = gpt3();
  model.moe = MixtureOfExperts{.num_moe_experts = 8,
                               .moe_router_topk = 2,
                               .moe_ffn_hidden_size = 1024,
                               .moe_shared_expert_intermediate_size = 1024};
  return model;
}

// Transformer Engine does a dense layer's norms in one module with the linears after them.
TEST(Operators, ADenseLayersNormsAreRunAgainWithItsMlpOnly) {
  EXPECT_EQ(run_again(gpt3(), {}, kRecomputeLayerNorm), "");
  EXPECT_EQ(run_again(gpt3(), {}, kRecomputeMlp), "mlp_norm mlp.fc1 mlp.activation mlp.fc2");
  EXPECT_EQ(run_again(gpt3(), {}, kRecomputeMoe | kRecomputeMoeActivation), "");
}

// Megatron-LM core/transformer/moe/moe_layer.py: the checkpoint takes the norm's output.
TEST(Operators, ALayerOfExpertsIsRunAgainInPartsOrWhole) {
  const LayerKind experts{true, false};
  EXPECT_EQ(run_again(with_experts(), experts, kRecomputeMlp), "");
  EXPECT_EQ(run_again(with_experts(), experts, kRecomputeLayerNorm), "mlp_norm");
  EXPECT_EQ(run_again(with_experts(), experts, kRecomputeMoeActivation), "experts.activation");
  EXPECT_EQ(run_again(with_experts(), experts, kRecomputeSharedExperts),
            "shared_expert.fc1 shared_expert.activation shared_expert.fc2");
  EXPECT_EQ(run_again(with_experts(), experts, kRecomputeMoe),
            "router experts.permute experts.fc1 experts.activation experts.fc2 experts.unpermute "
            "shared_expert.fc1 shared_expert.activation shared_expert.fc2");
}

TEST(Operators, LatentsAreProjectedUpAgainWithNormsAndRotation) {
  Model model = gpt3();
  model.position_embedding = PositionEmbedding::rope;
  model.mla = LatentAttention{};
  model.mla->q_lora_rank = 1536;
  EXPECT_EQ(run_again(model, {}, kRecomputeMlaUpProjection),
            "attention.q_norm attention.q_up attention.kv_norm attention.kv_up attention.rotary");
  EXPECT_EQ(run_again(model, {}, kRecomputeLayerNorm), "input_norm");
}

TEST(Operators, BlockRecomputeCountsLayersAndUniformTakesAll) {
  Layout layout;
  EXPECT_EQ(fully_recomputed_layers(layout, 12), 0);
  layout.recompute_granularity = RecomputeGranularity::full;
  EXPECT_EQ(fully_recomputed_layers(layout, 12), 12);
  layout.recompute_method = RecomputeMethod::block;
  layout.recompute_num_layers = 5;
  EXPECT_EQ(fully_recomputed_layers(layout, 12), 5);
  EXPECT_EQ(fully_recomputed_layers(layout, 3), 3);
}

TEST(ModelFlops, EqualsNarayanansFormulaWithoutRecompute) {
  // 72 B s l h^2 (1 + s/(6h) + V/(12 l h)) for forward + backward with full attention:
  // B = 1536, s = 2048, l = 96, h = 12288, V = 51200.
  const double b = 1536;
  const double s = 2048;
  const double l = 96;
  const double h = 12288;
  const double v = 51200;
  const double expected = 72 * b * s * l * h * h * (1 + s / (6 * h) + v / (12 * l * h));
  EXPECT_NEAR(model_flops(gpt3(), job_2048(AttentionKernel::flash), false).value() / expected, 1.0,
              1e-12);
}

// A gate is one matrix of h x f more: 2 FLOPs forward and 4 backward a number and token.
TEST(ModelFlops, AGatedMlpHasThreeMatrices) {
  const Job job = job_2048(AttentionKernel::flash);
  Model gated = gpt3();
  gated.activation = Activation::swiglu;
  const double gate = 6.0 * 1536 * 2048 * 96 * 12288 * gated.ffn_hidden_size;
  const double more =
      model_flops(gated, job, false).value() - model_flops(gpt3(), job, false).value();
  EXPECT_NEAR(more / gate, 1.0, 1e-9);
}

TEST(ModelFlops, CausalHalvesTheAttentionPartOnly) {
  const Job job = job_2048(AttentionKernel::flash);
  // Attention forward + backward: 3 * 4 s^2 h l per sequence.
  const double attention = 12.0 * 2048 * 2048 * 12288 * 96 * 1536;
  const double full = model_flops(gpt3(), job, false).value();
  EXPECT_NEAR((full - model_flops(gpt3(), job, true).value()) / (attention / 2), 1.0, 1e-9);
}

// fp8, b*s = 2048 rows, h = 12288: the projection's input and its output's gradient, 2048*h each,
// are read in 2 bytes and written twice in 1. fc1's input comes as fp8 from the norm; its output's
// gradient has 4h columns.
TEST(Operators, Fp8CastsWhatALinearTakes) {
  Job job = job_2048(AttentionKernel::flash);
  EXPECT_THROW(find(layer_operators(gpt3(), {}, job, {}), "mlp.quantize_fc1"), std::out_of_range);
  job.precision = Precision::fp8;
  const auto ops = layer_operators(gpt3(), {}, job, {});
  const double one = 2048.0 * 12288 * (2 + 2 * 1);
  EXPECT_EQ(find(ops, "attention.quantize_projection").forward_bytes, bytes(one));
  EXPECT_EQ(find(ops, "attention.quantize_projection").backward_bytes, bytes(one));
  EXPECT_EQ(find(ops, "mlp.quantize_fc1").forward_bytes, bytes(0));
  EXPECT_EQ(find(ops, "mlp.quantize_fc1").backward_bytes, bytes(4 * one));
}

double cast_bytes(const Job& job, std::string_view name, bool forward) {
  const auto ops = layer_operators(gpt3(), {}, job, {});
  const Operator& op = find(ops, name);
  return (forward ? op.forward_bytes : op.backward_bytes).value() / (2048.0 * 12288);
}

// Bytes a number. Per-tensor recipes write 1 by rows and 1 by columns, on Blackwell 1 for both;
// blocks of 128 have 4 bytes of scale, of 32 one, of 16 (fp4, half a byte a number) one. Two reads
// of 2 bytes where the largest number is sought first; after a norm, which has found it, one, and
// with delayed scaling nothing.
TEST(Operators, CastsAreTheRecipes) {
  Job job = job_2048(AttentionKernel::flash);
  job.precision = Precision::fp8;
  const auto expect = [&](std::optional<Fp8Recipe> recipe, bool any_layout, double cast,
                          double after_norm) {
    job.fp8_recipe = recipe;
    job.operands_in_any_layout = any_layout;
    EXPECT_DOUBLE_EQ(cast_bytes(job, "attention.quantize_projection", true), cast);
    EXPECT_DOUBLE_EQ(cast_bytes(job, "attention.quantize_projection", false), cast);
    EXPECT_DOUBLE_EQ(cast_bytes(job, "mlp.quantize_fc1", true), after_norm);
    EXPECT_DOUBLE_EQ(cast_bytes(job, "mlp.quantize_fc1", false), 4 * cast);
  };
  expect(std::nullopt, false, 2 + 2, 0);
  expect(Fp8Recipe::delayed, true, 2 + 1, 0);
  expect(Fp8Recipe::tensorwise, false, 4 + 2, 2 + 2);
  expect(Fp8Recipe::tensorwise, true, 4 + 1, 2 + 1);
  expect(Fp8Recipe::blockwise, false, 2 + 2 * (1 + 4.0 / 128), 2 + 2 * (1 + 4.0 / 128));
  expect(Fp8Recipe::mxfp8, true, 2 + 2 * (1 + 1.0 / 32), 2 + 2 * (1 + 1.0 / 32));
  job.precision = Precision::fp4;
  expect(std::nullopt, true, 4 + 2 * (0.5 + 1.0 / 16), 2 + 2 * (0.5 + 1.0 / 16));
}

// 2,048 tokens, 96 heads and as many groups of 128: queries and keys of 2 bytes, 12 and 14 times
// instead of twice.
TEST(Operators, ScaledRotationsAreOperatorsOfPyTorch) {
  Model model = gpt3();
  model.position_embedding = PositionEmbedding::rope;
  const Job job = job_2048(AttentionKernel::flash);
  const double numbers = 2048.0 * 2 * 96 * 128;
  EXPECT_DOUBLE_EQ(
      find(layer_operators(model, {}, job, {}), "attention.rotary").forward_bytes.value(),
      2 * 2 * numbers);
  model.rotary_mscale = 1.35;
  const auto ops = layer_operators(model, {}, job, {});
  EXPECT_DOUBLE_EQ(find(ops, "attention.rotary").forward_bytes.value(), 12 * 2 * numbers);
  EXPECT_DOUBLE_EQ(find(ops, "attention.rotary").backward_bytes.value(), 14 * 2 * numbers);
}

// 4,096 rows of 2 x 1,024 columns: kept in 1 byte instead of 2, cast there and back.
TEST(Operators, GatedActivationsMayKeepTheirInputInFp8) {
  Job job = job_2048(AttentionKernel::flash);
  const auto of = [&](std::string_view name) {
    return find(layer_operators(eight_experts(), {true, false}, job, {}), name);
  };
  job.moe_load_imbalance = 1.0;
  const double input = 4096.0 * 2048;
  EXPECT_DOUBLE_EQ(of("experts.fc1").saved.value(), 2 * input);
  const Bytes before = of("experts.activation").forward_bytes;
  job.activation_func_fp8_input_store = true;
  EXPECT_DOUBLE_EQ(of("experts.fc1").saved.value(), input);
  EXPECT_DOUBLE_EQ((of("experts.activation").forward_bytes - before).value(), 3 * input);
}

// 2,048 tokens of 96 heads of 128, as many keys and values: 3 x 12,288 numbers wait in 1 byte
// instead of 2. The output waits in 1 byte for attention and in 1 for the projection. Casts read 2
// bytes and write 1 of the three and the output, and the same backward.
TEST(Operators, AttentionInFp8KeepsAndCastsFp8Numbers) {
  Job job = job_2048(AttentionKernel::flash);
  job.precision = Precision::fp8;
  const auto of = [&](std::string_view name) {
    return find(layer_operators(gpt3(), {}, job, {}), name);
  };
  const double numbers = 2048.0 * 12288;
  EXPECT_DOUBLE_EQ(of("attention.qkv").saved.value(), 3 * numbers * 2);
  EXPECT_DOUBLE_EQ(of("attention.projection").saved.value(), numbers * (2 + 1));
  EXPECT_FALSE(of("attention.core").narrow);
  job.fp8_dot_product_attention = true;
  EXPECT_DOUBLE_EQ(of("attention.qkv").saved.value(), 3 * numbers);
  EXPECT_DOUBLE_EQ(of("attention.projection").saved.value(), numbers * (1 + 1));
  EXPECT_TRUE(of("attention.core").narrow);
  EXPECT_DOUBLE_EQ(of("attention.quantize_core").forward_bytes.value(), 4 * numbers * 3);
  EXPECT_DOUBLE_EQ(of("attention.quantize_core").backward_bytes.value(), 4 * numbers * 3);
}

// The projection's weight has 12,288^2 numbers: a byte of each is read and one written before the
// input gradient.
TEST(Operators, AWeightWithoutATransposedCopyIsTransposedBackward) {
  Job job = job_2048(AttentionKernel::flash);
  job.precision = Precision::fp8;
  const auto backward = [&] {
    return find(layer_operators(gpt3(), {}, job, {}), "attention.quantize_projection")
        .backward_bytes.value();
  };
  const double cached = backward();
  job.disable_parameter_transpose_cache = true;
  EXPECT_DOUBLE_EQ(backward() - cached, 2.0 * 12288 * 12288);
}

// The fullest rank keeps so much more of its experts' tokens; full buffers hold no more.
TEST(Operators, TheFullestRankKeepsMore) {
  Model model = eight_experts();
  Job job = job_2048(AttentionKernel::flash);
  job.moe_load_imbalance = 1.5;
  const auto kept = [&] {
    return find(layer_operators(model, {true, false}, job, {}), "experts.permute").saved.value();
  };
  EXPECT_DOUBLE_EQ(kept(), 1.5 * 4096 * model.hidden_size * 2);
  model.moe->moe_expert_capacity_factor = 1.25;
  EXPECT_DOUBLE_EQ(kept(), 1.25 * 4096 * model.hidden_size * 2);
}

TEST(Operators, Fp8LeavesAttentionRouterAndOutputLinearIn16Bits) {
  Job job = job_2048(AttentionKernel::flash);
  job.precision = Precision::fp8;
  const auto layer = layer_operators(gpt3(), {}, job, {});
  const auto head = head_operators(gpt3(), job, {});
  EXPECT_EQ(compute_precision(find(layer, "mlp.fc1"), Precision::fp8), Precision::fp8);
  EXPECT_EQ(compute_precision(find(layer, "attention.core"), Precision::fp8), Precision::bf16);
  EXPECT_EQ(compute_precision(find(head, "logits"), Precision::fp8), Precision::bf16);
  EXPECT_EQ(compute_precision(find(layer, "attention.core"), Precision::fp16), Precision::fp16);
}

}  // namespace
}  // namespace meshwright
