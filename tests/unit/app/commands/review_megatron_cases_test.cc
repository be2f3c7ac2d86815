// SPDX-License-Identifier: Apache-2.0
// Shapes of public launches of the Megatron family that were once misread or refused.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "sim/record/json.h"
#include "tests/unit/app/run_program.h"

namespace meshwright::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class MegatronCases : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              fmt::format("meshwright-{}-{}",
                          testing::UnitTest::GetInstance()->current_test_info()->name(), getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string written(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  ProgramResult review(const std::string& name, const std::string& text,
                       std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"review", "--from", written(name, text), "--json"});
    return run_program(arguments);
  }
  Json read(const std::string& name, const std::string& text,
            std::vector<std::string> arguments) const {
    const ProgramResult result = review(name, text, std::move(arguments));
    EXPECT_LE(result.exit_code, 1) << result.err;
    return result.out.empty() ? Json{} : Json::parse(result.out);
  }

 private:
  std::filesystem::path folder_;
};

const std::string kNemo =
    "trainer: { devices: 8, precision: bf16 }\n"
    "model:\n  mcore_gpt: true\n  micro_batch_size: 1\n  global_batch_size: 1024\n"
    "  tensor_model_parallel_size: 2\n  pipeline_model_parallel_size: 4\n"
    "  virtual_pipeline_model_parallel_size: 20\n  encoder_seq_length: 8192\n"
    "  max_position_embeddings: 8192\n  num_layers: 80\n  hidden_size: 8192\n"
    "  num_attention_heads: 64\n  num_query_groups: 8\n  hidden_dropout: 0.0\n"
    "  attention_dropout: 0.0\n  normalization: rmsnorm\n  bias: false\n"
    "  activation: fast-swiglu\n  position_embedding_type: rope\n"
    "  share_embeddings_and_output_weights: false\n"
    "  tokenizer: { library: megatron, type: GPT2BPETokenizer }\n  megatron_amp_O2: true\n"
    "  sequence_parallel: true\n  fp8: true\n  fp8_hybrid: true\n  fp8_params: true\n"
    "  optim: { name: distributed_fused_adam, grad_sync_dtype: bf16 }\n";

TEST_F(MegatronCases, AResolverOfNemoAndAStatedKey) {
  const std::vector<std::string> where{"--cluster", "h200-512", "--gpus", "256"};
  const auto resolved =
      read("n.yaml", kNemo + "  ffn_hidden_size: ${multiply:4, ${.hidden_size}}\n", where);
  EXPECT_EQ(resolved["model"]["ffn_hidden_size"], 32768);
  EXPECT_EQ(resolved["job"]["fp8_param_gather"], true);
  EXPECT_TRUE(resolved["without"].empty()) << resolved["without"];
  for (const char* key : {"model.ffn_hidden_size=32768", "ffn_hidden_size=32768"}) {
    std::vector<std::string> with = where;
    with.insert(with.end(), {"--set", key});
    const auto stated =
        read("n.yaml", kNemo + "  ffn_hidden_size: ${lookup:4, ${.hidden_size}}\n", with);
    EXPECT_EQ(stated["model"]["ffn_hidden_size"], 32768);
  }
}

// Scores of 32,000 positions are not stored, and heads are grouped.
TEST_F(MegatronCases, DeepSpeedsSecondFlashAttention) {
  const auto json = read(
      "lucie.slurm",
      "#!/bin/bash\n#SBATCH --nodes=32\n#SBATCH --gres=gpu:4\n"
      "srun bash -c \"torchrun --nproc_per_node 4 --nnodes 32 pretrain_gpt.py "
      "--tensor-model-parallel-size 4 --pipeline-model-parallel-size 4 --micro-batch-size 4 "
      "--global-batch-size 128 --num-layers 32 --hidden-size 4096 --ffn-hidden-size 12288 "
      "--num-attention-heads 32 --num-key-value-heads 8 --seq-length 32000 "
      "--max-position-embeddings 32000 --use-rotary-position-embeddings "
      "--rotary-position-embeddings-theta 20000000 --untie-embeddings-and-output-weights --swiglu "
      "--normalization rmsnorm --disable-bias-linear --attention-dropout 0 --hidden-dropout 0 "
      "--bf16 --use-flash-attn-v2 --vocab-size 65024 --deepspeed --zero-stage 1 "
      "--recompute-granularity full --recompute-method uniform\"\n",
      {"--cluster", "hgx-h100-400g"});
  EXPECT_EQ(json["model"]["num_query_groups"], 8);
  EXPECT_EQ(json["model"]["normalization"], "rms_norm");
  EXPECT_EQ(json["job"]["attention_kernel"], "flash");
  EXPECT_TRUE(json["without"].empty()) << json["without"];
  EXPECT_EQ(json["fits"], true);
}

