// SPDX-License-Identifier: Apache-2.0
// Shapes of public launches that were once misread: each gives its right answer, or a refusal that
// says why. None gives a verdict on options that were dropped.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "sim/record/json.h"
#include "tests/paths.h"
#include "tests/unit/app/run_program.h"

namespace meshwright::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// A text in a folder of its own, removed at the end.
class Written {
 public:
  explicit Written(const std::string& name)
      : folder_(std::filesystem::temp_directory_path() / name) {
    std::filesystem::create_directories(folder_);
  }
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;
  ~Written() { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = folder_ / name;
    std::ofstream(path) << text;
    return path.string();
  }

 private:
  std::filesystem::path folder_;
};

class ReviewCases : public testing::Test {
 protected:
  static std::string name() {
    return fmt::format("meshwright-{}-{}",
                       testing::UnitTest::GetInstance()->current_test_info()->name(), getpid());
  }
  ProgramResult review(const std::string& text, const std::string& file,
                       std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"review", "--from", written_.file(file, text), "--json"});
    return run_program(arguments);
  }
  // The answer of one that is read.
  Json read(const std::string& text, const std::string& file, std::vector<std::string> arguments) {
    const ProgramResult result = review(text, file, std::move(arguments));
    EXPECT_LE(result.exit_code, 1) << result.err;
    return result.out.empty() ? Json{} : Json::parse(result.out);
  }
  // The message of one that is refused.
  std::string refused(const std::string& text, const std::string& file,
                      std::vector<std::string> arguments) {
    const ProgramResult result = review(text, file, std::move(arguments));
    EXPECT_EQ(result.exit_code, 2) << result.out;
    EXPECT_EQ(result.out, "");
    return result.err;
  }
  Written written_{name()};
};

std::vector<std::string> assumed(const Json& json) {
  std::vector<std::string> said;
  for (const auto& fact : json["launch"]["assumed"]) {
    said.push_back(
        fmt::format("{} {}", fact["field"].get<std::string>(), fact["value"].get<std::string>()));
  }
  return said;
}

constexpr const char* kModel =
    " --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 "
    "--max-position-embeddings 4096 --vocab-size 131072 --bf16 ";

TEST_F(ReviewCases, AnArrayInAQuotedVariable) {
  const auto json = read(fmt::format("#!/bin/bash\n#SBATCH --nodes=16\n#SBATCH --gpus-per-node=4\n"
                                     "ARGS=(\n{}--micro-batch-size 1\n--global-batch-size 128\n)\n"
                                     "CMD=\"python3 pretrain_gpt.py ${{ARGS[@]}}\"\n"
                                     "srun -lu bash -c \"RANK=\\$SLURM_PROCID numactl $CMD\"\n",
                                     kModel),
                         "train.sh", {"--cluster", "gh200-alps-512"});
  EXPECT_EQ(json["layout"]["data_parallel_size"], 64);
  EXPECT_EQ(json["layout"]["micro_batch_size"], 1);
  EXPECT_EQ(json["job"]["global_batch_size"], 128);
  EXPECT_EQ(json["job"]["precision"], "bf16");
  EXPECT_EQ(json["model"]["num_layers"], 32);
}

TEST_F(ReviewCases, ACommandThatAConditionExtends) {
  const auto json =
      read(fmt::format("#SBATCH --nodes=16\n#SBATCH --gpus-per-node=4\n"
                       "CMD=\"python3 pretrain_gpt.py {} --micro-batch-size 1 "
                       "--global-batch-size 256 --use-distributed-optimizer --overlap-grad-reduce "
                       "--overlap-param-gather\"\n"
                       "if [ -n \"$WANDB_API_KEY\" ]; then\n CMD=\"$CMD --wandb-project p\"\nfi\n"
                       "if [ \"$NSYS\" = true ]; then\n CMD=\"nsys profile $CMD --profile\"\nfi\n"
                       "srun bash -c \"numactl $CMD\"\n",
                       kModel),
           "train.sh", {"--cluster", "gh200-alps-512"});
  EXPECT_EQ(json["layout"]["data_parallel_size"], 64);
  EXPECT_EQ(json["layout"]["zero_stage"], 1);
  EXPECT_EQ(json["layout"]["overlap_param_gather"], true);
  EXPECT_TRUE(json["without"].empty()) << json["without"];
  std::string left_out;
  for (const auto& item : json["launch"]["not_understood"]) {
    left_out += item["said"].get<std::string>() + "\n";
  }
  EXPECT_THAT(left_out, AllOf(HasSubstr("--wandb-project p"), HasSubstr("--profile")));
}

