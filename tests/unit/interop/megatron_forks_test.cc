// SPDX-License-Identifier: Apache-2.0
// Options of Megatron-DeepSpeed, gpt-oss's in Megatron-LM, ms-swift's adapters, and YAML of Primus,
// FlagScale and Megatron-MoE-ModelZoo.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/read_launch/read_launch.h"
#include "sim/base/error.h"

namespace meshwright::interop {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kSizes =
    "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2880 "
    "--num-attention-heads 64 --seq-length 4096 --max-position-embeddings 4096 --vocab-size 1000 "
    "--micro-batch-size 1 --global-batch-size 64 --bf16 ";

LaunchRecord read(const std::string& more) { return read_launch(kSizes + more, "run.sh", {}); }

TEST(MegatronForks, DeepSpeedsFlashAttentionHasManyNames) {
  for (const char* name : {"--use-flash-attn-v1", "--use-flash-attn-v2", "--use-flash-attn-triton",
                           "--use-flash-attn-9", "--flash_attn_version 2"}) {
    const LaunchRecord r = read("--zero-stage 1 --deepspeed " + std::string(name));
    EXPECT_EQ(r.job.attention_kernel, AttentionKernel::flash) << name;
    EXPECT_TRUE(r.says_job("attention_kernel")) << name;
    EXPECT_EQ(r.framework, "megatron-deepspeed-2023") << name;
  }
  EXPECT_FALSE(read("--zero-stage 1 --deepspeed").says_job("attention_kernel"));
}

TEST(MegatronForks, DeepSpeedsOwnOptionsAreRead) {
  const LaunchRecord r = read(
      "--deepspeed --zero-stage 1 --num-key-value-heads 8 --rotary-position-embeddings-theta "
      "500000 "
      "--use-rotary-position-embeddings --universal-checkpoint --no-query-key-layer-scaling "
      "--normalization rmsnorm --use-flash-attn-v2 --num-experts 1 --no-pipeline-parallel "
      "--ds-sequence-parallel-size 4 --train-tokens 1000000");
  EXPECT_EQ(r.model.num_query_groups, 8);
  EXPECT_EQ(r.model.normalization, Normalization::rms_norm);
  EXPECT_FALSE(r.model.moe);
  EXPECT_EQ(r.layout.context_parallel_size, 4);
  EXPECT_EQ(r.layout.cp_comm_type, ContextParallelAlgorithm::a2a);
  EXPECT_THAT(r.not_understood, IsEmpty());
}

const std::string kGptOss =
    "--group-query-attention --num-query-groups 8 --kv-channels 64 --position-embedding-type yarn "
    "--normalization RMSNorm --quick-geglu --glu-linear-offset 1.0 "
    "--activation-func-clamp-value 7.0 --softmax-type learnable --num-experts 32 "
    "--moe-router-topk 4 --moe-ffn-hidden-size 2880 --untie-embeddings-and-output-weights ";

TEST(MegatronForks, GptOssIsReadInAllSpellings) {
  for (const char* window : {"128,0", "'(128, 0)'", "128 0", "'(128,0)'"}) {
    for (const char* skip : {"2", "'[1,0]*12'"}) {
      const LaunchRecord r =
          read(kGptOss + "--window-size " + window + " --window-attn-skip-freq " + skip);
      EXPECT_EQ(r.model.sliding_window, 129) << window;
      EXPECT_EQ(r.model.sliding_window_interval, 2) << skip;
      EXPECT_TRUE(r.model.attention_sinks);
      EXPECT_EQ(r.model.activation_func_clamp_value, 7.0);
      EXPECT_EQ(r.model.activation, Activation::geglu);
      EXPECT_TRUE(r.model.moe->moe_expert_bias);
      EXPECT_THAT(r.not_understood, IsEmpty());
    }
  }
  EXPECT_THROW(read(kGptOss + "--window-size 128,0 --window-attn-skip-freq '[1,0,0]*8'"),
               InputError);
}

LaunchRecord read_swift_options(const std::string& more) {
  LaunchHints hints;
  hints.seq_length = 2048;
  return read_launch(
      "NPROC_PER_NODE=2 \\\nmegatron sft \\\n --model Qwen/Qwen2.5-7B-Instruct \\\n"
      " --tensor_model_parallel_size 2 --micro_batch_size 16 --global_batch_size 16 " +
          more + "\n",
      "run.sh", hints);
}

TEST(MegatronForks, SwiftsLoraIsRead) {
  const LaunchRecord r = read_swift_options(
      "--tuner_type lora --lora_rank 16 --lora_alpha 32 --target_modules linear_qkv linear_proj "
      "--merge_lora true --lora_dropout 0.05");
  EXPECT_EQ(r.gpus, 2);
  EXPECT_EQ(r.job.lora_rank, 16);
  EXPECT_EQ(r.job.lora_target_modules.bits, kLoraQkv | kLoraProj);
  EXPECT_THAT(r.not_understood, IsEmpty());
  const LaunchRecord plain = read_swift_options("--train_type lora");
  EXPECT_EQ(plain.job.lora_rank, 8);
  EXPECT_EQ(plain.job.lora_target_modules.bits, kLoraQkv | kLoraProj | kLoraFc1 | kLoraFc2);
  EXPECT_EQ(read_swift_options("--train_type full --lora_rank 8").job.lora_rank, 0);
  EXPECT_THROW(read_swift_options("--train_type adalora"), InputError);
  EXPECT_THROW(read_swift_options("--train_type lora --use_dora true"), InputError);
  EXPECT_THROW(read_swift_options("--train_type lora --quant_method bnb"), InputError);
  EXPECT_THROW(read_swift_options("--train_type lora --target_regex '.*qkv'"), InputError);
}

TEST(MegatronForks, PrimusNamesItsModelInsideAText) {
  const LaunchRecord r = read_launch(
      "exp_name: ${EXP_NAME:x}\nmodules:\n  pre_trainer:\n    framework: megatron\n"
      "    config: pre_trainer.yaml\n    model: ${PRIMUS_MODEL:gpt_oss_20B}.yaml\n    overrides:\n"
      "      micro_batch_size: 4\n      global_batch_size: 640\n"
      "      seq_length: ${PRIMUS_SEQ_LENGTH:4096}\n      expert_model_parallel_size: "
      "${PRIMUS_EP:8}\n      tensor_model_parallel_size: ${PRIMUS_TP:1}\n"
      "      use_turbo_deepep: true\n      use_turbo_attention: true\n      load: null\n",
      "p.yaml", {});
  EXPECT_EQ(r.model_name, "gpt_oss_20B");
  EXPECT_EQ(r.layout.expert_parallel_size, 8);
  EXPECT_EQ(r.layout.moe_token_dispatcher_type, MoeTokenDispatcherType::flex);
  EXPECT_EQ(r.job.seq_length, 4096);
  EXPECT_THAT(r.assumed, Contains(Field(&Fact::field, "PRIMUS_EP")));
}

const std::string kFlagScale =
    "system:\n  tensor_model_parallel_size: 2\n  disable_bias_linear: True\n"
    "  use_flash_attn: True\n  use_distributed_optimizer: True\n  precision: { bf16: True }\n"
    "model:\n  num_layers: 32\n  hidden_size: 4096\n  num_attention_heads: 32\n"
    "  seq_length: 2048\n  max_position_embeddings: 2048\n  swiglu: true\n  multiple_of: 256\n"
    "  use_rotary_position_embeddings: true\n  normalization: RMSNorm\n  micro_batch_size: 2\n"
    "  global_batch_size: 64\n  optimizer: { lr_scheduler: { lr: 2.0e-5 } }\n"
    "data:\n  tokenizer: { tokenizer_type: AquilaTokenizerFS, vocab_size: 100008 }\n";

TEST(MegatronForks, FlagScalesExperimentNamesItsTrainingFile) {
  const std::string experiment =
      "defaults:\n  - train: 7b\n  - _self_\nexperiment:\n  exp_name: aquila\n"
      "  task: { type: train, backend: megatron }\n"
      "  runner: { backend: torchrun, nnodes: 2, nproc_per_node: 8 }\naction: run\n";
  const auto file = [](const std::string& name) -> std::optional<std::string> {
    if (name != "train/7b.yaml") return std::nullopt;
    return kFlagScale;
  };
  const LaunchRecord r = read_launch(experiment, "train.yaml", {}, file);
  EXPECT_EQ(r.gpus, 16);
  EXPECT_EQ(r.layout.tensor_parallel_size, 2);
  EXPECT_EQ(r.model.ffn_hidden_size, 11008);  // 10922 up to a whole 256
  EXPECT_EQ(r.model.vocab_size, 100008);
  EXPECT_EQ(r.job.attention_kernel, AttentionKernel::flash);
  EXPECT_THROW(read_launch(experiment, "train.yaml", {}), InputError);
  EXPECT_EQ(read_launch(kFlagScale, "7b.yaml", {}).gpus, 0);
}

TEST(MegatronForks, ModelZoosVariablesMustBeStated) {
  const std::string zoo =
      "ENV_VARS:\n  CUDA_DEVICE_MAX_CONNECTIONS: 1\nMODEL_ARGS:\n"
      "  --tensor-model-parallel-size: ${TP}\n  --num-layers: 48\n  --hidden-size: 2048\n"
      "  --num-attention-heads: 32\n  --seq-length: 4096\n  --max-position-embeddings: 40960\n"
      "  --micro-batch-size: ${MBS}\n  --global-batch-size: 256\n  --vocab-size: 151936\n"
      "  --bf16: true\n  --moe-router-pre-softmax: false\n  --save: ${OUT}/checkpoints\n";
  LaunchHints hints;
  EXPECT_THROW(read_launch(zoo, "zoo.yaml", hints), InputError);
  hints.variables = {{"TP", "2"}, {"MBS", "1"}};
  const LaunchRecord r = read_launch(zoo, "zoo.yaml", hints);
  EXPECT_EQ(r.layout.tensor_parallel_size, 2);
  EXPECT_EQ(r.layout.micro_batch_size, 1);
}

}  // namespace
}  // namespace meshwright::interop
