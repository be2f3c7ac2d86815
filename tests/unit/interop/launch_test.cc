// SPDX-License-Identifier: Apache-2.0
#include "interop/write_launch/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/record/json.h"
#include "tests/unit/llama_model.h"

namespace meshwright::interop {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Example : Scenario {
  Layout layout;
  [[nodiscard]] Training training() const { return {*this, layout}; }
};

Example llama() {
  Example example;
  example.model = llama_model();
  example.cluster.gpus_per_node = 8;
  example.cluster.num_nodes = 4;
  example.job.global_batch_size = 256;
  example.layout.tensor_parallel_size = 4;
  example.layout.pipeline_parallel_size = 2;
  example.layout.data_parallel_size = 4;
  example.layout.micro_batch_size = 2;
  example.layout.sequence_parallel = true;
  example.layout.zero_stage = 1;
  return example;
}

TEST(Launch, LauncherWithoutAWordForLoraWritesNothing) {
  Example example = llama();
  example.job.lora_rank = 16;
  for (const LaunchFile& file : launches(example.training())) {
    const bool without = file.target == "Megatron-LM" || file.target == "torchtitan" ||
                         file.target == "nanotron" || file.target == "llm-foundry";
    EXPECT_EQ(without, file.refusal == "it has no word for LoRA") << file.target;
    if (without) {
      EXPECT_EQ(file.text, "") << file.target;
    }
  }
}

TEST(Launch, MegatronGetsSizesModelAndNodes) {
  Example example = llama();
  example.layout.virtual_pipeline_parallel_size = 4;
  example.layout.schedule = PipelineSchedule::interleaved;
  example.layout.overlap_p2p_comm = true;
  const std::string text = megatron_lm(example.training()).text;
  for (const char* line :
       {"--tensor-model-parallel-size 4\n", "--sequence-parallel\n",
        "--pipeline-model-parallel-size 2\n", "--num-virtual-stages-per-pipeline-rank 4\n",
        "--use-distributed-optimizer\n", "--micro-batch-size 2\n", "--global-batch-size 256\n",
        "--group-query-attention\n", "--num-query-groups 8\n", "--swiglu\n",
        "--normalization RMSNorm\n", "--untie-embeddings-and-output-weights\n", "--bf16\n",
        "CUDA_DEVICE_MAX_CONNECTIONS=1\n", "--nproc_per_node 8 --nnodes 4 ", "--mock-data\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  // Derived by the launcher, or not asked for.
  for (const char* word : {"data-parallel-size", "--no-overlap-p2p", "--recompute", "context-p"}) {
    EXPECT_THAT(text, Not(HasSubstr(word)));
  }
}

TEST(Launch, MegatronGetsTheFormatsOfAnFp8Job) {
  Example example = llama();
  example.job.precision = Precision::fp8;
  example.job.gradient_precision = Precision::bf16;
  example.job.fp8_param_gather = true;
  example.job.cross_entropy_loss_fusion = true;
  const std::string text = megatron_lm(example.training()).text;
  for (const char* line :
       {"--bf16\n", "--fp8-format hybrid\n", "--fp8-param-gather\n", "--grad-reduce-in-bf16\n",
        "--cross-entropy-loss-fusion\n", "--cross-entropy-fusion-impl te\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  // Without a distributed optimizer Megatron-LM refuses it.
  example.layout.zero_stage = 0;
  EXPECT_THAT(megatron_lm(example.training()).text, Not(HasSubstr("--fp8-param-gather")));
}

TEST(Launch, MegatronGetsModulesByItsOwnNames) {
  Example example = llama();
  example.model.moe = MixtureOfExperts{};
  example.job.precision = Precision::fp8;
  example.layout.recompute_granularity = RecomputeGranularity::selective;
  example.layout.recompute_modules = {kRecomputeMoe};
  EXPECT_THAT(megatron_lm(example.training()).text, HasSubstr("--recompute-modules moe\n"));
  EXPECT_THAT(megatron_lm(example.training()).text, Not(HasSubstr("--fp8-recipe")));
  example.layout.recompute_modules = {kRecomputeLayerNorm | kRecomputeMoeActivation};
  example.layout.offload_modules = {kOffloadCoreAttention | kOffloadExpertFc1};
  const std::string text = megatron_lm(example.training()).text;
  for (const char* line :
       {"--recompute-granularity selective\n", "--recompute-modules layernorm moe_act\n",
        "--fine-grained-activation-offloading\n", "--offload-modules core_attn expert_fc1\n",
        "export NVTE_CPU_OFFLOAD_V1=1\n",
        // With Megatron-LM's default, delayed scaling, these modules are refused.
        "--fp8-recipe tensorwise\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  example.job.fp8_recipe = Fp8Recipe::mxfp8;
  EXPECT_THAT(megatron_lm(example.training()).text, HasSubstr("--fp8-recipe mxfp8\n"));
}

TEST(Launch, MegatronShardsByItsOwnFsdpFromZeroTwoOn) {
  Example example = llama();
  example.layout = {.tensor_parallel_size = 2, .data_parallel_size = 16};
  example.layout.sequence_parallel = true;
  example.layout.zero_stage = 3;
  const std::string text = megatron_lm(example.training()).text;
  EXPECT_THAT(text, HasSubstr("--data-parallel-sharding-strategy optim_grads_params\n"));
  // Several hardware queues are what FSDP overlaps with.
  EXPECT_THAT(text, Not(HasSubstr("CUDA_DEVICE_MAX_CONNECTIONS")));
}

// 3 dense layers, then 58 of experts, as DeepSeek-V3.
TEST(Launch, MegatronGetsTheExpertLayers) {
  Example example = llama();
  example.model.num_layers = 61;
  example.model.moe = MixtureOfExperts{};
  example.model.moe->num_moe_experts = 256;
  example.model.moe->moe_router_topk = 8;
  example.model.moe->moe_ffn_hidden_size = 2048;
  example.model.moe->num_first_dense_layers = 3;
  example.layout.expert_parallel_size = 8;
  example.layout.expert_tensor_parallel_size = 1;
  const std::string text = megatron_lm(example.training()).text;
  EXPECT_THAT(text, HasSubstr("--moe-layer-freq \"[0]*3+[1]*58\"\n"));
  EXPECT_THAT(text, HasSubstr("--expert-model-parallel-size 8\n"));
  EXPECT_THAT(text, HasSubstr("--expert-tensor-parallel-size 1\n"));
}

// The list says the virtual size; Megatron-LM takes one of the two options.
TEST(Launch, MegatronGetsTheListOfStages) {
  Example example = llama();
  example.layout.virtual_pipeline_parallel_size = 2;
  example.layout.schedule = PipelineSchedule::interleaved;
  example.layout.pipeline_layout =
      std::get<PipelineLayout>(read_pipeline_layout("Et*7|t*9|t*9|t*7L"));
  const std::string text = megatron_lm(example.training()).text;
  EXPECT_THAT(text, HasSubstr("--pipeline-model-parallel-layout \"Et*7|(t*9|)*2t*7L\"\n"));
  EXPECT_THAT(text, Not(HasSubstr("--num-virtual-stages-per-pipeline-rank")));
}

TEST(Launch, MegatronRefusesSchedulesItDoesNotHave) {
  Example example = llama();
  example.layout.schedule = PipelineSchedule::zb_h1;
  const LaunchFile launch = megatron_lm(example.training());
  EXPECT_EQ(launch.text, "");
  EXPECT_THAT(launch.refusal, HasSubstr("zb_h1"));
}

TEST(Launch, TorchtitanCannotSayZeroOne) {
  EXPECT_THAT(torchtitan(llama().training()).refusal, HasSubstr("ZeRO 1"));
}

TEST(Launch, TorchtitanGetsShardsAndReplicas) {
  Example example = llama();
  example.layout = {.tensor_parallel_size = 8, .data_parallel_size = 4};
  example.layout.sequence_parallel = true;
  example.layout.zero_stage = 3;
  example.layout.fsdp_unit = FsdpUnit::block;
  example.layout.zero_shard_size = 2;
  const std::string text = torchtitan(example.training()).text;
  EXPECT_THAT(text, HasSubstr("data_parallel_replicate_degree = 2\n"));
  EXPECT_THAT(text, HasSubstr("data_parallel_shard_degree = 2\n"));
  EXPECT_THAT(text, HasSubstr("fsdp_reshard_after_forward = \"always\"\n"));
}

// 256 sequences over 16 replicas of 2 at a time: 8 times; 2 x 8 x 16 = 256, DeepSpeed's own check.
TEST(Launch, DeepSpeedsBatchIsMicroTimesAccumulationTimesReplicas) {
  Example example = llama();
  example.layout = {.data_parallel_size = 16, .micro_batch_size = 2, .zero_stage = 2};
  const auto json = Json::parse(deepspeed(example.training()).text);
  EXPECT_EQ(json["train_batch_size"], 256);
  EXPECT_EQ(json["train_micro_batch_size_per_gpu"], 2);
  EXPECT_EQ(json["gradient_accumulation_steps"], 8);
  EXPECT_EQ(json["zero_optimization"]["stage"], 2);
  EXPECT_FALSE(json.contains("tensor_parallel"));
}

TEST(Launch, DeepSpeedRefusesAPipeline) {
  EXPECT_THAT(deepspeed(llama().training()).refusal, HasSubstr("PipelineModule"));
}

// 32 devices on four nodes of eight, all below one leaf of 32 nodes.
TEST(Launch, SlurmGetsNodesRanksAndSwitches) {
  const std::string text = sbatch(llama().training()).text;
  for (const char* line : {"#SBATCH --nodes=4\n", "#SBATCH --gpus-per-node=8\n",
                           "#SBATCH --ntasks-per-node=1\n", "#SBATCH --switches=1\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

std::string racks_job(int gpus) {
  Example example = llama();
  example.cluster.gpus_per_node = 72;
  example.cluster.gpus_per_tray = 4;
  example.cluster.num_nodes = 2;
  example.model.moe = MixtureOfExperts{};
  example.layout = {.data_parallel_size = gpus, .expert_parallel_size = 64};
  return sbatch(example.training()).text;
}

// 128 devices in racks of 72: 32 trays of four. 64 expert ranks want 16 trays of one rack, and 16
// divides 32.
TEST(Launch, SlurmKeepsRacksTogether) {
  const std::string text = racks_job(128);
  EXPECT_THAT(text, HasSubstr("#SBATCH --nodes=32\n"));
  EXPECT_THAT(text, HasSubstr("#SBATCH --gpus-per-node=4\n"));
  EXPECT_THAT(text, HasSubstr("#SBATCH --segment=16\n"));
  EXPECT_THAT(text, Not(HasSubstr("--switches")));
}

// 36 trays: Slurm refuses 16, which does not divide them; a rack of 18 does. 34 trays: 17 does.
// 35: of 16, 17 and 18 none does.
TEST(Launch, SlurmsSegmentDividesTheNodes) {
  EXPECT_THAT(racks_job(144), HasSubstr("#SBATCH --segment=18\n"));
  EXPECT_THAT(racks_job(136), HasSubstr("#SBATCH --segment=17\n"));
  EXPECT_THAT(racks_job(140), Not(HasSubstr("--segment")));
}

TEST(Launch, LlmFoundryIsWrittenForMptAlone) {
  EXPECT_THAT(llm_foundry(llama().training()).refusal, HasSubstr("MPT"));
  Example mpt = llama();
  mpt.model.activation = Activation::gelu;
  mpt.model.ffn_hidden_size = 4 * mpt.model.hidden_size;
  mpt.model.position_embedding = PositionEmbedding::alibi;
  mpt.layout = {.data_parallel_size = 32, .micro_batch_size = 2, .zero_stage = 3};
  mpt.layout.fsdp_unit = FsdpUnit::block;
  const std::string text = llm_foundry(mpt.training()).text;
  for (const char* line :
       {"max_seq_len: 4096\n", "global_train_batch_size: 256\n", "  expansion_ratio: 4\n",
        "    alibi: true\n", "  sharding_strategy: FULL_SHARD\n", "precision: amp_bf16\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(Launch, EveryFrameworkAnswersWithAFileOrAReason) {
  for (const LaunchFile& launch : launches(llama().training())) {
    EXPECT_NE(launch.text.empty(), launch.refusal.empty()) << launch.target;
    EXPECT_FALSE(launch.names_of.empty());
  }
}

}  // namespace
}  // namespace meshwright::interop