TEST_F(ReviewCases, LinearAttentionIsRefusedWithItsLayers) {
  const std::string message = refused(
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 48 --hidden-size 2048 "
      "--num-attention-heads 16 --seq-length 4096 --max-position-embeddings 4096 "
      "--vocab-size 151936 --micro-batch-size 1 --global-batch-size 256 --bf16 "
      "--linear-attention-type gated_delta_net --linear-attention-freq 4 "
      "--attention-output-gate\n",
      "train.sh", {"--cluster", "hgx-h100-400g"});
  EXPECT_THAT(message, HasSubstr("36 of 48 layers are gated delta nets"));
  EXPECT_THAT(message, Not(HasSubstr("no option")));
}

TEST_F(ReviewCases, PrimusIsReadAsMegatronsArguments) {
  const auto json = read(
      "exp_name: a-run\nmodules:\n  pre_trainer:\n    framework: megatron\n"
      "    config: pre_trainer.yaml\n    model: llama3.1_70B.yaml\n    overrides:\n"
      "      micro_batch_size: 3\n      global_batch_size: 24\n      seq_length: 8192\n"
      "      max_position_embeddings: 8192\n      tensor_model_parallel_size: 1\n"
      "      pipeline_model_parallel_size: 1\n      overlap_grad_reduce: true\n"
      "      use_torch_fsdp2: true\n      use_distributed_optimizer: false\n"
      "      recompute_granularity: full\n      recompute_method: block\n"
      "      recompute_num_layers: 80\n",
      "run.yaml", {"--cluster", "mi300x-512", "--gpus", "8", "--model", "llama-3-70b"});
  EXPECT_EQ(json["launch"]["target"], "Primus");
  EXPECT_EQ(json["uncertain"], true);  // 194.6 GiB of 192: it is shipped as fitting
  EXPECT_EQ(json["layout"]["zero_stage"], 3);
  EXPECT_EQ(json["layout"]["micro_batch_size"], 3);
  EXPECT_EQ(json["layout"]["recompute_granularity"], "full");
  EXPECT_EQ(json["job"]["seq_length"], 8192);
  EXPECT_EQ(json["job"]["precision"], "bf16");
}

TEST_F(ReviewCases, LaunchBlockingIsTheFirstSuspectOfASlowRun) {
  std::string log;
  for (int i = 0; i < 20; ++i) {
    log += fmt::format(
        " iteration {}/ 1000 | consumed samples: {} | elapsed time per iteration (ms): {}.0 | "
        "global batch size: 1024 | lm loss: 2.1E+00 |\n",
        2000 + i, 1024 * (2000 + i), 4862 + i % 5);
  }
  const std::string script = fmt::format(
      "#SBATCH --nodes=128\n#SBATCH --gres=gpu:4\nexport CUDA_LAUNCH_BLOCKING=1\n"
      "srun bash -c \"torchrun --nproc_per_node 4 --nnodes 128 pretrain_gpt.py {} --swiglu "
      "--tensor-model-parallel-size 4 --pipeline-model-parallel-size 4 --micro-batch-size 2 "
      "--global-batch-size 1024\"\n",
      kModel);
  const std::string log_file = written_.file("run.log", log);
  const auto json = read(script, "train.sh", {"--cluster", "hgx-h100-400g", "--log", log_file});
  ASSERT_EQ(json["launch"]["environment"].size(), 1U);
  EXPECT_EQ(json["launch"]["environment"][0]["name"], "CUDA_LAUNCH_BLOCKING");
  EXPECT_EQ(json["launch"]["environment"][0]["place"]["line"], 3);
  EXPECT_LT(json["step_error"], -0.4);
  const ProgramResult text = run_program({"review", "--from", written_.file("again.sh", script),
                                          "--cluster", "hgx-h100-400g", "--log", log_file});
  EXPECT_THAT(text.out, HasSubstr("First suspect: CUDA_LAUNCH_BLOCKING=1"));
}

