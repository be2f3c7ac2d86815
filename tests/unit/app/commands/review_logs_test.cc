// SPDX-License-Identifier: Apache-2.0
// Logs of other software than the launcher's, reviewed as a user would.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/record/json.h"
#include "tests/paths.h"
#include "tests/unit/app/run_program.h"

namespace meshwright::test {
namespace {

using testing::HasSubstr;

// Two nodes of eight; 1,024 sequences of 4,096 tokens.
constexpr const char* kScript =
    "torchrun --nnodes 2 --nproc_per_node 8 run_recipe.py --recipe qwen3_8b_pretrain_config \\\n"
    "  model.tensor_model_parallel_size=1 model.pipeline_model_parallel_size=1 \\\n"
    "  model.seq_length=4096 train.micro_batch_size=1 train.global_batch_size=1024 \\\n"
    "  mixed_precision=bf16_mixed ddp.use_distributed_optimizer=true \\\n"
    "  optimizer.use_distributed_optimizer=true\n";

class ReviewLogs : public testing::Test {
 protected:
  ProgramResult review(const std::string& log, const std::vector<std::string>& more = {}) {
    return run_program(
        with({"review", "--from", folder_.write("train.sh", kScript), "--model", "qwen3-8b",
              "--cluster", "hgx-h100-400g", "--log", folder_.write("train.log", log), "--json"},
             more));
  }
  Json measured(const std::string& log, const std::vector<std::string>& more = {}) {
    const ProgramResult result = review(log, more);
    EXPECT_LE(result.exit_code, 1) << result.err;
    Json json = result.out.empty() ? Json{} : Json::parse(result.out);
    batch_ = json["job"]["global_batch_size"];
    return json["measured"];
  }
  TemporaryFolder folder_;
  int batch_ = 0;
};

// 30 steps of 20.02, 20.03 and 20.04 s in turn.
TEST_F(ReviewLogs, NemosDllogger) {
  std::string log;
  for (int i = 0; i < 30; ++i) {
    log += fmt::format(
        "DLLL {{\"type\": \"LOG\", \"step\": {}, \"data\": {{\"consumed_samples\": {}.0, "
        "\"train_backward_timing in s\": 4.5e-05, \"train_step_timing in s\": {:.3f}}}}}\n",
        i, 1024 * (i + 1), 20.02 + 0.01 * (i % 3));
  }
  const Json json = measured(log);
  EXPECT_NEAR(json["step_seconds"].get<double>(), 20.03, 1e-9);
  EXPECT_EQ(json["software"], "NeMo");
  EXPECT_EQ(json["steps"], 27);
  EXPECT_EQ(batch_, 1024);
}

TEST_F(ReviewLogs, Nemo2WithABatchOfItsOwn) {
  std::string log;
  for (int i = 0; i < 40; ++i) {
    log += fmt::format(
        "0: Training epoch 0, iteration {}/99 | lr: 3e-05 | consumed_samples: {} | global_step: {} "
        "| train_step_timing in s: {:.2f}\n",
        i, 512 * (i + 1), i, 26.20 + 0.05 * (i % 3));
  }
  EXPECT_NEAR(measured(log)["step_seconds"].get<double>(), 26.25, 1e-9);
  EXPECT_EQ(batch_, 512);
}

// 1,055.949 tokens a second for 15.54 s on each of 16 devices are 64 sequences.
TEST_F(ReviewLogs, Maxtext) {
  std::string log;
  for (int i = 0; i < 20; ++i) {
    log += fmt::format(
        "completed step: {}, seconds: {:.2f}, TFLOP/s/device: 508.371, Tokens/s/device: 1055.949, "
        "total_weights: 4194304, loss: 12.1\n",
        i, 15.50 + 0.01 * (i % 9));
  }
  const Json json = measured(log);
  EXPECT_NEAR(json["step_seconds"].get<double>(), 15.54, 1e-9);
  EXPECT_EQ(json["software"], "MaxText");
  EXPECT_EQ(batch_, 64);
}

// 13,422 tokens a second for 1 / 0.0512 s on 16 devices are 1,024 sequences.
TEST_F(ReviewLogs, OlmoCore) {
  std::string log;
  for (int i = 1; i <= 30; ++i) {
    log += fmt::format(
        "INFO [step={}/1000,epoch=1]\n    throughput/device/BPS=0.0512\n"
        "    throughput/device/TPS=13,422\n    system/Peak GPU active memory (GiB)=61.2\n",
        i);
  }
  const Json json = measured(log);
  EXPECT_NEAR(json["step_seconds"].get<double>(), 1 / 0.0512, 1e-9);
  EXPECT_NEAR(json["peak_memory_bytes"].get<double>(), 61.2 * 1073741824, 1.0);
  EXPECT_EQ(batch_, 1024);
}

// 46,012 tokens a second for 1.814 s on 16 devices are 326 sequences, which 16 ranks cannot share.
TEST_F(ReviewLogs, ALogOfAnotherRunIsNotUsedButSaysWhatItHas) {
  std::string log;
  for (int i = 1; i <= 30; ++i) {
    log += fmt::format(
        "INFO [step={}/1000,epoch=1]\n    throughput/device/BPS=0.5512\n"
        "    throughput/device/TPS=46,012\n    system/Peak GPU active memory (GiB)=61.2\n",
        i);
  }
  const ProgramResult result = review(log);
  const std::string refused = Json::parse(result.out)["log_refused"];
  EXPECT_THAT(refused, HasSubstr("326 sequences"));
  EXPECT_THAT(refused, HasSubstr("step time is 1.814 s (median of 27)"));
  EXPECT_THAT(refused, HasSubstr("61.2 GiB are allocated"));
}

// Reserved memory is not compared with predicted allocated memory.
TEST_F(ReviewLogs, MsSwiftsMemoryIsReserved) {
  std::string log;
  for (int i = 1; i <= 5; ++i) {
    log += fmt::format(
        "{{'loss': 2.5, 'memory(GiB)': 67.5, 'train_speed(s/it)': 20.0, 'iteration': '{}/100'}}\n",
        i);
  }
  const Json json = measured(log);
  EXPECT_NEAR(json["step_seconds"].get<double>(), 20.0, 1e-9);
  EXPECT_FALSE(json.contains("peak_memory_bytes"));
  EXPECT_NEAR(json["other_memory_bytes"].get<double>(), 67.5 * 1073741824, 1.0);
}

TEST_F(ReviewLogs, NothingOfTheEnvironmentOrOfPathsIsKept) {
  const std::string launch = MESHWRIGHT_SOURCE_DIR "/tests/unit/app/launches/bloom.slurm";
  const ProgramResult result =
      run_program({"review", "--from", launch, "--cluster", "jean-zay-a100", "--json"});
  EXPECT_THAT(Json::parse(result.out)["launch"].dump(), testing::Not(HasSubstr("SOMEWHERE")));
}

}  // namespace
}  // namespace meshwright::test
