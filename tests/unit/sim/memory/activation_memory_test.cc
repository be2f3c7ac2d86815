// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/activation_memory.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "korthikanti.h"
#include "sim/memory/unit_bytes.h"
#include "sim/schedule/in_flight.h"

namespace meshwright {
namespace {

// The most that a stage holds for backward in any state, logits apart.
Bytes held_bytes(const PublishedRun& setup, const Layout& layout, const Stage& stage) {
  Bytes most;
  const auto states = in_flight_states(
      layout.schedule,
      {layout.pipeline_parallel_size, num_micro_batches(setup.job.global_batch_size, layout),
       int(stage.chunks.size())},
      0);
  for (const InFlightState& state : states) {
    Bytes sum;
    for (std::size_t c = 0; c < stage.chunks.size(); ++c) {
      const auto one = chunk_activations({setup.model, setup.job, layout}, stage, c);
      sum += double(state.held[c].whole) * one.whole;
    }
    most = std::max(most, sum);
  }
  return most;
}

// One micro-batch, all chunks.
Bytes kept_by_stage(const PublishedRun& setup, const Stage& stage) {
  Bytes sum;
  for (std::size_t c = 0; c < stage.chunks.size(); ++c) {
    sum += chunk_activations(setup, stage, c).whole;
  }
  return sum;
}

// Bytes of one layer in units of s*b*h.
double layer_over_sbh(const PublishedRun& setup, bool fully_recomputed = false) {
  const double sbh =
      double(setup.job.seq_length) * setup.layout.micro_batch_size * setup.model.hidden_size;
  return layer_activation_bytes(setup.model, LayerKind{}, setup.job,
                                micro_batch_tokens(setup.job, setup.layout), setup.layout,
                                fully_recomputed) /
         bytes(sbh);
}

// 22B: 5as/h = 5 * 64 * 2048 / 6144 = 106.667.
constexpr double kScores = 5.0 * 64 * 2048 / 6144;

// Korthikanti 2022, equation 1.
TEST(LayerActivations, OneRankKeeps34AndTheScores) {
  PublishedRun setup = korthikanti_22b();
  setup.layout.tensor_parallel_size = 1;
  EXPECT_DOUBLE_EQ(layer_over_sbh(setup), 34 + kScores);
}

// Equation 2: of the 34, 10 are whole on each tensor rank.
TEST(LayerActivations, TensorParallelismDividesAllBut10) {
  EXPECT_DOUBLE_EQ(layer_over_sbh(korthikanti_22b()), 10 + 24.0 / 8 + kScores / 8);
}

// Equation 4.
TEST(LayerActivations, SequenceParallelismDividesEverything) {
  PublishedRun setup = korthikanti_22b();
  setup.layout.sequence_parallel = true;
  EXPECT_DOUBLE_EQ(layer_over_sbh(setup), (34 + kScores) / 8);
}

// Table 2: selective recompute drops the scores; full recompute keeps the input.
TEST(LayerActivations, RecomputeKeepsTable2) {
  PublishedRun setup = korthikanti_22b();
  setup.layout.recompute_granularity = RecomputeGranularity::selective;
  EXPECT_DOUBLE_EQ(layer_over_sbh(setup), 10 + 24.0 / 8);
  setup.layout.sequence_parallel = true;
  EXPECT_DOUBLE_EQ(layer_over_sbh(setup), 34.0 / 8);
  EXPECT_DOUBLE_EQ(layer_over_sbh(setup, true), 2.0 / 8);
  setup.layout.sequence_parallel = false;
  EXPECT_DOUBLE_EQ(layer_over_sbh(setup, true), 2.0);
}

// RMSNorm, no dropout, fused attention, SwiGLU, grouped queries: sbh(12 + 4r + 6f/h) and 4 bytes of
// log-sum-exp a head and position. Llama-3-8B: h 4096, f 14336 = 3.5h, r = 8/32: 12 + 1 + 21 = 34,
// and 4 * 32 / 4096 = 1/32.
TEST(LayerActivations, AModernBlock) {
  PublishedRun setup = modern_layer();
  setup.job.seq_length = 8192;
  EXPECT_DOUBLE_EQ(layer_over_sbh(setup), 34 + 1.0 / 32);
  setup.layout.context_parallel_size = 4;
  EXPECT_DOUBLE_EQ(layer_over_sbh(setup), (34 + 1.0 / 32) / 4);
}

// fp8: the linears' inputs are kept in 1 byte; attention's output in 2 for itself beside them.
TEST(LayerActivations, Fp8KeepsItsOperands) {
  PublishedRun setup = korthikanti_22b();
  setup.layout.tensor_parallel_size = 1;
  setup.job.attention_kernel = AttentionKernel::flash;
  setup.job.dropout = false;
  setup.job.precision = Precision::bf16;
  const double wide = layer_over_sbh(setup);
  setup.job.precision = Precision::fp8;
  // Norm outputs 2 * 1 less, GELU's output 4 less, attention's output 1 more.
  EXPECT_DOUBLE_EQ(layer_over_sbh(setup), wide - 2 - 4 + 1);
}

// Korthikanti 2022, figure 1, first stage, layers only, GiB: without recompute and sequence
// parallelism, and with both. 175B: 2*7 + 2*8 + 1 = 31 chunks of 4 layers in flight,
// 124 * 2048 * 12288 * (10 + 3 + 80/8) / 2^30 = 66.84; 530B: 139 chunks of one layer; 1T: 64
// micro-batches of 2 layers.
TEST(StageActivations, AreKorthikantis) {
  struct Row {
    PublishedRun setup;
    double none, sequence_and_selective;
  };
  for (auto& [setup, none, selective] :
       {Row{korthikanti_22b(), 59.25, 9.56}, Row{korthikanti_175b(), 66.84, 12.35},
        Row{korthikanti_530b(), 114.02, 23.08}, Row{korthikanti_1t(), 131.25, 26.56}}) {
    Layout layout = setup.layout;
    const Stage stage = layers_only(setup);
    const auto activations = [&] { return in_gibibytes(held_bytes(setup, layout, stage)); };
    EXPECT_NEAR(activations(), none, 0.005);  // two decimals are published
    layout.sequence_parallel = true;
    layout.recompute_granularity = RecomputeGranularity::selective;
    EXPECT_NEAR(activations(), selective, 0.005);
  }
}

// 48 layers, a checkpoint every 6: 8 inputs of 2sbh kept.
TEST(StageActivations, UniformRecomputeKeepsOneInputAGroup) {
  PublishedRun setup = korthikanti_22b();
  setup.layout.recompute_granularity = RecomputeGranularity::full;
  const Stage stage = layers_only(setup);
  const Bytes input = layer_input_bytes(setup.model, setup.job,
                                        micro_batch_tokens(setup.job, setup.layout), setup.layout);
  EXPECT_EQ(kept_by_stage(setup, stage), 48 * input);
  setup.layout.recompute_num_layers = 6;
  EXPECT_EQ(kept_by_stage(setup, stage), 8 * input);
}

// The block method recomputes the first 6 of 48 layers and keeps the other 42 whole.
// Qwen3-235B's layer of experts, top 8 of 128, h 4096, f 1536, in bytes a token of its 4096. Kept
// of the MLP: top 8 x (2h permuted + 4f gate and up + 2f activated) = 139,264, 4 x 128 scores, 2h
// of the norm; no rank fuller than others.
class ExpertActivations : public ::testing::Test {
 protected:
  ExpertActivations() {
    model_.num_layers = 1;
    model_.hidden_size = 4096;
    model_.num_attention_heads = model_.num_query_groups = 64;
    model_.kv_channels = 128;
    model_.activation = Activation::swiglu;
    model_.moe = MixtureOfExperts{};
    model_.moe->num_moe_experts = 128;
    model_.moe->moe_router_topk = 8;
    model_.moe->moe_ffn_hidden_size = 1536;
    job_.moe_load_imbalance = 1.0;
  }
  [[nodiscard]] double kept(unsigned modules) const {
    Layout layout;
    layout.recompute_granularity = RecomputeGranularity::selective;
    layout.recompute_modules = {static_cast<std::uint8_t>(modules)};
    return layer_activation_bytes(model_, {true, false}, job_, micro_batch_tokens(job_, layout),
                                  layout, false)
               .value() /
           4096;
  }
  Model model_;
  Job job_;
};

TEST_F(ExpertActivations, RecomputeFreesWhatItsModuleKeeps) {
  EXPECT_EQ(kept(0) - kept(kRecomputeMoe), 139264 + 4 * 128);
  EXPECT_EQ(kept(0) - kept(kRecomputeMoeActivation), 8 * 2 * 1536);
  EXPECT_EQ(kept(0) - kept(kRecomputeLayerNorm), 2 * 4096);
  EXPECT_EQ(kept(0) - kept(kRecomputeMlp | kRecomputeSharedExperts), 0);
}

// Operands that wait for weight gradients: 8 rows of experts', h + 2f and f + h numbers, and
// attention's. They take 2 bytes; in fp8 one byte and a byte of scale per 32, except the router's
// 4096 + 128.
TEST_F(ExpertActivations, OperandsWaitInTheFormatOfTheirProducts) {
  const auto waiting = [&] {
    return layer_weight_gradient_bytes(model_, {true, false}, job_, micro_batch_tokens(job_, {}),
                                       {})
               .value() /
           4096;
  };
  const double wide = waiting(), router = 2 * (4096 + 128);
  job_.precision = Precision::fp8;
  job_.fp8_recipe = Fp8Recipe::mxfp8;
  EXPECT_NEAR(waiting(), router + (wide - router) * (1 + 1.0 / 32) / 2, 1e-6);
}

// Bytes on the host: permuted tokens 8 x 2h, gate and up 8 x 4f; queries, keys, values and the
// attention's output 2 x 4 x 64 x 128; the residual before the norm of the experts 2h.
TEST_F(ExpertActivations, OffloadedModulesLeaveTheirInputs) {
  const auto offloaded = [&](unsigned modules) {
    Layout layout;
    layout.offload_modules = {static_cast<std::uint8_t>(modules)};
    const UnitBytes units = unit_bytes(model_, job_, layout);
    const StageLayer layer{{true, false}};
    EXPECT_EQ(kept_bytes(layer, units) + offloaded_bytes(layer, units), bytes(kept(0) * 4096));
    return offloaded_bytes(layer, units).value() / 4096;
  };
  EXPECT_EQ(offloaded(0), 0);
  EXPECT_EQ(offloaded(kOffloadExpertFc1), 8 * 2 * 4096);
  EXPECT_EQ(offloaded(kOffloadMoeActivation), 8 * 4 * 1536);
  EXPECT_EQ(offloaded(kOffloadCoreAttention | kOffloadAttentionProjection), 2 * 4 * 64 * 128);
  EXPECT_EQ(offloaded(kOffloadMlpNorm), 2 * 4096);
  // Its norm is part of the linear.
  EXPECT_EQ(offloaded(kOffloadAttentionNorm), 0);
}

TEST(StageActivations, BlockRecomputeKeepsTheOtherLayersWhole) {
  PublishedRun setup = korthikanti_22b();
  const Bytes layer = layer_activation_bytes(
      setup.model, {}, setup.job, micro_batch_tokens(setup.job, setup.layout), setup.layout, false);
  const Bytes input = layer_input_bytes(setup.model, setup.job,
                                        micro_batch_tokens(setup.job, setup.layout), setup.layout);
  setup.layout.recompute_granularity = RecomputeGranularity::full;
  setup.layout.recompute_method = RecomputeMethod::block;
  setup.layout.recompute_num_layers = 6;
  EXPECT_DOUBLE_EQ(kept_by_stage(setup, layers_only(setup)) / input, 6 + 42 * (layer / input));
}

// 10 of 48 layers on the host: 38 stay.
TEST(StageActivations, OffloadLeavesTheOtherLayers) {
  PublishedRun setup = korthikanti_22b();
  const Bytes layer = layer_activation_bytes(
      setup.model, {}, setup.job, micro_batch_tokens(setup.job, setup.layout), setup.layout, false);
  setup.layout.cpu_offloading_num_layers = 10;
  EXPECT_DOUBLE_EQ(kept_by_stage(setup, layers_only(setup)) / layer, 38);
}

// The first chunk of a stage is treated first: of 4 + 4 layers 6 are recomputed, 4 and 2.
TEST(StageActivations, ChunksTakeTheStagesTreatedLayersInOrder) {
  PublishedRun setup = korthikanti_175b();
  setup.layout.recompute_granularity = RecomputeGranularity::full;
  setup.layout.recompute_method = RecomputeMethod::block;
  setup.layout.recompute_num_layers = 6;
  const Stage stage = layers_only(setup);
  const auto recomputed = [&](std::size_t chunk) {
    int count = 0;
    for (const LayerRun& run : chunk_layers(setup.model, setup.layout, stage, chunk)) {
      count += run.layer.fully_recomputed ? run.count : 0;
    }
    return count;
  };
  EXPECT_EQ(recomputed(0), 4);
  EXPECT_EQ(recomputed(1), 2);
  EXPECT_EQ(recomputed(2), 0);
}

// A stage between others receives its input and sends its output away: one tensor a layer. The
// first stage's embedding adds the token ids (and a dropout mask), the last stage the input and the
// output of the final norm.
TEST(StageActivations, CountTheTensorsAtTheEndsOnce) {
  PublishedRun setup = korthikanti_1t();
  const auto stages = pipeline_stages(setup.model, setup.layout);
  const double rows = 2048;
  const double h = 25600;
  const Bytes middle = kept_by_stage(setup, stages[1]);
  EXPECT_EQ(kept_by_stage(setup, stages.front()) - middle, bytes(rows * h + 8 * rows));
  EXPECT_EQ(kept_by_stage(setup, stages.back()) - middle, bytes(2 * 2 * rows * h));
}

// Qi 2024 (arXiv 2401.10241), table 1: 32sbh of a layer wait for the weight gradients. Linear
// inputs 2 + 2 + 2 + 8, output gradients 6 + 2 + 8 + 2.
TEST(WeightGradients, NeedThirtyTwoBytesAnElement) {
  PublishedRun setup = korthikanti_22b();
  setup.layout.tensor_parallel_size = 1;
  const double sbh = 2048.0 * 4 * 6144;
  const auto kept = [&] {
    return layer_weight_gradient_bytes(setup.model, {}, setup.job,
                                       micro_batch_tokens(setup.job, setup.layout), setup.layout) /
           bytes(sbh);
  };
  EXPECT_DOUBLE_EQ(kept(), 32);
  setup.layout.tensor_parallel_size = 8;  // of the 32, two inputs and two gradients stay whole
  EXPECT_DOUBLE_EQ(kept(), 8 + 24.0 / 8);
  // The two inputs are pieces of the sequence; the two gradients were gathered once, for both
  // products.
  setup.layout.sequence_parallel = true;
  EXPECT_DOUBLE_EQ(kept(), 4 + 28.0 / 8);
}

// Units of 2sbh: a layer, the embedding of the next tokens, its norm and the hidden state's, and
// for the head a norm's input and output; token ids. Run again: the embedding and the norm's
// output. For weight gradients the projection's 2h and h.
TEST(StageActivations, MultiTokenPredictionKeepsALayerAndWhatItJoins) {
  PublishedRun setup = modern_layer();
  const double unit = 2.0 * 4096 * 4096;
  const double layer =
      layer_activation_bytes(setup.model, {}, setup.job,
                             micro_batch_tokens(setup.job, setup.layout), setup.layout, false) /
      bytes(unit);
  const double ids = 8.0 * 4096 / unit;
  const auto one_more = [&](bool weight_only) {
    double kept[2];
    for (const int depths : {0, 1}) {
      setup.model.mtp_num_layers = depths;
      const Stage stage = pipeline_stages(setup.model, setup.layout).front();
      const HeldBytes held = chunk_activations(setup, stage, 0);
      kept[depths] = (weight_only ? held.weight_only : held.whole) / bytes(unit);
    }
    return kept[1] - kept[0];
  };
  EXPECT_NEAR(one_more(false), layer + 1 + 2 + 2 + ids, 1e-9);
  const double waits =
      layer_weight_gradient_bytes(setup.model, {}, setup.job,
                                  micro_batch_tokens(setup.job, setup.layout), setup.layout) /
      bytes(unit);
  EXPECT_NEAR(one_more(true), waits + 2 + 1 + 1, 1e-9);  // and the logits' input
  setup.layout.recompute_granularity = RecomputeGranularity::full;
  EXPECT_NEAR(one_more(false), 1 + 1 + ids, 1e-9);
  setup.layout.recompute_method = RecomputeMethod::block;
  EXPECT_NEAR(one_more(false), layer + 1 + 2 + 2 + ids, 1e-9);
}

// Transformer Engine's all-to-all attention keeps its output twice: 2sbh/c more.
TEST(ContextParallel, AllToAllKeepsTheAttentionOutputTwice) {
  PublishedRun setup = korthikanti_22b();
  setup.layout.tensor_parallel_size = 1;
  setup.layout.context_parallel_size = 4;
  const double ring = layer_over_sbh(setup);
  setup.layout.cp_comm_type = ContextParallelAlgorithm::a2a;
  EXPECT_DOUBLE_EQ(layer_over_sbh(setup) - ring, 2.0 / 4);
}

// 22B: 4 * 2048 positions, 51200 / 8 columns; fp32 probabilities, and 2 bytes beside them. Fused:
// the logits alone.
TEST(Logits, KeepProbabilitiesOrThemselves) {
  PublishedRun setup = korthikanti_22b();
  const double entries = 4.0 * 2048 * 51200 / 8;
  const LogitsBytes plain = logits_bytes(setup.model, setup.job,
                                         micro_batch_tokens(setup.job, setup.layout), setup.layout);
  EXPECT_EQ(plain.kept, bytes(4 * entries));
  EXPECT_EQ(plain.beside, bytes(2 * entries));
  EXPECT_EQ(plain.weight_gradient, bytes(51200.0 / 8 * 6144 * 2));
  setup.job.cross_entropy_loss_fusion = true;
  const LogitsBytes fused = logits_bytes(setup.model, setup.job,
                                         micro_batch_tokens(setup.job, setup.layout), setup.layout);
  EXPECT_EQ(fused.kept, bytes(2 * entries));
  EXPECT_EQ(fused.beside, Bytes{});
}

// Eager: 4 bytes kept; beside them the fp32 logits, and the 4 bytes of the micro-batch before.
TEST(Logits, AreHeldThreeTimesByEagerKernels) {
  PublishedRun setup = korthikanti_22b();
  setup.job.kernel_fusion = KernelFusion::eager;
  const double entries = 4.0 * 2048 * 51200 / 8;
  const LogitsBytes eager = logits_bytes(setup.model, setup.job,
                                         micro_batch_tokens(setup.job, setup.layout), setup.layout);
  EXPECT_EQ(eager.kept, bytes(4 * entries));
  EXPECT_EQ(eager.beside, bytes(8 * entries));
}

// A gated layer of f = 4h, fused attention, no dropout, t = 1, in units of 2sbh: norm outputs 2,
// q, k, v and attention's output 4, residual streams 2, gate and up 8, their product 4: 20, and
// 4ab/h bytes of log-sum-exp. Eager adds the activated gate, 4. With t = 8 and sequence parallelism
// all is divided by 8, but eager keeps the gathered input of the MLP: 24/8 + 7/8.
TEST(EagerKernels, KeepTheActivatedGateAndAGatheredInput) {
  PublishedRun setup = korthikanti_22b();
  setup.model.activation = Activation::swiglu;
  setup.job.attention_kernel = AttentionKernel::flash;
  setup.job.dropout = false;
  setup.layout.tensor_parallel_size = 1;
  setup.layout.sequence_parallel = false;
  setup.layout.recompute_granularity = RecomputeGranularity::none;
  const double log_sum_exp = 4.0 * 64 / 6144;
  EXPECT_NEAR(layer_over_sbh(setup), 2 * 20 + log_sum_exp, 1e-9);
  setup.job.kernel_fusion = KernelFusion::eager;
  EXPECT_NEAR(layer_over_sbh(setup), 2 * 24 + log_sum_exp, 1e-9);
  setup.layout.tensor_parallel_size = 8;
  setup.layout.sequence_parallel = true;
  EXPECT_NEAR(layer_over_sbh(setup), 2 * (24 + 7) / 8.0 + log_sum_exp / 8, 1e-9);
}

// The same layer as models of transformers run it (modeling_llama.py), in units of sbh: each norm
// keeps an fp32 copy of its input, what it normalised and its output, 4 + 2 + 2; q, k, v and
// attention's output 8; gate, up, activated gate and product 4 x 8. No sum is kept.
TEST(TransformersKernels, KeepFp32CopiesOfNormInputs) {
  PublishedRun setup = korthikanti_22b();
  setup.model.activation = Activation::swiglu;
  setup.model.normalization = Normalization::rms_norm;
  setup.job.attention_kernel = AttentionKernel::flash;
  setup.job.kernel_fusion = KernelFusion::transformers;
  setup.job.dropout = false;
  setup.layout.tensor_parallel_size = 1;
  setup.layout.sequence_parallel = false;
  setup.layout.recompute_granularity = RecomputeGranularity::none;
  EXPECT_NEAR(layer_over_sbh(setup), 2 * 8 + 8 + 32 + 4.0 * 64 / 6144, 1e-9);
  // The log-softmax in fp32; beside it the gradients by it and by the fp32 logits, and the 16-bit
  // logits, which the model's output holds.
  const double entries = 4.0 * 2048 * 51200;
  const LogitsBytes logits = logits_bytes(
      setup.model, setup.job, micro_batch_tokens(setup.job, setup.layout), setup.layout);
  EXPECT_EQ(logits.kept, bytes(4 * entries));
  EXPECT_EQ(logits.beside, bytes(10 * entries));
}

// Eager attention keeps softmax in fp32 and its 16-bit copy, 4 + 2 bytes of 64 x 2,048 scores a
// token, and no log-sum-exp. Eight heads share a key and a value: fused attention keeps both once,
// 4 + 4 / 8; eager attention copies them to all heads, 8. transformers 5.23 keeps as much, but for
// 8 bytes a token (16 h + 8 q + 8 f + 6 a S + 8).
TEST(TransformersKernels, EagerAttentionKeepsScoresTwiceAndRepeatedKeys) {
  PublishedRun setup = korthikanti_22b();
  setup.model.activation = Activation::swiglu;
  setup.model.normalization = Normalization::rms_norm;
  setup.model.num_query_groups = 8;
  setup.job.kernel_fusion = KernelFusion::transformers;
  setup.job.dropout = false;
  setup.layout.tensor_parallel_size = 1;
  setup.layout.sequence_parallel = false;
  setup.layout.recompute_granularity = RecomputeGranularity::none;
  setup.job.attention_kernel = AttentionKernel::flash;
  EXPECT_NEAR(layer_over_sbh(setup), 2 * 8 + 4.5 + 32 + 4.0 * 64 / 6144, 1e-9);
  setup.job.attention_kernel = AttentionKernel::unfused;
  EXPECT_NEAR(layer_over_sbh(setup), 2 * 8 + 8 + 32 + 6.0 * 64 * 2048 / 6144, 1e-9);
  // Softmax with sinks stays in 16 bits.
  setup.model.attention_sinks = true;
  EXPECT_NEAR(layer_over_sbh(setup), 2 * 8 + 8 + 32 + 2.0 * 64 * 2048 / 6144, 1e-9);
}

// A layer norm is one kernel, which keeps its input and output.
TEST(TransformersKernels, LayerNormsAreOneKernel) {
  PublishedRun setup = korthikanti_22b();
  setup.job.attention_kernel = AttentionKernel::flash;
  setup.job.kernel_fusion = KernelFusion::eager;
  const double eager = layer_over_sbh(setup);
  setup.job.kernel_fusion = KernelFusion::transformers;
  EXPECT_EQ(layer_over_sbh(setup), eager);
}

}  // namespace
}  // namespace meshwright