// All devices of the cluster would be a guess.
TEST_F(ReviewCases, ANumberOfDevicesThatIsNotKnownIsRefused) {
  const std::string script = fmt::format(
      "torchrun --nproc_per_node 8 --nnodes $NODES pretrain_gpt.py {} --swiglu "
      "--tensor-model-parallel-size 4 --micro-batch-size 2 --global-batch-size 1024\n",
      kModel);
  const std::vector<std::string> on{"--cluster", "hgx-h100-400g"};
  const std::string message = refused(script, "train.sh", on);
  EXPECT_THAT(message, AllOf(HasSubstr("the number of devices is not known: --nnodes $NODES"),
                             HasSubstr("--gpus N")));
  const auto json = read(script, "train.sh", {"--cluster", "hgx-h100-400g", "--set", "NODES=4"});
  EXPECT_EQ(json["layout"]["data_parallel_size"], 8);
  EXPECT_EQ(read(script, "train.sh",
                 {"--cluster", "hgx-h100-400g", "--gpus", "64"})["layout"]["data_parallel_size"],
            16);
}

constexpr const char* kPositional =
    "MODEL_SIZE=$1\nTP=$2\nif [ $MODEL_SIZE = 8B ]; then\n  NUM_LAYERS=36\n"
    "elif [ $MODEL_SIZE = A3B ]; then\n  NUM_LAYERS=48\nfi\n"
    "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers ${NUM_LAYERS} --hidden-size 2048 "
    "--num-attention-heads 32 --seq-length 128 --max-position-embeddings 128 --micro-batch-size 1 "
    "--global-batch-size 8 --tensor-model-parallel-size ${TP} --vocab-size 151936 --bf16\n";

TEST_F(ReviewCases, ArgumentsOfAScriptDecideItsConditions) {
  const std::vector<std::string> on{"--cluster", "hgx-h100-400g"};
  for (const std::vector<std::string>& given :
       {std::vector<std::string>{"--args", "A3B 4"},
        std::vector<std::string>{"--set", "1=A3B", "--set", "2=4"},
        std::vector<std::string>{"--set", "MODEL_SIZE=A3B", "--set", "TP=4"}}) {
    std::vector<std::string> arguments = on;
    arguments.insert(arguments.end(), given.begin(), given.end());
    const auto json = read(kPositional, "train.sh", arguments);
    EXPECT_EQ(json["model"]["num_layers"], 48);
    EXPECT_EQ(json["layout"]["tensor_parallel_size"], 4);
    EXPECT_EQ(json["layout"]["data_parallel_size"], 2);
  }
  const std::string message = refused(kPositional, "train.sh", on);
  EXPECT_THAT(message,
              AllOf(HasSubstr("NUM_LAYERS"), HasSubstr("MODEL_SIZE"), HasSubstr("--args")));
}

TEST_F(ReviewCases, ExpertSizesAreTakenWhereTheModelIsNamedBeside) {
  const auto json = read(
      "torchrun --nnodes 8 --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size 8 "
      "--pipeline-model-parallel-size 4 --context-parallel-size 2 "
      "--expert-model-parallel-size 16 --expert-tensor-parallel-size 1 --sequence-parallel "
      "--micro-batch-size 1 --global-batch-size 128 --seq-length 4096 --bf16 "
      "--use-distributed-optimizer\n",
      "train.sh", {"--model", "glm-4.5", "--cluster", "hgx-h100-400g"});
  EXPECT_EQ(json["layout"]["expert_parallel_size"], 16);
  EXPECT_EQ(json["layout"]["expert_tensor_parallel_size"], 1);
  EXPECT_TRUE(json["launch"]["not_understood"].empty());
}

