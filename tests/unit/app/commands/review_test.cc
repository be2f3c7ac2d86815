// SPDX-License-Identifier: Apache-2.0
// Five public shapes of a launch, each with a log in its software's shape, reviewed as a user
// would.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/record/json.h"
#include "tests/paths.h"
#include "tests/unit/app/run_program.h"

namespace meshwright::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string launch(const std::string& name) {
  return fmt::format("{}/tests/unit/app/launches/{}", MESHWRIGHT_SOURCE_DIR, name);
}

Json reviewed(std::vector<std::string> arguments, int exit_code = 0) {
  arguments.insert(arguments.begin(), "review");
  arguments.emplace_back("--json");
  const ProgramResult result = run_program(arguments);
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  if (result.out.empty()) return {};
  return Json::parse(result.out);
}

std::vector<std::string> not_understood(const Json& json) {
  std::vector<std::string> said;
  for (const auto& item : json["launch"]["not_understood"]) said.push_back(item["said"]);
  return said;
}

// 16 nodes of 8 leave 128 / (8 x 16) = 1 data-parallel rank. Of the log's twelve reports one is
// warm-up: 12 / 10.
TEST(Review, MegatronsGpt3) {
  const auto json = reviewed({"--from", launch("gpt3-175b.sh"), "--log", launch("gpt3-175b.log"),
                              "--cluster", "hgx-h100-400g"});
  EXPECT_EQ(json["launch"]["target"], "Megatron-LM");
  EXPECT_EQ(json["model"]["num_layers"], 96);
  EXPECT_EQ(json["model"]["ffn_hidden_size"], 4 * 12288);
  EXPECT_EQ(json["model"]["vocab_size"], 50257);  // of the log
  EXPECT_EQ(json["layout"]["tensor_parallel_size"], 8);
  EXPECT_EQ(json["layout"]["pipeline_parallel_size"], 16);
  EXPECT_EQ(json["layout"]["data_parallel_size"], 1);
  EXPECT_EQ(json["layout"]["zero_stage"], 0);
  EXPECT_EQ(json["layout"]["sequence_parallel"], false);
  EXPECT_EQ(json["job"]["global_batch_size"], 1536);
  EXPECT_EQ(json["job"]["precision"], "bf16");
  EXPECT_EQ(json["job"]["dropout"], false);
  EXPECT_THAT(not_understood(json), ElementsAre("--a-flag-of-tomorrow 3"));
  EXPECT_EQ(json["measured"]["steps"], 11);
  EXPECT_EQ(json["measured"]["warm_up_steps"], 1);
  // Sorted above 63,800 ms: -20 -9 -3 0 2 5 8 12 14 30 41; the sixth of eleven.
  EXPECT_NEAR(json["measured"]["step_seconds"].get<double>(), 63.805, 1e-9);
  EXPECT_EQ(json["measured"]["peak_memory_bytes"], 52110.5 * 1048576);
  ASSERT_EQ(json["parts"].size(), 3U);
  ASSERT_FALSE(json["better"].empty());
  const auto& best = json["better"][0];
  EXPECT_LT(best["predicted_ratio"], 1.0);
  EXPECT_NEAR(best["expected_step_seconds"].get<double>(),
              63.805 * best["predicted_ratio"].get<double>(), 1e-9);
  EXPECT_GT(best["probability_faster"], 0.5);
  EXPECT_FALSE(best["changes"].empty());
  // Typed options stay, except those that change.
  const std::string changed = json["changed_launch"];
  EXPECT_THAT(changed, HasSubstr("torchrun "));
  EXPECT_THAT(changed, HasSubstr("--num-layers 96"));
  EXPECT_THAT(changed, HasSubstr("--a-flag-of-tomorrow 3"));
  EXPECT_THAT(changed, HasSubstr("$2"));  // what is not known stays as typed
}

// 48 nodes of 8: 384 / (4 x 12) = 8 data-parallel ranks. 70 layers and the two ends over 12 stages.
TEST(Review, Blooms) {
  const auto json = reviewed({"--from", launch("bloom.slurm"), "--log", launch("bloom.log"),
                              "--cluster", "jean-zay-a100"});
  EXPECT_EQ(json["launch"]["target"], "Megatron-DeepSpeed");
  EXPECT_EQ(json["launch"]["framework"], "megatron-deepspeed-2022");
  EXPECT_EQ(json["model"]["position_embedding"], "alibi");
  EXPECT_EQ(json["model"]["embedding_layer_norm"], true);
  EXPECT_EQ(json["model"]["vocab_size"], 250880);
  const auto& layout = json["layout"];
  EXPECT_EQ(layout["tensor_parallel_size"], 4);
  EXPECT_EQ(layout["pipeline_parallel_size"], 12);
  EXPECT_EQ(layout["data_parallel_size"], 8);
  EXPECT_EQ(layout["micro_batch_size"], 2);
  EXPECT_EQ(layout["recompute_granularity"], "full");
  EXPECT_EQ(layout["account_for_embedding_in_pipeline_split"], true);
  EXPECT_EQ(layout["pipeline_engine"], "deepspeed");
  EXPECT_EQ(layout["all_reduce_gradients"], true);
  EXPECT_EQ(json["measured"]["steps_of_other_batches"], 1);  // the ramp, less its warm-up of two
  EXPECT_NEAR(json["measured"]["step_seconds"].get<double>(), 104.4, 0.11);
}

