// SPDX-License-Identifier: Apache-2.0
// What a set of measured runs does not state is filled in as planner/accuracy/unstated.h says.
#include "app/files/measurements.h"

#include <gtest/gtest.h>

#include "sim/record/json.h"

namespace meshwright::app {
namespace {

planner::MeasuredRun read(Json model, const char* precision, Json layout,
                          const char* cluster = "dgx-a100-80gb") {
  const Json run{
      {"id", "a"},
      {"group", "g"},
      {"model", std::move(model)},
      {"cluster", cluster},
      {"gpus", 8},
      {"job", {{"seq_length", 1024}, {"global_batch_size", 64}, {"precision", precision}}},
      {"layout", std::move(layout)},
      {"measured", {{"step_seconds", 1.0}}}};
  const Json set{{"schema", "meshwright.measurements/1"}, {"name", "s"}, {"runs", {run}}};
  return measurements_from_json(set, "s.json").runs.front();
}

Json gpt2(int heads) {
  return {{"model_type", "gpt2"}, {"n_layer", 8},        {"n_embd", 128 * heads},
          {"n_head", heads},      {"n_positions", 1024}, {"vocab_size", 50257}};
}
const Json kLlama{{"model_type", "llama"},     {"num_hidden_layers", 8},
                  {"hidden_size", 1024},       {"num_attention_heads", 8},
                  {"intermediate_size", 4096}, {"vocab_size", 32000},
                  {"num_key_value_heads", 8},  {"max_position_embeddings", 1024}};

TEST(MeasurementDefaults, Fp16OfTheGpt2GenerationIsMegatronOfItsTime) {
  const auto run = read(gpt2(16), "fp16", {{"tensor_parallel_size", 2}});
  EXPECT_EQ(run.job.attention_kernel, AttentionKernel::unfused);
  EXPECT_TRUE(run.job.dropout);
  EXPECT_EQ(run.job.gradient_precision, Precision::fp16);
  EXPECT_FALSE(run.layout.sequence_parallel);
  EXPECT_EQ(run.layout.data_parallel_size, 4);
}

TEST(MeasurementDefaults, TheSameModelInBf16ReducesInFp32) {
  const auto run = read(gpt2(16), "bf16", {{"tensor_parallel_size", 2}});
  EXPECT_EQ(run.job.attention_kernel, AttentionKernel::unfused);
  EXPECT_EQ(run.job.gradient_precision, Precision::fp32);
}

// 48 heads over 8 ranks: 6 are no multiple of 4, 12 (two sequences) are.
TEST(MeasurementDefaults, AnUnstatedMicroBatchFillsTheFusedSoftmax) {
  EXPECT_EQ(read(gpt2(48), "fp16", {{"tensor_parallel_size", 8}}).layout.micro_batch_size, 2);
  EXPECT_EQ(read(gpt2(64), "fp16", {{"tensor_parallel_size", 8}}).layout.micro_batch_size, 1);
  const Json stated{{"tensor_parallel_size", 8}, {"micro_batch_size", 1}};
  EXPECT_EQ(read(gpt2(48), "fp16", stated).layout.micro_batch_size, 1);
}

TEST(MeasurementDefaults, RotaryModelsShareTheSequenceWithTheTensor) {
  const auto run = read(kLlama, "bf16", {{"tensor_parallel_size", 4}});
  EXPECT_TRUE(run.layout.sequence_parallel);
  EXPECT_EQ(run.job.attention_kernel, AttentionKernel::flash);
  EXPECT_EQ(run.job.gradient_precision, Precision::fp32);
  EXPECT_FALSE(read(kLlama, "bf16", {{"tensor_parallel_size", 1}}).layout.sequence_parallel);
  const Json stated{{"tensor_parallel_size", 4}, {"sequence_parallel", false}};
  EXPECT_FALSE(read(kLlama, "bf16", stated).layout.sequence_parallel);
}

TEST(MeasurementDefaults, TheFrameworkSaysHowItsKernelsAndPipelineWork) {
  const auto nanotron = read(kLlama, "bf16", {{"pipeline_parallel_size", 4}}, "hgx-h100-efa");
  EXPECT_EQ(nanotron.job.kernel_fusion, KernelFusion::eager);
  EXPECT_EQ(nanotron.layout.pipeline_engine, PipelineEngine::nanotron);
  const Json stated{{"pipeline_parallel_size", 4}, {"pipeline_engine", "megatron"}};
  EXPECT_EQ(read(kLlama, "bf16", stated, "hgx-h100-efa").layout.pipeline_engine,
            PipelineEngine::megatron);
  EXPECT_EQ(read(kLlama, "bf16", stated).job.kernel_fusion, KernelFusion::fused);
}

// 8 layers on 4 stages: two chunks of one layer. Where the micro-batch is not stated, 1F1B.
TEST(MeasurementDefaults, InterleavedStagesHoldOneLayerAChunk) {
  Json layout{{"pipeline_parallel_size", 4}, {"schedule", "interleaved"}, {"micro_batch_size", 1}};
  EXPECT_EQ(read(gpt2(16), "fp16", layout).layout.virtual_pipeline_parallel_size, 2);
  layout.erase("micro_batch_size");
  EXPECT_EQ(read(gpt2(16), "fp16", layout).layout.schedule, PipelineSchedule::one_f_one_b);
}

}  // namespace
}  // namespace meshwright::app