TEST_F(ReviewCases, SwiftsUnderscoresAreMegatronsOptions) {
  const auto json = read(
      "NNODES=2 \\\nNODE_RANK=0 \\\nmegatron sft \\\n  --load Qwen3-30B-A3B-Base-mcore \\\n"
      "  --tensor_model_parallel_size 2 \\\n  --expert_model_parallel_size 8 \\\n"
      "  --moe_grouped_gemm true \\\n  --micro_batch_size 1 \\\n  --global_batch_size 16 \\\n"
      "  --packing true \\\n  --recompute_granularity full \\\n"
      "  --recompute_method uniform \\\n  --recompute_num_layers 1 \\\n"
      "  --max_length 8192 \\\n  --sequence_parallel true \\\n  --lr 1e-5\n",
      "train.sh", {"--model", "qwen3-30b-a3b", "--cluster", "hgx-h100-400g", "--gpus", "16"});
  EXPECT_EQ(json["launch"]["target"], "ms-swift");
  EXPECT_EQ(json["fits"], true);
  EXPECT_EQ(json["layout"]["tensor_parallel_size"], 2);
  EXPECT_EQ(json["layout"]["expert_parallel_size"], 8);
  EXPECT_EQ(json["layout"]["sequence_parallel"], true);
  EXPECT_EQ(json["layout"]["zero_stage"], 1);
  EXPECT_EQ(json["layout"]["recompute_granularity"], "full");
  EXPECT_EQ(json["job"]["seq_length"], 8192);
  EXPECT_EQ(json["job"]["precision"], "bf16");
}

TEST_F(ReviewCases, UnderscoresAreNoOptionsOfMegatronItself) {
  const std::string message =
      refused(fmt::format("torchrun --nproc_per_node 8 pretrain_gpt.py {} --micro-batch-size 1 "
                          "--global-batch-size 64 --tensor_model_parallel_size 4\n",
                          kModel),
              "train.sh", {"--cluster", "hgx-h100-400g"});
  EXPECT_THAT(message, AllOf(HasSubstr("--tensor_model_parallel_size 4"),
                             HasSubstr("--tensor-model-parallel-size"), HasSubstr("read:")));
}

TEST_F(ReviewCases, ReinforcementLearningIsRefusedByName) {
  const std::string message = refused(
      "TP=4\npython3 -m verl.trainer.main_ppo data.train_batch_size=128 "
      "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 "
      "actor_rollout_ref.actor.megatron.tensor_model_parallel_size=${TP} "
      "actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=2 "
      "trainer.n_gpus_per_node=8 trainer.nnodes=4\n",
      "run.sh", {"--model", "qwen3-30b-a3b", "--cluster", "h200-512"});
  EXPECT_THAT(message, AllOf(HasSubstr("verl"), HasSubstr("reinforcement learning"),
                             HasSubstr("tp=4,pp=2"), HasSubstr("meshwright estimate")));
}