TEST_F(MegatronCases, ARecipeByItsName) {
  const std::string command =
      "./scripts/training/train.sh --nodes 2 --gpus-per-node 8 \\\n"
      "  --recipe qwen3_8b_pretrain_16gpu_h100_bf16_config --mode pretrain \\\n"
      "  --seq_length 4096 --max_steps 100 ddp.check_for_nan_in_grad=true "
      "logger.log_throughput=true\n";
  const auto json = read("r.sh", command, {"--cluster", "hgx-h100-400g"});
  EXPECT_EQ(json["model"]["name"], "qwen3-8b");
  EXPECT_EQ(json["layout"]["data_parallel_size"], 16);
  EXPECT_EQ(json["job"]["global_batch_size"], 1024);
  EXPECT_TRUE(json["without"].empty()) << json["without"];
  // 24.2 s; 25.07 s were measured.
  EXPECT_NEAR(json["estimate"]["step_time_seconds"].get<double>(), 24.2, 0.7);
  const ProgramResult asked =
      review("r.sh", "./train.sh --recipe qwen9_8b_pretrain_16gpu_h100_bf16_config a.b=1\n",
             {"--cluster", "hgx-h100-400g", "--model", "qwen3-8b"});
  EXPECT_EQ(asked.exit_code, 2);
  EXPECT_THAT(asked.err, AllOf(HasSubstr("model.tensor_model_parallel_size=..."),
                               HasSubstr("train.global_batch_size=...")));
}

TEST_F(MegatronCases, GraphsOfTheRouterAreALayoutField) {
  const auto json = read(
      "g.yaml",
      "model:\n  tensor_model_parallel_size: 1\n  pipeline_model_parallel_size: 1\n"
      "  expert_model_parallel_size: 16\n  expert_tensor_parallel_size: 1\n  seq_length: 4096\n"
      "  moe_token_dispatcher_type: flex\n  moe_flex_dispatcher_backend: hybridep\n"
      "  moe_flex_dispatcher_num_sms: 32\n  cuda_graph_impl: transformer_engine\n"
      "  cuda_graph_scope: [moe_router, moe_preprocess]\n"
      "ddp: { use_distributed_optimizer: true, overlap_grad_reduce: true, overlap_param_gather: "
      "true }\n"
      "comm_overlap: { tp_comm_overlap: false, delay_wgrad_compute: false }\n"
      "optimizer: { use_distributed_optimizer: true, use_precision_aware_optimizer: true,\n"
      "  main_grads_dtype: torch.bfloat16, exp_avg_dtype: torch.bfloat16,\n"
      "  exp_avg_sq_dtype: torch.bfloat16 }\n"
      "train: { micro_batch_size: 1, global_batch_size: 1024 }\nmixed_precision: bf16_mixed\n",
      {"--model", "qwen3-30b-a3b", "--cluster", "hgx-h100-400g", "--gpus", "16"});
  EXPECT_EQ(json["layout"]["cuda_graph_impl"], "transformer_engine");
  EXPECT_EQ(json["layout"]["cuda_graph_modules"], "moe_router+moe_preprocess");
  EXPECT_EQ(json["job"]["exp_avg_precision"], "bf16");
  EXPECT_EQ(json["job"]["gradient_precision"], "bf16");
  EXPECT_TRUE(json["launch"]["not_understood"].empty()) << json["launch"]["not_understood"];
}

TEST_F(MegatronCases, GptOssInMegatronsWords) {
  const auto json = read(
      "o.sh",
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2880 "
      "--ffn-hidden-size 2880 --num-attention-heads 64 --group-query-attention --num-query-groups "
      "8 --kv-channels 64 --seq-length 4096 --max-position-embeddings 131072 "
      "--position-embedding-type yarn --normalization RMSNorm --quick-geglu --glu-linear-offset "
      "1.0 --activation-func-clamp-value 7.0 --softmax-type learnable --window-size 128,0 "
      "--window-attn-skip-freq 2 --num-experts 32 --moe-router-topk 4 --moe-ffn-hidden-size 2880 "
      "--moe-grouped-gemm --moe-token-dispatcher-type alltoall --expert-model-parallel-size 8 "
      "--untie-embeddings-and-output-weights --vocab-size 201088 --micro-batch-size 1 "
      "--global-batch-size 64 --bf16 --use-distributed-optimizer\n",
      {"--cluster", "h100-8"});
  EXPECT_EQ(json["model"]["attention_sinks"], true);
  EXPECT_EQ(json["model"]["sliding_window_interval"], 2);
  EXPECT_EQ(json["model"]["activation_func_clamp_value"], 7.0);
  EXPECT_TRUE(json["without"].empty()) << json["without"];
  EXPECT_TRUE(json["launch"]["not_understood"].empty()) << json["launch"]["not_understood"];
}

TEST_F(MegatronCases, BridgesFp8PresetsKeepWeightsInFp8) {
  const auto json = read(
      "v.yaml",
      "model: { tensor_model_parallel_size: 4, pipeline_model_parallel_size: 4,\n"
      "  virtual_pipeline_model_parallel_size: 10, context_parallel_size: 1,\n"
      "  sequence_parallel: true, seq_length: 4096, recompute_granularity: selective,\n"
      "  recompute_modules: [core_attn], transformer_impl: transformer_engine }\n"
      "ddp: { use_distributed_optimizer: true, overlap_grad_reduce: true, overlap_param_gather: "
      "true }\n"
      "optimizer: { use_distributed_optimizer: true }\n"
      "train: { micro_batch_size: 1, global_batch_size: 32 }\n"
      "mixed_precision: bf16_with_fp8_current_scaling_mixed\n",
      {"--model", "llama-3-70b", "--cluster", "hgx-h100-400g", "--gpus", "32"});
  EXPECT_EQ(json["job"]["fp8_param_gather"], true);
  EXPECT_EQ(json["job"]["fp8_recipe"], "tensorwise");
  EXPECT_TRUE(json["launch"]["not_understood"].empty()) << json["launch"]["not_understood"];
}

}  // namespace
}  // namespace meshwright::test
