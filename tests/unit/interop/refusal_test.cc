// SPDX-License-Identifier: Apache-2.0
// Launches that cannot be judged, because something that changes the answer was not read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/read_launch/read_launch.h"
#include "tests/unit/error_of.h"

namespace meshwright::interop {
namespace {

using testing::AllOf;
using testing::HasSubstr;

LaunchHints with_model() {
  LaunchHints hints;
  hints.model = Model{};
  hints.seq_length = 4096;
  return hints;
}

std::string refusal(const std::string& text, const ReadNamedFile& read = {}) {
  return error_of([&] { read_launch(text, "run", with_model(), read); });
}

std::vector<std::string> unread(const LaunchRecord& record) {
  std::vector<std::string> said;
  for (const NotUnderstood& item : record.not_understood) {
    if (changes_answer(item.effect) && !item.off) said.push_back(item.said);
  }
  return said;
}

constexpr const char* kMegatron =
    "torchrun --nproc_per_node 8 pretrain_gpt.py --micro-batch-size 1 --global-batch-size 8 --bf16 "
    "--seq-length 4096 ";

TEST(Refusal, SoftwareThatIsKnownByNameOnly) {
  for (const auto& [text, name] :
       {std::pair{"policy:\n  train_micro_batch_size: 4\ngrpo: { num_prompts_per_step: 32 }\n",
                  "NeMo-RL"},
        {"python train.py --rollout-batch-size 32 --tensor-model-parallel-size 2\n", "slime"},
        {"deepspeed --module openrlhf.cli.train_ppo --zero_stage 3\n", "OpenRLHF"},
        {"deepspeed --module openrlhf.cli.train_sft --zero_stage 3\n", "OpenRLHF's SFT"},
        {"tune run --nproc_per_node 8 full_finetune_distributed\n", "torchtune"}}) {
    EXPECT_THAT(refusal(text), AllOf(HasSubstr("is a launch of"), HasSubstr(name))) << text;
  }
}

TEST(Refusal, SoftwareThatIsNotKnownSaysItsSizes) {
  EXPECT_THAT(refusal("torchrun train.py --tp 4 --pp 2\n"), HasSubstr("though it names sizes"));
  EXPECT_THAT(refusal("{\"model_type\": \"llama\", \"hidden_size\": 4096}"),
              HasSubstr("config.json"));
  EXPECT_THAT(refusal("{\"tensor_parallel_degree\": 4, \"bf16\": true}"), HasSubstr("names sizes"));
}

TEST(Refusal, ASizeInAnotherSpelling) {
  EXPECT_THAT(refusal(std::string(kMegatron) + "--tp-size 4\n"), HasSubstr("tensor_parallel_size"));
  EXPECT_THAT(refusal("model:\n  tensor_parallel: 2\ntrain: { micro_batch_size: 1 }\n"),
              HasSubstr("was not read"));
  // Sizes of one, switches and other phases are none.
  EXPECT_NO_THROW(read_launch(
      std::string(kMegatron) + "--tp-size 1 --no-pipeline-parallel --eval-micro-batch-size 4\n",
      "run", with_model()));
}

TEST(Refusal, OptionsOfACommandBesideItsConfiguration) {
  const ReadNamedFile read = [](const std::string& name) -> std::optional<std::string> {
    if (name != "x.yaml") return std::nullopt;
    return "model: { tensor_model_parallel_size: 2 }\n"
           "train: { micro_batch_size: 1, global_batch_size: 8 }\n";
  };
  const std::string command = "torchrun --nproc_per_node 8 train.py --config-file x.yaml ";
  EXPECT_THAT(refusal(command + "--pipeline_parallel_degree 8\n", read),
              HasSubstr("--pipeline_parallel_degree 8"));
  const LaunchRecord record =
      read_launch(command + "--activation_checkpoint.mode none --metrics.log_freq 1\n", "run",
                  with_model(), read);
  EXPECT_EQ(record.gpus, 8);
  EXPECT_EQ(unread(record), (std::vector<std::string>{"--activation_checkpoint.mode none"}));
}

TEST(Refusal, MaxTextSaysAllItsAxes) {
  const std::string message = error_and_hint_of([] {
    read_launch(
        "python3 -m MaxText.train MaxText/configs/base.yml model_name=llama3.1-405b \\\n"
        "  per_device_batch_size=2 max_target_length=8192 ici_fsdp_parallelism=8 \\\n"
        "  ici_tensor_parallelism=2 dcn_data_parallelism=-1 dcn_tensor_parallelism=4\n",
        "run", with_model());
  });
  EXPECT_THAT(message, AllOf(HasSubstr("is a launch of MaxText"),
                             HasSubstr("model_name=llama3.1-405b (line 1)"),
                             HasSubstr("dcn_data_parallelism=-1 (line 3)"),
                             HasSubstr("--layout tp=8,mbs=2,zero=3 --seq-length 8192")));
}

// Batches of tokens: 8,192 of 4,096 are two sequences.
TEST(Refusal, OlmoCoreCountsTokens) {
  const std::string message = error_and_hint_of([] {
    read_launch(
        "torchrun --nproc-per-node=8 src/scripts/train/OLMo2-7B.py train run01 local \\\n"
        "  --dataset.sequence_length=4096 --train_module.rank_microbatch_size=8192 \\\n"
        "  --data_loader.global_batch_size=1024*4096\n",
        "run", with_model());
  });
  EXPECT_THAT(message, AllOf(HasSubstr("is a launch of OLMo-core"), HasSubstr("dp_config"),
                             HasSubstr("--layout mbs=2 --global-batch-size 1024 "
                                       "--seq-length 4096")));
}

TEST(Refusal, NanotronsExperts) {
  EXPECT_THAT(refusal("model:\n  model_config:\n    is_qwen2_config: true\n"
                      "    moe_config: { num_experts: 8, top_k: 1 }\n"
                      "parallelism: { dp: 2, pp: 1, tp: 1 }\n"
                      "tokens: { micro_batch_size: 1, sequence_length: 128 }\n"),
              HasSubstr("layers with experts are not read of nanotron"));
}

TEST(Refusal, AutoModelsFileIsNotThere) {
  EXPECT_THAT(
      refusal("torchrun --nproc_per_node 8 nemo_automodel/recipes/llm/train_ft.py -c a.yaml\n"),
      HasSubstr("its YAML does not stand beside it"));
}

TEST(Refusal, SizesUnderAConditionThatIsNotKnown) {
  EXPECT_THAT(refusal("ARGS=\"--micro-batch-size 1\"\nif [ -f x ]; then\n"
                      "  ARGS=\"$ARGS --tensor-model-parallel-size 4\"\nfi\n" +
                      std::string(kMegatron) + "$ARGS\n"),
              AllOf(HasSubstr("under a condition"), HasSubstr("run:3")));
  EXPECT_THAT(refusal("if [ \"$BIG\" = 1 ]; then\n  ARGS=\"--tensor-model-parallel-size 4\"\n"
                      "else\n  ARGS=\"--tensor-model-parallel-size 2\"\nfi\n" +
                      std::string(kMegatron) + "$ARGS\n"),
              AllOf(HasSubstr("$ARGS: it holds options"), HasSubstr("BIG")));
}

TEST(Refusal, AConfigurationThatOverridesName) {
  EXPECT_THAT(refusal("python pretrain.py --config-name=my_gpt trainer.devices=8 "
                      "model.tensor_model_parallel_size=2 model.micro_batch_size=1\n"),
              HasSubstr("--config-name my_gpt"));
  EXPECT_THAT(refusal("torchrun pretrain.py peft=dora model.tensor_model_parallel_size=2 "
                      "train.micro_batch_size=1\n"),
              HasSubstr("adapters"));
}

TEST(Refusal, MegatronDeepSpeedsFileSaysTheStage) {
  const LaunchRecord record =
      read_launch("cat > ds.json <<EOF\n{\"zero_optimization\": {\"stage\": 2}}\nEOF\n" +
                      std::string(kMegatron) + "--deepspeed --deepspeed_config ds.json\n",
                  "run", with_model());
  EXPECT_EQ(record.layout.zero_stage, 2);
  EXPECT_TRUE(unread(record).empty());
  const LaunchRecord without = read_launch(
      std::string(kMegatron) + "--deepspeed --deepspeed_config ds.json\n", "run", with_model());
  EXPECT_EQ(unread(without), (std::vector<std::string>{"--deepspeed_config ds.json"}));
}

TEST(Refusal, UnreadKeysOfKnownSoftwareAreNamed) {
  EXPECT_EQ(
      unread(read_launch("{\"train_batch_size\": 64, \"zero_optimization\": {\"stage\": 2, "
                         "\"of_tomorrow\": true}, \"optimizer\": {\"type\": \"Lion\"}}",
                         "run", with_model())),
      (std::vector<std::string>{"optimizer.type = Lion", "zero_optimization.of_tomorrow = true"}));
  EXPECT_EQ(unread(read_launch("distributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n"
                               "  fsdp_auto_wrap_policy: NO_WRAP\n  fsdp_cpu_offload: true\n",
                               "run", with_model())),
            (std::vector<std::string>{"fsdp_config.fsdp_auto_wrap_policy = NO_WRAP",
                                      "fsdp_config.fsdp_cpu_offload = true"}));
}

}  // namespace
}  // namespace meshwright::interop