TEST_F(ReviewCases, NeoxIsRead) {
  const auto json = read(
      "{\n  \"pipe_parallel_size\": 1,\n  \"model_parallel_size\": 4,\n  # sizes\n"
      "  \"num_layers\": 36, \"hidden_size\": 5120, \"num_attention_heads\": 40,\n"
      "  \"seq_length\": 2048, \"max_position_embeddings\": 2048, \"pos_emb\": \"rotary\",\n"
      "  \"no_weight_tying\": true, \"gpt_j_residual\": true,\n"
      "  \"attention_config\": [[[\"flash\"], 36]],\n"
      "  \"zero_optimization\": { \"stage\": 1 },\n"
      "  \"train_micro_batch_size_per_gpu\": 8, \"gradient_accumulation_steps\": 2,\n"
      "  \"checkpoint_activations\": true, \"fp16\": { \"enabled\": true }\n}\n",
      "12B.yml", {"--cluster", "a100-80gb-512", "--gpus", "256"});
  EXPECT_EQ(json["launch"]["target"], "GPT-NeoX");
  EXPECT_EQ(json["layout"]["tensor_parallel_size"], 4);
  EXPECT_EQ(json["layout"]["data_parallel_size"], 64);
  EXPECT_EQ(json["layout"]["zero_stage"], 1);
  EXPECT_EQ(json["layout"]["recompute_granularity"], "full");
  EXPECT_EQ(json["model"]["parallel_attention_mlp"], true);
  EXPECT_EQ(json["job"]["global_batch_size"], 8 * 2 * 64);
}

TEST_F(ReviewCases, AnAutoBatchIsAssumedAloudAndEagerAttentionIsWeighed) {
  const std::string model = written_.file(
      "model.json",
      R"({"model_type":"opt","ffn_dim":28672,"hidden_size":7168,"max_position_embeddings":2048,)"
      R"("num_attention_heads":56,"num_hidden_layers":48,"vocab_size":50000,)"
      R"("word_embed_proj_dim":7168,"do_layer_norm_before":true})");
  const auto json =
      read(R"({"train_micro_batch_size_per_gpu":"auto","gradient_accumulation_steps":"auto",)"
           R"("fp16":{"enabled":true},"zero_optimization":{"stage":3,)"
           R"("offload_optimizer":{"device":"cpu"},"offload_param":{"device":"cpu"}}})",
           "ds.json",
           {"--model", model, "--seq-length", "2048", "--cluster", "a100-80gb-8", "--gpus", "16"});
  EXPECT_THAT(assumed(json),
              AllOf(Contains("global_batch_size 16"), Contains("micro_batch_size 1")));
  EXPECT_THAT(json["without"].dump(), HasSubstr("offload_param"));
  EXPECT_EQ(json["uncertain"], true);
  EXPECT_GT(json["eager_attention_peak_bytes"].get<double>(), 0.97 * 79.2 * 1073741824);
}

TEST_F(ReviewCases, OlmosYamlIsRead) {
  const auto json = read(
      "run_name: OLMo-1B\nmodel:\n  d_model: 2048\n  n_heads: 16\n  n_layers: 16\n"
      "  mlp_ratio: 8\n  weight_tying: true\n  alibi: false\n  rope: true\n"
      "  flash_attention: true\n  include_bias: false\n  block_type: sequential\n"
      "  layer_norm_type: default\n  activation_type: swiglu\n"
      "  max_sequence_length: 2048\n  vocab_size: 50280\n  embedding_size: 50304\n"
      "distributed_strategy: fsdp\nfsdp:\n  wrapping_strategy: by_block_and_size\n"
      "  precision: mixed\n  sharding_strategy: SHARD_GRAD_OP\n"
      "global_train_batch_size: 256\ndevice_train_microbatch_size: 2\nprecision: amp_bf16\n",
      "olmo.yaml", {"--cluster", "a100-80gb-8", "--gpus", "4"});
  EXPECT_EQ(json["launch"]["target"], "OLMo");
  EXPECT_EQ(json["model"]["ffn_hidden_size"], 8192);
  EXPECT_EQ(json["layout"]["zero_stage"], 2);
  EXPECT_EQ(json["layout"]["micro_batch_size"], 2);
  EXPECT_EQ(json["job"]["global_batch_size"], 256);
}

