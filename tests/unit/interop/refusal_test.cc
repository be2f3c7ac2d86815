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
    if (name != "x.toml") return std::nullopt;
    return "[training]\nlocal_batch_size = 1\nseq_len = 4096\n[parallelism]\n"
           "tensor_parallel_degree = 8\n";
  };
  const std::string command = "torchrun --nproc_per_node 8 train.py --job.config_file x.toml ";
  EXPECT_THAT(refusal(command + "--parallelism.pipeline_parallel_degree 8\n", read),
              HasSubstr("--parallelism.pipeline_parallel_degree 8"));
  const LaunchRecord record =
      read_launch(command + "--activation_checkpoint.mode none --metrics.log_freq 1\n", "run",
                  with_model(), read);
  EXPECT_EQ(record.gpus, 8);
  EXPECT_EQ(unread(record), (std::vector<std::string>{"--activation_checkpoint.mode none"}));
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
  EXPECT_THAT(refusal("torchrun pretrain.py peft=lora model.tensor_model_parallel_size=2 "
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