// tps is of one device: 8,192 tokens x 8 sequences a step over 8 devices at 6,155 a second each.
TEST(Review, TorchtitansLlama3) {
  const auto json = reviewed({"--from", launch("llama3-8b.toml"), "--log", launch("llama3-8b.log"),
                              "--cluster", "hgx-h100-400g", "--gpus", "8"});
  EXPECT_EQ(json["launch"]["target"], "torchtitan");
  EXPECT_EQ(json["model"]["name"], "llama-3-8b");
  const auto& layout = json["layout"];
  EXPECT_EQ(layout["data_parallel_size"], 8);
  EXPECT_EQ(layout["fsdp_unit"], "block");
  EXPECT_EQ(layout["zero_stage"], 3);
  EXPECT_EQ(layout["recompute_granularity"], "selective");
  EXPECT_EQ(layout["recompute_modules"], Json::array({"op"}));
  EXPECT_EQ(json["job"]["global_batch_size"], 8);
  EXPECT_EQ(json["job"]["kernel_fusion"], "compiled");
  const double median_rate = 6155.0;  // of 6,155 6,170 6,150 6,165 6,145 6,160 6,140 6,155 6,170
  EXPECT_NEAR(json["measured"]["step_seconds"].get<double>(), 8192.0 / median_rate, 1e-9);
  EXPECT_TRUE(not_understood(json).empty());
}

TEST(Review, DeepSpeedsZero3) {
  const auto json = reviewed({"--from", launch("finetune.sh"), "--log", launch("zero3.log"),
                              "--cluster", "hgx-h100-400g"});
  EXPECT_EQ(json["launch"]["target"], "DeepSpeed");
  EXPECT_EQ(json["model"]["name"], "llama-2-7b");
  const auto& layout = json["layout"];
  EXPECT_EQ(layout["data_parallel_size"], 64);  // 8 nodes of 8
  EXPECT_EQ(layout["micro_batch_size"], 2);
  EXPECT_EQ(layout["zero_stage"], 3);
  EXPECT_EQ(layout["recompute_granularity"], "full");
  EXPECT_EQ(json["job"]["seq_length"], 4096);
  EXPECT_EQ(json["job"]["global_batch_size"], 1024);
  EXPECT_THAT(not_understood(json), ElementsAre("a_key_of_tomorrow = true"));
  // 1,024 samples at 103.3 a second, the middle of nine between 102.5 and 104.1.
  EXPECT_NEAR(json["measured"]["step_seconds"].get<double>(), 1024 / 103.3, 0.05);
}

TEST(Review, Nanotrons) {
  const auto json = reviewed({"--from", launch("llama.yaml"), "--log", launch("llama.log"),
                              "--cluster", "hgx-h100-400g", "--gpus", "64"});
  EXPECT_EQ(json["launch"]["target"], "nanotron");
  const auto& layout = json["layout"];
  EXPECT_EQ(layout["data_parallel_size"], 16);
  EXPECT_EQ(layout["pipeline_engine"], "nanotron");
  EXPECT_EQ(layout["sequence_parallel"], true);
  EXPECT_EQ(json["job"]["global_batch_size"], 8 * 2 * 16);
  EXPECT_EQ(json["job"]["kernel_fusion"], "eager");
  EXPECT_NEAR(json["measured"]["step_seconds"].get<double>(), 2.31, 0.011);
  EXPECT_THAT(not_understood(json), ElementsAre("parallelism.a_key_of_tomorrow = 1"));
}

TEST(Review, TextSaysWhatWasReadAssumedAndNotUnderstood) {
  const ProgramResult result = run_program({"review", "--from", launch("gpt3-175b.sh"), "--log",
                                            launch("gpt3-175b.log"), "--cluster", "hgx-h100-400g"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* text :
       {"gpt3-175b.sh:42", "assumed", "not understood", "does it fit?", "predicted and measured",
        "better layouts", "launch of the fastest layout"}) {
    EXPECT_THAT(result.out, HasSubstr(text));
  }
}

TEST(Review, WhatWasMeasuredIsASetOfRuns) {
  const TemporaryFolder folder;
  const std::string set = folder.path("runs.json");
  reviewed({"--from", launch("llama3-8b.toml"), "--log", launch("llama3-8b.log"), "--cluster",
            "hgx-h100-400g", "--gpus", "8", "--measurements-out", set});
  const ProgramResult result = run_program({"backtest", set, "--format", "json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(Json::parse(result.out)["overall"]["runs"], 1);
}

TEST(Review, AVariableThatTheScriptDoesNotSetIsAskedFor) {
  const TemporaryFolder folder;
  const std::string script = folder.write(
      "train.sh",
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 2 --hidden-size 64 \\\n"
      "  --num-attention-heads 4 --seq-length 64 --max-position-embeddings 64 \\\n"
      "  --micro-batch-size 1 --global-batch-size 8 --bf16 --tensor-model-parallel-size $TP\n");
  const std::vector<std::string> arguments{"review", "--from", script, "--cluster",
                                           "hgx-h100-400g"};
  const ProgramResult result = run_program(arguments);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("train.sh:3"));
  EXPECT_THAT(result.err, HasSubstr("TP: the file does not set it"));
  std::vector<std::string> with = arguments;
  with.insert(with.end(), {"--set", "TP=2"});
  EXPECT_EQ(run_program(with).exit_code, 0);
}

TEST(Review, NothingOfTheEnvironmentOrOfPathsIsKept) {
  const ProgramResult result = run_program(
      {"review", "--from", launch("bloom.slurm"), "--cluster", "jean-zay-a100", "--json"});
  const auto json = Json::parse(result.out);
  EXPECT_THAT(json["launch"].dump(), Not(HasSubstr("SOMEWHERE")));
}

}  // namespace
}  // namespace meshwright::test