TEST_F(ReviewCases, AnOptionThatChangesTheAnswerIsNamedInTheVerdict) {
  const std::string text = fmt::format(
      "torchrun --nproc_per_node 8 pretrain_gpt.py {} --micro-batch-size 1 --global-batch-size 64 "
      "--tensor-model-parallel-size 4 --attention-output-gate --wandb-run-of-tomorrow x\n",
      kModel);
  const auto json = read(text, "train.sh", {"--cluster", "hgx-h100-400g"});
  EXPECT_EQ(json["without"], Json::array({"--attention-output-gate"}));
  EXPECT_EQ(json["launch"]["harmless"], Json::array({"--wandb-run-of-tomorrow x"}));
  const ProgramResult out = run_program(
      {"review", "--from", written_.file("again.sh", text), "--cluster", "hgx-h100-400g"});
  EXPECT_THAT(out.out, HasSubstr(", without --attention-output-gate"));
}

TEST_F(ReviewCases, LoraIsReadAndOtherAdaptersAreRefused) {
  const auto launch = [](const std::string& kind) {
    return "megatron sft --train_type " + kind +
           " --lora_rank 8 --micro_batch_size 1 --global_batch_size 16 --max_length 2048 "
           "--tensor_model_parallel_size 2\n";
  };
  const std::vector<std::string> where{"--model",       "llama-3-8b", "--cluster",
                                       "hgx-h100-400g", "--gpus",     "8"};
  EXPECT_EQ(read(launch("lora"), "train.sh", where)["job"]["lora_rank"], 8);
  EXPECT_THAT(refused(launch("adalora"), "train.sh", where), HasSubstr("adapters of this kind"));
}

TEST_F(ReviewCases, AConfigurationThatAScriptWritesIsRead) {
  const auto json = read(
      "cat > cfg.yaml <<EOF\nmodel:\n  tensor_model_parallel_size: 2\n  seq_length: 4096\n"
      "train: { micro_batch_size: 1, global_batch_size: 64 }\nEOF\n"
      "torchrun --nproc_per_node 8 --nnodes 2 pretrain.py --config-file cfg.yaml\n",
      "train.sh", {"--model", "llama-3-8b", "--cluster", "hgx-h100-400g"});
  EXPECT_EQ(json["launch"]["target"], "Megatron-Bridge");
  EXPECT_EQ(json["layout"]["tensor_parallel_size"], 2);
  EXPECT_EQ(json["layout"]["data_parallel_size"], 8);
}

TEST_F(ReviewCases, ALogOfAnotherModelIsNotUsed) {
  const std::string log = written_.file(
      "other.log",
      "[rank0]:[titan] 2025-06-01 12:00:01,000 - root - INFO - Model llama3 8B size: 8,030,261,248 "
      "total parameters\n"
      "[rank0]:[titan] 2025-06-01 12:00:02,000 - root - INFO - step:  1  loss:  8.1  memory: "
      "47.12GiB(49.58%)  tps: 6,140  tflops: 356.21  mfu: 36.02%\n");
  const auto json =
      read(fmt::format("torchrun --nproc_per_node 8 pretrain_gpt.py {} --micro-batch-size 1 "
                       "--global-batch-size 64 --tensor-model-parallel-size 4\n",
                       kModel),
           "train.sh", {"--cluster", "hgx-h100-400g", "--log", log});
  EXPECT_THAT(json["log_refused"].get<std::string>(), HasSubstr("8.03"));
  EXPECT_TRUE(json["measured"].is_null());
  EXPECT_FALSE(json.contains("step_error"));
}

TEST_F(ReviewCases, ALogsParametersOnRanksAreCompared) {
  const std::string step =
      " iteration 10/ 100 | elapsed time per iteration (ms): 9000.0 | global batch size: 64 |\n";
  const std::string script = fmt::format(
      "torchrun --nproc_per_node 8 pretrain_gpt.py {} --micro-batch-size 1 "
      "--global-batch-size 64 --tensor-model-parallel-size 4\n",
      kModel);
  const std::string line =
      " > number of parameters on (tensor, pipeline) model parallel rank (0, 0): ";
  // 32 layers of 12 x 4,096^2 and 131,072 + 4,096 rows of 4,096, over four ranks: 1.75 G.
  const auto same = read(script, "train.sh",
                         {"--cluster", "hgx-h100-400g", "--log",
                          written_.file("same.log", line + "1746000000\n" + step)});
  EXPECT_FALSE(same.contains("log_refused")) << same["log_refused"];
  const auto other = read(script, "train.sh",
                          {"--cluster", "hgx-h100-400g", "--log",
                           written_.file("other.log", line + "5000000000\n" + step)});
  EXPECT_TRUE(other.contains("log_refused"));
}

