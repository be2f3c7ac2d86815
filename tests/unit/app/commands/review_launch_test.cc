// SPDX-License-Identifier: Apache-2.0
// The launch that a review writes is read back by a review as the proposed layout, whatever form
// the launch has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/record/json.h"
#include "tests/paths.h"
#include "tests/unit/app/run_program.h"

namespace meshwright::test {
namespace {

using testing::HasSubstr;
using testing::Not;

// Scripts as people write them: arrays, a string, a variable of each size, another spelling.
constexpr const char* kArrays = R"(#!/bin/bash
#SBATCH --nodes=4
#SBATCH --gpus-per-node=8
# Llama-like, don't touch the ports
export CUDA_DEVICE_MAX_CONNECTIONS=1
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
MODEL_ARGS=(
  --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336
  --num-attention-heads 32 --group-query-attention --num-query-groups 8
  --seq-length 4096 --max-position-embeddings 4096 --position-embedding-type rope
  --swiglu --normalization RMSNorm --disable-bias-linear
  --untie-embeddings-and-output-weights --vocab-size 128256
)
TRAIN_ARGS=(
  --micro-batch-size 1   # one sequence
  --global-batch-size 256
  --bf16
  --recompute-activations
)
srun torchrun --nproc_per_node 8 --nnodes 4 --rdzv_endpoint "$(hostname):29500" \
  pretrain_gpt.py "${MODEL_ARGS[@]}" "${TRAIN_ARGS[@]}" \
  --tensor-model-parallel-size 4 --pipeline-model-parallel-size 2 --sequence-parallel \
  --num-layers-per-virtual-pipeline-stage 4 \
  --use-distributed-optimizer $EXTRA
echo "done: $?"
)";

constexpr const char* kString = R"(TP=8
PP=1
GPT="--num-layers 40 --hidden-size 5120 --num-attention-heads 40 --seq-length 4096 \
  --max-position-embeddings 4096 --vocab-size 32000 --bf16 --swiglu --ffn-hidden-size 13824 \
  --micro-batch-size ${MBS:-1} --global-batch-size 512 \
  --recompute-granularity full --recompute-method uniform --recompute-num-layers 1"
cmd="torchrun --nproc_per_node=8 --nnodes=8 pretrain_gpt.py $GPT --tensor-model-parallel-size $TP \
  --pipeline-model-parallel-size=$PP"
eval $cmd
)";

constexpr const char* kQwen = R"(megatron sft --model Qwen/Qwen3-30B-A3B \
    --expert_model_parallel_size 4 \
    --micro_batch_size 1 --global_batch_size 64 \
    --packing true \
    --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 \
    --max_length 8192 \
    --sequence_parallel true
)";

constexpr const char* kTitanScript =
    "#!/bin/bash\nNGPU=8 MODULE=qwen3 CONFIG=qwen3_14b ./run_train.sh "
    "--training.local_batch_size 4 --training.seq_len 4096 \\\n"
    "  --activation_checkpoint.mode selective\n";

constexpr const char* kTrlYaml = R"(compute_environment: LOCAL_MACHINE
distributed_type: FSDP
fsdp_config:
  fsdp_version: 2
  fsdp_reshard_after_forward: true
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
mixed_precision: bf16
num_machines: 2
num_processes: 16
)";
constexpr const char* kTrlScript =
    "export NCCL_DEBUG=WARN\n"
    "accelerate launch --config_file fsdp.yaml \\\n"
    "  sft.py --model_name_or_path Qwen/Qwen3-8B --bf16 --max_length 4096 --packing \\\n"
    "  --per_device_train_batch_size 1 --gradient_accumulation_steps 8 \\\n"
    "  --gradient_checkpointing True\n";

constexpr const char* kDeepSpeedJson = R"({
  "train_batch_size": "auto",
  "train_micro_batch_size_per_gpu": "auto",
  "gradient_accumulation_steps": "auto",
  "zero_optimization": { "stage": 3, "overlap_comm": true },
  "bf16": { "enabled": true }
})";
constexpr const char* kDeepSpeedScript =
    "deepspeed --num_nodes 2 --num_gpus 8 train.py --deepspeed ds.json \\\n"
    "  --model_name_or_path Qwen/Qwen3-8B --model_max_length 4096 --packing True \\\n"
    "  --per_device_train_batch_size 1 --gradient_accumulation_steps 8 \\\n"
    "  --gradient_checkpointing True --bf16 True\n";

constexpr const char* kAxolotl = R"(base_model: Qwen/Qwen3-8B
dp_shard_size: 16
fsdp_version: 2
fsdp_config:
  offload_params: false
  auto_wrap_policy: TRANSFORMER_BASED_WRAP
  reshard_after_forward: true
