// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/read_launch/megatron.h"
#include "interop/read_launch/megatron_arguments.h"
#include "sim/base/error.h"
#include "tests/unit/error_of.h"

namespace meshwright::interop {
namespace {

using testing::HasSubstr;

const std::string kSmall =
    "torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py --num-layers 8 --hidden-size 256 "
    "--num-attention-heads 8 --seq-length 128 --max-position-embeddings 128 --micro-batch-size 1 "
    "--global-batch-size 32 --train-iters 100 ";

LaunchRecord read_script(const std::string& more, const std::string& before = "") {
  return read_megatron_script(before + kSmall + more, "train.sh", {});
}

std::string script_error(const std::string& more, const std::string& before = "") {
  return error_of([&] { read_script(more, before); });
}

TEST(MegatronLaunch, DefaultsAreMegatrons) {
  const LaunchRecord record = read_script("--bf16");
  EXPECT_EQ(record.gpus, 16);
  EXPECT_EQ(record.gpus_per_node, 8);
  const Model& m = record.model;
  EXPECT_EQ(m.ffn_hidden_size, 1024);  // 4 x 256
  EXPECT_EQ(m.num_query_groups, 8);
  EXPECT_EQ(m.position_embedding, PositionEmbedding::learned);
  EXPECT_EQ(m.vocab_size, 50257);  // of GPT-2's tokenizer
  EXPECT_TRUE(m.tied_embeddings);
  EXPECT_TRUE(record.job.dropout);  // 0.1
  EXPECT_EQ(record.job.gradient_precision, Precision::fp32);
  EXPECT_FALSE(record.layout.overlap_p2p_comm);  // without virtual stages
  EXPECT_DOUBLE_EQ(*record.job.train_tokens, 100.0 * 32 * 128);
  EXPECT_EQ(record.framework, "megatron-core-2026");
  EXPECT_TRUE(record.not_understood.empty());
}

// 4 x 256 x 2 / 3 = 682.7, in whole 64s: 640.
TEST(MegatronLaunch, AGatedMlpIsTwoThirdsAsWide) {
  EXPECT_EQ(read_script("--swiglu").model.ffn_hidden_size, 640);
}

TEST(MegatronLaunch, Fp16ReducesInFp16UnlessTold) {
  EXPECT_EQ(read_script("--fp16").job.gradient_precision, Precision::fp16);
  EXPECT_EQ(read_script("--fp16 --accumulate-allreduce-grads-in-fp32").job.gradient_precision,
            Precision::fp32);
}

TEST(MegatronLaunch, LayersAChunkBecomeChunksAStage) {
  const LaunchRecord record =
      read_script("--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 2");
  EXPECT_EQ(record.layout.virtual_pipeline_parallel_size, 2);  // 8 / 2 / 2
  EXPECT_EQ(record.layout.schedule, PipelineSchedule::interleaved);
  EXPECT_TRUE(record.layout.overlap_p2p_comm);
}

TEST(MegatronLaunch, ExpertLayersAreAPattern) {
  const LaunchRecord record = read_script(
      "--bf16 --num-experts 4 --moe-layer-freq \"([0]*2+[1]*6)\" --expert-model-parallel-size 2 "
      "--moe-token-dispatcher-type flex --moe-enable-deepep");
  EXPECT_EQ(record.model.moe->num_first_dense_layers, 2);
  EXPECT_EQ(record.model.moe->moe_layer_interval, 1);
  EXPECT_EQ(record.layout.expert_parallel_size, 2);
  EXPECT_EQ(record.layout.moe_token_dispatcher_type, MoeTokenDispatcherType::flex);
  EXPECT_THAT(script_error("--num-experts 4 --moe-layer-freq [1,0,0,1,1,1,1,1]"),
              HasSubstr("no regular pattern"));
}

TEST(MegatronLaunch, WhatIsNotModelledAndWhatIsNotKnownIsListed) {
  const LaunchRecord record =
      read_script("--bf16 \\\n --defer-embedding-wgrad-compute --of-tomorrow 1 2");
  ASSERT_EQ(record.not_understood.size(), 2U);
  EXPECT_EQ(record.not_understood[0].said, "--defer-embedding-wgrad-compute");
  EXPECT_THAT(record.not_understood[0].why, HasSubstr("not modelled"));
  EXPECT_EQ(record.not_understood[1].said, "--of-tomorrow 1 2");
  EXPECT_EQ(record.not_understood[1].place.line, 2);
}

// "$@" and variables that nobody set may hold options: they are named, and the option before them
// keeps its value.
TEST(MegatronLaunch, VariablesThatMayHoldOptionsAreNamed) {
  const LaunchRecord record =
      read_script("--tensor-model-parallel-size 2 $EXTRA --bf16 $MORE \"$@\"");
  EXPECT_EQ(record.layout.tensor_parallel_size, 2);
  EXPECT_EQ(record.job.precision, Precision::bf16);
  ASSERT_EQ(record.not_understood.size(), 3U);
  EXPECT_EQ(record.not_understood[0].said, "$EXTRA");
  EXPECT_THAT(record.not_understood[0].why, HasSubstr("may hold options"));
  EXPECT_THAT(script_error("--tensor-model-parallel-size $TP"),
              HasSubstr("the file does not set it"));
}

TEST(MegatronLaunch, OptionsUnderAConditionAreNamed) {
  const LaunchRecord record =
      read_script("${MORE[@]}", "MORE=(--bf16)\nif [[ $TP -gt 1 ]]; then\n  MORE+=(--fp16)\nfi\n");
  EXPECT_EQ(record.job.precision, Precision::bf16);
  ASSERT_EQ(record.not_understood.size(), 1U);
  EXPECT_EQ(record.not_understood[0].said, "--fp16");
  EXPECT_THAT(record.not_understood[0].why, HasSubstr("under a condition"));
}

// Options alone, without the program that takes them.
TEST(MegatronLaunch, OptionsAloneAreRead) {
  const std::string options = kSmall.substr(kSmall.find("--num-layers"));
  const LaunchRecord record = read_megatron_script(options + "--bf16\n", "args.txt", {});
  EXPECT_EQ(record.model.num_layers, 8);
  EXPECT_TRUE(record.not_understood.empty());
}

// As people paste it: a fence, a prompt, and the prompts of continued lines.
TEST(MegatronLaunch, APastedBlockIsRead) {
  std::string command = kSmall;
  command.insert(command.find("--num-attention-heads"), "\\\n>   ");
  const LaunchRecord record =
      read_megatron_script("```\n$ " + command + "\\\n> --bf16\n```\n", "issue.txt", {});
  EXPECT_EQ(record.gpus, 16);
  EXPECT_EQ(record.model.num_attention_heads, 8);
  EXPECT_EQ(record.job.precision, Precision::bf16);
  EXPECT_TRUE(record.not_understood.empty());
}

// bash ends the command at the comment: what follows is given to nobody.
TEST(MegatronLaunch, OptionsBehindACommentAreNamed) {
  const LaunchRecord record = read_script(
      "--bf16 \\\n  # --sequence-parallel \\\n  --tensor-model-parallel-size 2 --fp16 \\\n");
  EXPECT_EQ(record.layout.tensor_parallel_size, 1);
  ASSERT_EQ(record.not_understood.size(), 1U);
  EXPECT_EQ(record.not_understood[0].said, "--tensor-model-parallel-size 2 ...");
  EXPECT_THAT(record.not_understood[0].why, HasSubstr("belong to no command"));
  EXPECT_EQ(record.not_understood[0].place.line, 3);
}

// Where the cut-off part has the most options, nothing tells what the command itself is.
TEST(MegatronLaunch, ACommandThatIsCutInTwoIsRefused) {
  const std::string rest =
      "--num-layers 8 --hidden-size 256 --num-attention-heads 8 --seq-length 128 "
      "--max-position-embeddings 128 --micro-batch-size 1 --global-batch-size 32\n";
  for (const char* cut : {"\\\n  # --sequence-parallel \\\n  ", "\\ \n  "}) {
    const std::string error = error_and_hint_of([&] {
      read_megatron_script(
          "torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py "
          "--tensor-model-parallel-size 2 " +
              (cut + rest),
          "train.sh", {});
    });
    EXPECT_THAT(error, HasSubstr("--num-layers ...: these options belong to no command")) << cut;
    EXPECT_THAT(error, HasSubstr("ends the command of line 1")) << cut;
  }
  // A file of options alone is one launch.
  EXPECT_EQ(read_megatron_script(rest, "train.sh", {}).model.num_layers, 8);
}

// The number of nodes does not hang on the words of the program behind it.
TEST(MegatronLaunch, AnUnknownPathOfTheProgramLeavesTheDevices) {
  std::string command = kSmall;
  command.replace(command.find("pretrain_gpt.py"), 15, "/opt/$VERSION/pretrain_gpt.py");
  const LaunchRecord record = read_megatron_script(command, "train.sh", {});
  EXPECT_EQ(record.gpus, 16);
  EXPECT_TRUE(record.not_understood.empty());
}

TEST(MegatronLaunch, AnUnknownNumberOfNodesIsKept) {
  std::string command = kSmall;
  command.replace(command.find("--nnodes 2"), 10, "--nnodes $N");
  const LaunchRecord record = read_megatron_script(command, "train.sh", {});
  EXPECT_EQ(record.gpus, 0);
  EXPECT_EQ(record.unknown_gpus, "--nnodes $N: N: the file does not set it");
}

// Options may come from a file, which is not read: a size may be among them.
TEST(MegatronLaunch, OptionsThatACommandPrintsAreRefused) {
  for (const char* before : {"ARGS=$(cat args.txt | tr a b)\n", "ARGS=`cat args.txt`\n"}) {
    std::string command = kSmall;
    command.insert(command.find("--num-layers"), "$ARGS ");
    const std::string error =
        error_of([&] { read_megatron_script(before + command, "train.sh", {}); });
    EXPECT_THAT(error, HasSubstr("it holds options, and commands are not run")) << before;
  }
}

TEST(MegatronLaunch, AnArgumentBlockSaysTheSame) {
  const std::string block =
      "0: ------------------------ arguments ------------------------\r\n"
      "0:   add_bias_linear ................................ False\r\n"
      "0:   attention_backend .............................. AttnBackend.auto\r\n"
      "0:   bf16 ........................................... True\r\n"
      "0:   cp_comm_type ................................... ['p2p']\r\n"
      "0:   ffn_hidden_size ................................ 1024\r\n"
      "0:   fp8 ............................................ None\r\n"
      "0:   global_batch_size .............................. 32\r\n"
      "0:   hidden_dropout ................................. 0.0\r\n"
      "0:   attention_dropout .............................. 0.0\r\n"
      "0:   hidden_size .................................... 256\r\n"
      "0:   max_position_embeddings ........................ 128\r\n"
      "0:   micro_batch_size ............................... 1\r\n"
      "0:   num_attention_heads ............................ 8\r\n"
      "0:   num_layers ..................................... 8\r\n"
      "0:   overlap_p2p_comm ............................... False\r\n"
      "0:   padded_vocab_size .............................. 51200\r\n"
      "0:   recompute_granularity .......................... selective\r\n"
      "0:   recompute_modules .............................. ['core_attn']\r\n"
      "0:   seq_length ..................................... 128\r\n"
      "0:   sequence_parallel .............................. True\r\n"
      "0:   tensor_model_parallel_size ..................... 2\r\n"
      "0:   use_distributed_optimizer ...................... True\r\n"
      "0:   world_size ..................................... 16\r\n"
      "0: -------------------- end of arguments ---------------------\r\n";
  EXPECT_TRUE(has_megatron_argument_block(block));
  const LaunchRecord record = read_megatron_argument_block(block, "train.log", {});
  EXPECT_EQ(record.gpus, 16);
  EXPECT_EQ(record.model.vocab_size, 51200);
  EXPECT_FALSE(record.model.add_bias_linear);
  EXPECT_EQ(record.layout.zero_stage, 1);
  EXPECT_TRUE(record.layout.sequence_parallel);
  EXPECT_EQ(record.layout.recompute_granularity, RecomputeGranularity::selective);
  EXPECT_EQ(record.job.precision, Precision::bf16);
  EXPECT_TRUE(record.not_understood.empty());
  EXPECT_EQ(record.read.front().place.text(), "train.log:24");
}

struct Refused {
  const char *options, *says, *before = "";
};

// One case of each assertion that is carried.
TEST(MegatronLaunch, WhatArgumentsPyAssertsIsRefused) {
  const Refused cases[] = {
      {"--overlap-param-gather --overlap-grad-reduce", "--use-distributed-optimizer"},
      {"--overlap-param-gather --use-distributed-optimizer", "--overlap-grad-reduce"},
      {"--tp-comm-overlap --tensor-model-parallel-size 2", "--sequence-parallel"},
      {"--recompute-granularity selective --recompute-method block", "selective"},
      {"--use-torch-fsdp2 --pipeline-model-parallel-size 2", "pipeline"},
      {"--use-torch-fsdp2 --bf16 --num-experts 4 --expert-model-parallel-size 2", "expert"},
      {"--use-torch-fsdp2 --use-distributed-optimizer", "--use-distributed-optimizer"},
      {"--use-torch-fsdp2", "--untie-embeddings-and-output-weights"},
      {"--use-torch-fsdp2 --untie-embeddings-and-output-weights --fp16", "fp16"},
      {"--use-megatron-fsdp", "fsdp_dtensor"},
      {"--use-megatron-fsdp --ckpt-format fsdp_dtensor", "CUDA_DEVICE_MAX_CONNECTIONS",
       "export CUDA_DEVICE_MAX_CONNECTIONS=1\n"},
      {"--fp8-format hybrid --fp8-param-gather --bf16", "sharded"},
      {"--optimizer-cpu-offload", "--use-precision-aware-optimizer"},
      {"--fp16 --num-experts 4 --expert-model-parallel-size 2", "fp16"},
      {"--num-experts 4 --moe-grouped-gemm", "--bf16"},
      {"--mtp-num-layers 1", "rotary"},
      {"--cuda-graph-impl local --recompute-granularity full", "full recompute"},
      {"--distribute-saved-activations", "full recompute"},
      {"--fp16 --bf16", "exclude"},
      {"--context-parallel-size 4 --hierarchical-context-parallel-sizes 3 2", "multiply"},
      {"--seq-length 256", "--seq-length"},
      {"--num-virtual-stages-per-pipeline-rank 2 --num-layers-per-virtual-pipeline-stage 2",
       "one of"},
      {"--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 3",
       "do not divide"},
      {"--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout 'Et*4|t*2|t*2L'",
       "do not divide"},
  };
  for (const Refused& c : cases) {
    EXPECT_THAT(script_error(c.options, c.before), HasSubstr(c.says)) << c.options;
  }
}

TEST(MegatronLaunch, ValuesAreCheckedAtTheirLine) {
  EXPECT_THAT(script_error("--bf16 \\\n--tensor-model-parallel-size two"),
              HasSubstr("train.sh:2: --tensor-model-parallel-size two: must be a whole number"));
  EXPECT_THAT(script_error("--recompute-granularity some"), HasSubstr("none, selective, full"));
}

TEST(MegatronArguments, AreFoundByNameAndByKey) {
  EXPECT_EQ(megatron_argument("--disable-bias-linear")->key, "add_bias_linear");
  EXPECT_EQ(megatron_argument_of_key("fp8")->flag, "--fp8-format");
  EXPECT_EQ(megatron_argument("--of-tomorrow"), nullptr);
}

}  // namespace
}  // namespace meshwright::interop