TEST_F(ReviewCases, AStepThatNoDeviceCanMakeIsNotUsed) {
  const std::string log = written_.file(
      "fast.log",
      " iteration 10/ 100 | elapsed time per iteration (ms): 90.0 | global batch size: 64 |\n");
  const auto json = read(fmt::format("torchrun --nproc_per_node 8 pretrain_gpt.py {} "
                                     "--micro-batch-size 1 --global-batch-size 64 "
                                     "--tensor-model-parallel-size 4\n",
                                     kModel),
                         "train.sh", {"--cluster", "hgx-h100-400g", "--log", log});
  EXPECT_THAT(json["log_refused"].get<std::string>(), HasSubstr("peak"));
  EXPECT_FALSE(json.contains("step_error"));
}

// Shards of 4, 2 copies and 2 tensor ranks are 16 devices.
TEST_F(ReviewCases, AxolotlsMeshIsRead) {
  const auto json = read(
      "base_model: meta-llama/Llama-3.1-8B\ndp_shard_size: 4\ndp_replicate_size: 2\n"
      "tensor_parallel_size: 2\nfsdp_version: 2\nfsdp_config:\n  offload_params: false\n"
      "  auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  reshard_after_forward: true\n"
      "sequence_len: 2048\nsample_packing: true\ngradient_accumulation_steps: 1\n"
      "micro_batch_size: 1\noptimizer: adamw_torch_fused\nbf16: true\n",
      "a.yaml", {"--cluster", "hgx-h100-400g", "--gpus", "16"});
  EXPECT_EQ(json["launch"]["target"], "axolotl");
  EXPECT_EQ(json["layout"]["tensor_parallel_size"], 2);
  EXPECT_EQ(json["layout"]["data_parallel_size"], 8);
  EXPECT_EQ(json["layout"]["zero_shard_size"], 4);
  EXPECT_EQ(json["layout"]["zero_stage"], 3);
  EXPECT_EQ(json["job"]["seq_length"], 2048);
  EXPECT_EQ(json["job"]["global_batch_size"], 8);
  EXPECT_TRUE(json["launch"]["not_understood"].empty());
}

// A layer of 16,384 tokens keeps 56h bytes a token (activation_memory_test.cc), 24 layers of 2,048
// columns 45.1 GB; the loss has 12 bytes for each of 16,384 x 49,152 logits, 9.7 GB.
TEST_F(ReviewCases, EagerModelsOfTransformersKeepMore) {
  const std::string model = written_.file(
      "smol.json",
      R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
          "hidden_size": 2048, "intermediate_size": 8192, "max_position_embeddings": 8192,
          "num_attention_heads": 32, "num_hidden_layers": 24, "num_key_value_heads": 32,
          "tie_word_embeddings": true, "vocab_size": 49152})");
  const std::string text =
      "base_model: a/b\nsequence_len: 16384\nsample_packing: true\nmicro_batch_size: 1\n"
      "gradient_accumulation_steps: 1\noptimizer: adamw_8bit\nbf16: auto\n"
      "flash_attention: true\ngradient_checkpointing: ";
  const std::vector<std::string> on{"--model", model, "--cluster", "h100-8", "--gpus", "1"};
  const auto without = read(text + "false\n", "a.yaml", on);
  EXPECT_EQ(without["job"]["kernel_fusion"], "transformers");
  EXPECT_EQ(without["job"]["exp_avg_precision"], "fp8");
  EXPECT_EQ(without["job"]["master_weights"], false);
  EXPECT_EQ(read(text + "true\n", "a.yaml", on)["fits"], true);
}

}  // namespace
}  // namespace meshwright::test