sequence_len: 4096
sample_packing: true
gradient_checkpointing: true  # memory first
gradient_accumulation_steps: 8
micro_batch_size: 1
bf16: true
)";

constexpr const char* kLlamaFactory = R"(model_name_or_path: Qwen/Qwen3-8B
stage: sft
finetuning_type: full
deepspeed: ds.json
cutoff_len: 4096
packing: true
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
bf16: true
)";

constexpr const char* kTitanToml = R"([model]
name = "llama3"
flavor = "8B"
[training]
local_batch_size = 1  # a rank
global_batch_size = 128
seq_len = 8192
[parallelism]
tensor_parallel_degree = 8
[activation_checkpoint]
mode = "full"
)";

constexpr const char* kNeMo = R"(trainer: { devices: 8, num_nodes: 4, precision: bf16 }
model:
  micro_batch_size: 1
  global_batch_size: 256
  encoder_seq_length: 4096
  max_position_embeddings: 4096
  num_layers: 32
  hidden_size: 4096
  ffn_hidden_size: 14336
  num_attention_heads: 32
  num_query_groups: 8
  tensor_model_parallel_size: 4
  pipeline_model_parallel_size: 2
  sequence_parallel: true
  activation: fast-swiglu
  normalization: rmsnorm
  activations_checkpoint_granularity: selective
)";

constexpr const char* kBridge =
    "torchrun --nnodes 2 --nproc_per_node 8 run_recipe.py --recipe qwen3_8b_pretrain_config \\\n"
    "  model.tensor_model_parallel_size=4 model.pipeline_model_parallel_size=2 \\\n"
    "  model.seq_length=4096 train.micro_batch_size=1 train.global_batch_size=1024 \\\n"
    "  mixed_precision=bf16_mixed ddp.use_distributed_optimizer=true \\\n"
    "  optimizer.use_distributed_optimizer=true  # the rest is the recipe's\n";

struct LaunchCase {
  const char* name;
  const char* file;
  const char* text;
  std::vector<std::string> more{};
  std::vector<std::pair<const char*, const char*>> beside{};
};

const std::vector<LaunchCase>& launch_cases() {
  static const std::vector<LaunchCase> cases{
      {"arrays", "train.sh", kArrays},
      {"string", "train.sh", kString},
      {"swift", "train.sh", kQwen, {"--gpus", "16"}},
      {"titan_script", "train.sh", kTitanScript},
      {"titan_toml", "train.toml", kTitanToml, {"--gpus", "16"}},
      {"trl", "train.sh", kTrlScript, {}, {{"fsdp.yaml", kTrlYaml}}},
      {"deepspeed", "train.sh", kDeepSpeedScript, {}, {{"ds.json", kDeepSpeedJson}}},
      {"axolotl", "train.yaml", kAxolotl, {"--gpus", "16"}},
      {"llama_factory",
       "train.yaml",
       kLlamaFactory,
       {"--gpus", "16"},
       {{"ds.json", kDeepSpeedJson}}},
      {"nemo", "train.yaml", kNeMo},
      {"bridge", "train.sh", kBridge, {"--model", "qwen3-8b"}}};
  return cases;
}

class ReviewLaunch : public testing::TestWithParam<LaunchCase> {
 protected:
  Json review(const std::string& file, const std::vector<std::string>& more) {
    const ProgramResult result = run_program(
        with(with({"review", "--from", file, "--cluster", "h100-512", "--json"}, GetParam().more),
             more));
    err_ = result.err;
    EXPECT_LE(result.exit_code, 1) << result.err;
    return result.out.empty() ? Json{} : Json::parse(result.out);
  }
  TemporaryFolder folder_;
  std::string err_;
};

TEST_P(ReviewLaunch, IsReadBackAsTheProposedLayout) {
  const LaunchCase& launch = GetParam();
  for (const auto& [name, text] : launch.beside) folder_.write(name, text);
  const std::string to = folder_.path(std::string("new.") + launch.file);
  const Json before =
      review(folder_.write(launch.file, launch.text), {"--top", "1", "--launch-out", to});
  ASSERT_FALSE(before["better"].empty());
  EXPECT_THAT(err_, Not(HasSubstr("is not written")));
  const Json after = review(to, {"--top", "1"});
  EXPECT_EQ(after["layout"], before["better"][0]["layout"]) << content_of(to);
  EXPECT_EQ(after["job"], before["job"]);
  EXPECT_EQ(after["model"], before["model"]);
}

INSTANTIATE_TEST_SUITE_P(Forms, ReviewLaunch, testing::ValuesIn(launch_cases()),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace meshwright::test
