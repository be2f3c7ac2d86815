// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "sim/layout/stages.h"
#include "sim/memory/activation_memory.h"
#include "sim/memory/model_state.h"
#include "sim/operators/operators.h"
#include "sim/volume/volume.h"
#include "tests/unit/llama_model.h"
#include "tests/unit/sim/operators/gpt3_layer.h"

namespace meshwright {
namespace {

// One sequence of 1,024 tokens, adapters of rank 16 beside the attention's linears.
Job lora_job() {
  Job job;
  job.seq_length = 1024;
  job.global_batch_size = 8;
  job.lora_rank = 16;
  return job;
}

Stage whole(const Model& model) {
  Stage stage;
  stage.chunks = {{.first_layer = 0, .num_layers = model.num_layers}};
  return stage;
}

double adapters_of(const Model& model, const Job& job, const Layout& layout = {}) {
  return adapter_parameters(model, job, layout, whole(model)).dense;
}

TEST(Lora, AFrozenLinearHasNoProductForItsWeightsGradient) {
  const auto ops = layer_operators(llama_model(), {}, lora_job(), {});
  // Forward and input gradient: 2 * 1024 * 6144 * 4096 each.
  const Operator& qkv = find(ops, "attention.qkv");
  EXPECT_TRUE(qkv.frozen);
  EXPECT_DOUBLE_EQ(qkv.forward_flops.value(), 2.0 * 1024 * 6144 * 4096);
  EXPECT_DOUBLE_EQ(qkv.backward_flops.value(), qkv.forward_flops.value());
  EXPECT_FALSE(trains_weight(qkv));
  // x A: 1024 x 4096 times 4096 x 16; (x A) B: 1024 x 16 times 16 x 6144. Both have two products
  // backward.
  const Operator& a = find(ops, "attention.qkv.lora_a");
  const Operator& b = find(ops, "attention.qkv.lora_b");
  EXPECT_DOUBLE_EQ(a.forward_flops.value(), 2.0 * 1024 * 4096 * 16);
  EXPECT_DOUBLE_EQ(b.forward_flops.value(), 2.0 * 1024 * 16 * 6144);
  EXPECT_DOUBLE_EQ(b.backward_flops.value(), 2.0 * b.forward_flops.value());
}

// Column-parallel: A's 16 columns and B's 6,144 are divided by 4. Row-parallel: A's 4,096 rows and
// B's 4,096 columns are.
TEST(Lora, TensorRanksShareAnAdapterAsMegatronBridgeDoes) {
  Layout layout;
  layout.tensor_parallel_size = 4;
  const auto ops = layer_operators(llama_model(), {}, lora_job(), layout);
  EXPECT_EQ(find(ops, "attention.qkv.lora_a").n, 4);
  EXPECT_EQ(find(ops, "attention.qkv.lora_a").k, 4096);
  EXPECT_EQ(find(ops, "attention.qkv.lora_b").n, 1536);
  EXPECT_EQ(find(ops, "attention.projection.lora_a").n, 16);
  EXPECT_EQ(find(ops, "attention.projection.lora_a").k, 1024);
  EXPECT_EQ(find(ops, "attention.projection.lora_b").n, 1024);
  EXPECT_DOUBLE_EQ(adapters_of(llama_model(), lora_job(), layout),
                   adapters_of(llama_model(), lora_job()) / 4.0);
}

// Llama-2 70B, h = 8192, 8 key-value heads of 128: qkv 16 (8192 + 10240), projection 16 (8192 +
// 8192), 80 layers: 44,564,480, as NeMo prints for MLPerf's fine-tuning benchmark.
TEST(Lora, Llama2With70BHas44MillionTrainedParameters) {
  Model model = llama_model();
  model.num_layers = 80;
  model.hidden_size = 8192;
  model.ffn_hidden_size = 28672;
  model.num_attention_heads = 64;
  EXPECT_DOUBLE_EQ(adapters_of(model, lora_job()), 44'564'480.0);
}

// Hugging Face PEFT on Llama 3 8B, rank 16, seven linears a layer: q 16 (4096 + 4096), k and v 16
// (4096 + 1024) each, o 16 (4096 + 4096), gate and up 16 (4096 + 14336) each, down 16 (14336 +
// 4096): 1,310,720 a layer, 41,943,040 in 32.
TEST(Lora, AllLinearsOfLlama3With8BHave42MillionTrainedParameters) {
  Job job = lora_job();
  job.lora_target_modules.bits =
      kLoraQ | kLoraK | kLoraV | kLoraProj | kLoraFc1Gate | kLoraFc1Up | kLoraFc2;
  EXPECT_DOUBLE_EQ(adapters_of(llama_model(), job), 41'943'040.0);
}

// Two of four experts of a rank, each with its own adapters: fc1 16 (12288 + 2048), fc2 16 (1024 +
// 12288), 96 layers.
TEST(Lora, EachExpertHasItsAdapters) {
  Job job = lora_job();
  job.lora_target_modules.bits = kLoraFc1 | kLoraFc2;
  Layout layout;
  layout.expert_parallel_size = 4;
  layout.data_parallel_size = 4;
  const StageParameters found =
      adapter_parameters(eight_experts(), job, layout, whole(eight_experts()));
  EXPECT_DOUBLE_EQ(found.dense, 0.0);
  EXPECT_DOUBLE_EQ(found.expert, 96.0 * 2 * 16 * (12288 + 2048 + 1024 + 12288));
}

// Frozen weights: 2 bytes each. Adapters: weight 2, gradient 4, master weight and moments 12.
TEST(Lora, OnlyAdaptersHaveGradientsAndOptimizerStates) {
  const Model model = llama_model();
  const Job job = lora_job();
  const double adapters = adapters_of(model, job);
  const double all = stage_parameters(model, job, {}, whole(model)).dense;
  const StageMemory memory = static_memory(model, job, {}, whole(model));
  EXPECT_DOUBLE_EQ(memory.weights.value(), 2.0 * (all + adapters));
  EXPECT_DOUBLE_EQ(memory.gradients.value(), 4.0 * adapters);
  EXPECT_DOUBLE_EQ(memory.optimizer.value(), 12.0 * adapters);
}

// A linear's weight: 4 bits, a byte for 64 weights, 4 bytes for 256 of these bytes: 0.51587 bytes.
// One layer of Llama 3 8B has 218,103,808 of them and 2 norms of 4,096.
TEST(Lora, QLoraStoresTheLinearsInFourBits) {
  Model model = llama_model();
  model.num_layers = 1;
  Job job = lora_job();
  job.frozen_weight_precision = Precision::fp4;
  const StageParameters found = frozen_bytes(model, job, {}, whole(model));
  const double each = 0.5 + 1.0 / 64 + 4.0 / 16384;
  EXPECT_NEAR(each, 0.51587, 1e-5);
  EXPECT_DOUBLE_EQ(found.dense, 218'103'808.0 * each + 2.0 * 4096 * 2);
}

// 1,024 tokens, 2 bytes a number. Nothing is kept for the MLP's frozen linears but what the
// activation's backward reads: gate and up. The adapter of qkv keeps its input.
TEST(Lora, InputsOfFrozenLinearsAreNotKept) {
  const auto ops = layer_operators(llama_model(), {}, lora_job(), {});
  EXPECT_DOUBLE_EQ(find(ops, "mlp_norm").saved.value(), 0.0);
  EXPECT_DOUBLE_EQ(find(ops, "mlp.activation").saved.value(), 0.0);
  EXPECT_DOUBLE_EQ(find(ops, "mlp.fc1").saved.value(), 1024.0 * 28672 * 2);
  EXPECT_DOUBLE_EQ(find(ops, "input_norm").saved.value(), 0.0);
  EXPECT_DOUBLE_EQ(find(ops, "attention.qkv.lora_sum").saved.value(), 1024.0 * 4096 * 2);
  EXPECT_DOUBLE_EQ(find(ops, "attention.qkv.lora_a").saved.value(), 1024.0 * 16 * 2);
}

// In fp8 the projection's operand is not kept either: attention's output alone, 2 bytes a number.
TEST(Lora, AFrozenProjectionKeepsAttentionsOutputAlone) {
  Job job = lora_job();
  job.precision = Precision::fp8;
  const auto ops = layer_operators(llama_model(), {}, job, {});
  EXPECT_DOUBLE_EQ(find(ops, "attention.projection").saved.value(), 1024.0 * 4096 * 2);
}

TEST(Lora, DataParallelRanksReduceTheAdaptersAlone) {
  const Model model = llama_model();
  Layout layout;
  layout.data_parallel_size = 8;
  const Volume ledger = volume(model, lora_job(), layout);
  double reduced = 0.0;
  for (const Transfer& t : ledger.stages.front().transfers) {
    if (t.name == "gradient all-reduce") reduced += t.payload_per_step().value();
  }
  EXPECT_DOUBLE_EQ(reduced, 4.0 * adapters_of(model, lora_job()));
}

// Under ZeRO-3 the frozen weights are gathered as they are stored.
TEST(Lora, ShardedFrozenWeightsAreGathered) {
  const Model model = llama_model();
  Layout layout;
  layout.data_parallel_size = 8;
  layout.zero_stage = 3;
  const StageParameters held = stage_parameters(model, lora_job(), layout, whole(model));
  const Volume ledger = volume(model, lora_job(), layout);
  double gathered = 0.0;
  for (const Transfer& t : ledger.stages.front().transfers) {
    if (t.phase == Phase::forward && t.group == Group::data) {
      gathered += t.payload_per_step().value();
    }
  }
  // The stage of the ledger has embedding and head beside the layers.
  EXPECT_GT(gathered, 2.0 * held.dense);
  EXPECT_LT(gathered, 2.4 * held.dense);
}

// 8 sequences of 1,024 tokens: 2 FLOPs x 2 passes for each of the matrices' numbers and the head's,
// and 3 passes of causal attention: 2 * 2 * 4096 * 1024^2 / 2 a layer and sequence.
TEST(Lora, AFrozenModelNeedsTwoPassesOfItsMatrices) {
  const double matrices = 32.0 * 218'103'808.0 + 4096.0 * 128256.0;
  const double attention = 32.0 * 2.0 * 8192.0 * 1024.0 * 1024.0 / 2.0;
  EXPECT_DOUBLE_EQ(model_flops(llama_model(), lora_job(), true).value(),
                   8.0 * (2.0 * 2.0 * matrices * 1024.0 + 3.0 * attention));
}

}  // namespace
}  // namespace meshwright
