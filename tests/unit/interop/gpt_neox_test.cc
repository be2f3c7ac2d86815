// SPDX-License-Identifier: Apache-2.0
// GPT-NeoX's files in a shape of our own: keys of both spellings, comments, Python's True, commas
// before a closing brace.
#include "interop/read_launch/gpt_neox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.h"
#include "sim/model/parameters.h"

namespace meshwright::interop {
namespace {

bool recognised_as_neox(const std::string& text) {
  return is_gpt_neox(launch_text(text, "neox.yml"));
}

using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

// A model of 2 layers; `more` comes last, so that its keys hold.
std::string small(const std::string& more) {
  return "{\n  \"pipe_parallel_size\": 1, \"model_parallel_size\": 2,\n"
         "  \"num_layers\": 2, \"hidden_size\": 96, \"num_attention_heads\": 4,\n"
         "  \"seq_length\": 128, \"max_position_embeddings\": 128,\n"
         "  \"train_micro_batch_size_per_gpu\": 4,\n" +
         more + "}\n";
}

LaunchRecord read_small(const std::string& more) {
  return read_gpt_neox(small(more), "small.yml", {});
}

std::vector<std::string> not_understood(const LaunchRecord& r) {
  std::vector<std::string> said;
  for (const NotUnderstood& each : r.not_understood) said.push_back(each.said);
  return said;
}

// A layer has 12 h^2 + 13 h: 36 of 5,120 are 11,327.0 M. Two matrices of 50,257 rows are 514.6 M,
// and the last norm is 10,240.
TEST(GptNeox, APythiaOfFortyHeadsIsReadWhole) {
  const std::string text =
      "{\n \"pipe_parallel_size\": 1,\n \"model_parallel_size\": 4,\n \"num_layers\": 36,\n"
      " \"hidden_size\": 5120,\n \"num_attention_heads\": 40,\n \"seq_length\": 2048,\n"
      " \"max_position_embeddings\": 2048,\n \"pos_emb\": \"rotary\",\n"
      " \"no_weight_tying\": true,\n \"gpt_j_residual\": true,\n"
      " \"attention_config\": [[[\"flash\"], 36]],\n"
      " \"zero_optimization\": {\"stage\": 1, \"overlap_comm\": true},\n"
      " \"train_micro_batch_size_per_gpu\": 8,\n \"gradient_accumulation_steps\": 2,\n"
      " \"checkpoint_activations\": true,\n \"checkpoint_num_layers\": 1,\n"
      " \"fp16\": {\"enabled\": true}\n}\n";
  EXPECT_TRUE(recognised_as_neox(text));
  const LaunchRecord r = read_gpt_neox(text, "pythia.yml", {});
  EXPECT_EQ(r.target, "GPT-NeoX");
  EXPECT_EQ(r.framework, "gpt-neox-2022");
  EXPECT_THAT(not_understood(r), IsEmpty());
  EXPECT_EQ(total_parameters(r.model),
            36LL * (12LL * 5120 * 5120 + 13LL * 5120) + 2LL * 50257 * 5120 + 10240);
  EXPECT_NEAR(static_cast<double>(total_parameters(r.model)), 11.84e9, 0.01e9);
  EXPECT_EQ(r.model.position_embedding, PositionEmbedding::rope);
  EXPECT_FALSE(r.model.tied_embeddings);
  EXPECT_TRUE(r.model.parallel_attention_mlp);
  EXPECT_FALSE(r.model.parallel_shared_layer_norm);
  EXPECT_EQ(r.job.seq_length, 2048);
  EXPECT_EQ(r.job.precision, Precision::fp16);
  EXPECT_EQ(r.job.gradient_precision, Precision::fp16);
  EXPECT_EQ(r.job.attention_kernel, AttentionKernel::flash);
  EXPECT_EQ(r.layout.tensor_parallel_size, 4);
  EXPECT_EQ(r.layout.micro_batch_size, 8);
  EXPECT_EQ(r.micro_batches_a_rank, 2);
  EXPECT_EQ(r.layout.zero_stage, 1);
  EXPECT_TRUE(r.layout.overlap_grad_reduce);
  EXPECT_EQ(r.layout.recompute_granularity, RecomputeGranularity::full);
  EXPECT_THAT(r.read, Contains(Field("place", &Fact::place, Field("line", &Place::line, 3))));
}

// 20,554,567,680 with 50,432 rows; its tokenizer has 50,277.
TEST(GptNeox, TwentyBillionWithHyphensCommentsAndTrailingCommas) {
  const std::string text =
      "# 96 devices\n{\n  \"vocab-file\": \"./20B_checkpoints/20B_tokenizer.json\",\n"
      "  \"save\": \"./there\",\n  \"data-path\": \"./data/text_document\",\n"
      "  \"pipe-parallel-size\": 4,\n  \"model-parallel-size\": 2,\n  \"num-layers\": 44,\n"
      "  \"hidden-size\": 6144,\n  \"num-attention-heads\": 64,\n  \"seq-length\": 2048,\n"
      "  \"max-position-embeddings\": 2048,\n  \"norm\": \"layernorm\",\n"
      "  \"pos-emb\": \"rotary\",\n  \"rotary_pct\": 0.25,\n  \"no-weight-tying\": true,\n"
      "  \"gpt_j_residual\": true,\n  \"output_layer_parallelism\": \"column\",\n"
      "  \"scaled-upper-triang-masked-softmax-fusion\": true,\n  \"bias-gelu-fusion\": true,\n"
      "  \"init_method\": \"small_init\",\n  \"output_layer_init_method\": \"wang_init\",\n"
      "  \"optimizer\": {\n    \"type\": \"Adam\",\n    \"params\": {\n      \"lr\": 0.97e-4,\n"
      "      \"betas\": [0.9, 0.95],\n      \"eps\": 1.0e-8,\n      }\n      },\n"
      "  \"min_lr\": 0.97e-5,\n  \"zero_optimization\": {\n  \"stage\": 1,\n"
      "  \"allgather_partitions\": True,\n  \"overlap_comm\": True,\n"
      "  \"reduce_bucket_size\": 1260000000,\n  },\n  \"train_micro_batch_size_per_gpu\": 4,\n"
      "  \"gradient_accumulation_steps\": 32,\n  \"data-impl\": \"mmap\",\n"
      "  \"split\": \"995,4,1\",\n  \"checkpoint-activations\": true,\n"
      "  \"partition-activations\": false,\n  \"synchronize-each-layer\": true,\n"
      "  \"gradient_clipping\": 1.0,\n  \"weight-decay\": 0.01,\n  \"hidden-dropout\": 0,\n"
      "  \"attention-dropout\": 0,\n  \"fp16\": {\n    \"fp16\": true,\n    \"enabled\": true,\n"
      "    \"loss_scale\": 0,\n    },\n  \"train-iters\": 150000,\n"
      "  \"lr-decay-iters\": 150000,\n  \"distributed-backend\": \"nccl\",\n"
      "  \"lr-decay-style\": \"cosine\",\n  \"warmup\": 0.01,\n  \"save-interval\": 500,\n"
      "  \"eval-interval\": 1000,\n  \"eval-iters\": 10,\n  \"log-interval\": 2,\n"
      "  \"steps_per_print\": 2,\n  \"wall_clock_breakdown\": false,\n"
      "  \"tokenizer_type\": \"HFTokenizer\",\n  \"tensorboard-dir\": \"./tensorboard\",\n"
      "  \"log-dir\": \"./logs\",\n}\n";
  EXPECT_TRUE(recognised_as_neox(text));
  const LaunchRecord r = read_gpt_neox(text, "20B.yml", {});
  EXPECT_THAT(not_understood(r), IsEmpty());
  EXPECT_EQ(r.model.vocab_size, 50277);
  EXPECT_EQ(total_parameters(r.model), 20'554'567'680LL - 2LL * (50432 - 50277) * 6144);
  EXPECT_EQ(padded_vocab_size(r.model, r.job.make_vocab_size_divisible_by, 2), 50432);
  EXPECT_EQ(r.layout.pipeline_parallel_size, 4);
  EXPECT_EQ(r.layout.tensor_parallel_size, 2);
  EXPECT_EQ(r.micro_batches_a_rank, 32);
  EXPECT_FALSE(r.job.dropout);
}

TEST(GptNeox, TheLastOfAKeyHoldsInEitherSpelling) {
  EXPECT_EQ(read_small("\"num-layers\": 7").model.num_layers, 7);
  EXPECT_EQ(read_small("\"model-parallel-size\": 8").layout.tensor_parallel_size, 8);
}

TEST(GptNeox, NoStageIsOneStage) {
  EXPECT_EQ(read_small("\"pipe_parallel_size\": 0").layout.pipeline_parallel_size, 1);
}

TEST(GptNeox, DeepSpeedsJsonIsAnother) {
  EXPECT_FALSE(recognised_as_neox(
      R"({"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 1}})"));
  EXPECT_FALSE(recognised_as_neox("tensor_model_parallel_size: 4\nnum_layers: 32\n"));
  EXPECT_FALSE(recognised_as_neox("--model-parallel-size 4 --num-layers 32"));
  EXPECT_FALSE(recognised_as_neox(""));
}

// Two of the three are enough.
TEST(GptNeox, TheThirdOfTheBatchFollows) {
  const std::string rest =
      "\"num_layers\": 2, \"hidden_size\": 96, \"num_attention_heads\": 4, "
      "\"seq_length\": 128, \"pipe_parallel_size\": 1, ";
  const auto read = [&](const std::string& batch) {
    return read_gpt_neox("{" + rest + batch + "}", "a.yml", {});
  };
  const LaunchRecord both = read("\"train_batch_size\": 64, \"gradient_accumulation_steps\": 4");
  EXPECT_EQ(both.job.global_batch_size, 64);
  EXPECT_EQ(both.accumulation_of_global, 4);
  EXPECT_EQ(both.micro_batches_a_rank, 0);
  const LaunchRecord micro =
      read("\"train_batch_size\": 64, \"train_micro_batch_size_per_gpu\": 2");
  EXPECT_EQ(micro.layout.micro_batch_size, 2);
  EXPECT_EQ(micro.accumulation_of_global, 0);
  EXPECT_EQ(micro.micro_batches_a_rank, 0);
  EXPECT_EQ(read("\"train_batch_size\": 64").accumulation_of_global, 1);
  EXPECT_THROW(read("\"gradient_accumulation_steps\": 4"), InputError);
}

// 8/3 of 96 is 256. A third of 384 is 128, two thirds' half.
TEST(GptNeox, GatedMlpsHaveTheirReleasesSize) {
  EXPECT_EQ(read_small("\"activation\": \"gelu\"").model.ffn_hidden_size, 384);
  const Model geglu = read_small("\"activation\": \"geglu\"").model;
  EXPECT_EQ(geglu.activation, Activation::geglu);
  EXPECT_EQ(geglu.ffn_hidden_size, 256);
  EXPECT_EQ(read_small("\"activation\": \"swiglu\"").model.ffn_hidden_size, 128);
  EXPECT_EQ(
      read_small("\"activation\": \"swiglu\", \"mlp_multiple_of\": 100").model.ffn_hidden_size,
      200);
  const Model llama =
      read_small(
          "\"mlp_type\": \"llama\", \"activation\": \"silu\", \"intermediate_size\": 160, "
          "\"use_bias_in_attn_linear\": false, \"norm\": \"rmsnorm\"")
          .model;
  EXPECT_EQ(llama.activation, Activation::swiglu);
  EXPECT_EQ(llama.ffn_hidden_size, 160);
  EXPECT_FALSE(llama.add_bias_linear);
  EXPECT_EQ(llama.normalization, Normalization::rms_norm);
}

TEST(GptNeox, HeadsOfKeysAndTheHintsVocabulary) {
  LaunchHints hints;
  hints.vocab_size = 1000;
  const LaunchRecord r = read_gpt_neox(
      small("\"num_kv_heads\": 2, \"tokenizer_type\": \"HFTokenizer\""), "a.yml", hints);
  EXPECT_EQ(r.model.num_query_groups, 2);
  EXPECT_EQ(r.model.vocab_size, 1000);
  EXPECT_THROW(read_small("\"tokenizer_type\": \"HFTokenizer\""), InputError);
  EXPECT_THROW(read_small("\"num_kv_heads\": 3"), InputError);
}

TEST(GptNeox, ANamedModelNeedsNoSizes) {
  LaunchHints hints;
  hints.model = Model{};
  hints.seq_length = 512;
  const LaunchRecord r =
      read_gpt_neox("{\"pipe_parallel_size\": 2, \"train_batch_size\": 8}", "a.yml", hints);
  EXPECT_EQ(r.job.seq_length, 512);
  EXPECT_EQ(r.model.num_layers, 0);
}

TEST(GptNeox, AttentionOfMixedLayersIsListed) {
  const LaunchRecord mixed = read_small("\"attention_config\": [[[\"local\", \"global\"], 1]]");
  EXPECT_EQ(mixed.job.attention_kernel, AttentionKernel::unfused);
  EXPECT_THAT(mixed.not_understood,
              Contains(Field("why", &NotUnderstood::why, HasSubstr("local attention"))));
  EXPECT_THROW(read_small("\"attention_config\": [[[\"mamba\"], \"all\"]]"), InputError);
  EXPECT_THAT(read_small("").job_fields, testing::Not(Contains("attention_kernel")));
}

TEST(GptNeox, WhatIsNotModelledIsListed) {
  const LaunchRecord r = read_small(
      "\"checkpoint_activations\": true, \"checkpoint_num_layers\": 2, "
      "\"partition_activations\": true, \"optimizer\": {\"type\": \"Lion\"}, "
      "\"soft_prompt_tuning\": {\"enabled\": true}, \"pos_emb\": \"rpe\"");
  EXPECT_EQ(not_understood(r).size(), 5U);
  EXPECT_THAT(not_understood(read_small("\"checkpoint_activations\": false, "
                                        "\"partition_activations\": true")),
              IsEmpty());
}

TEST(GptNeox, PrecisionIsSaidInThreeWays) {
  EXPECT_EQ(read_small("").job.precision, Precision::fp32);
  EXPECT_EQ(read_small("\"bf16\": {\"enabled\": true}").job.precision, Precision::bf16);
  EXPECT_EQ(read_small("\"precision\": \"bfloat16\"").job.precision, Precision::bf16);
  EXPECT_EQ(read_small("\"fp16\": {\"enabled\": true, \"type\": \"bfloat16\"}").job.precision,
            Precision::bf16);
  EXPECT_EQ(
      read_small("\"fp16\": {\"enabled\": true}, \"fp32_allreduce\": true").job.gradient_precision,
      Precision::fp32);
}

TEST(GptNeox, ShardedGradientsBelowAPipelineAreRefused) {
  EXPECT_THROW(read_small("\"pipe_parallel_size\": 2, \"zero_optimization\": {\"stage\": 2}"),
               InputError);
  EXPECT_EQ(read_small("\"zero_optimization\": {\"stage\": 2, \"cpu_offload\": true}")
                .layout.optimizer_offload,
            true);
}

TEST(GptNeox, ExpertsOfEverySecondLayer) {
  const LaunchRecord r = read_small(
      "\"moe_num_experts\": 8, \"moe_top_k\": 2, "
      "\"moe_expert_parallel_size\": 4");
  ASSERT_TRUE(r.model.moe);
  EXPECT_EQ(r.model.moe->num_moe_experts, 8);
  EXPECT_EQ(r.model.moe->moe_router_topk, 2);
  EXPECT_EQ(r.model.moe->moe_layer_interval, 2);
  EXPECT_EQ(r.layout.expert_parallel_size, 4);
}

}  // namespace
}  // namespace meshwright::interop
