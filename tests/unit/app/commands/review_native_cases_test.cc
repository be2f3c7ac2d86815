// SPDX-License-Identifier: Apache-2.0
// Shapes of public launches of PyTorch's own stacks, with what was measured.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "sim/record/json.h"
#include "tests/unit/app/run_program.h"

namespace meshwright::test {
namespace {

using testing::HasSubstr;

class NativeStacks : public testing::Test {
 protected:
  NativeStacks()
      : folder_(std::filesystem::temp_directory_path() /
                fmt::format("meshwright-{}-{}",
                            testing::UnitTest::GetInstance()->current_test_info()->name(),
                            getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~NativeStacks() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  static Json answer(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "review");
    arguments.emplace_back("--json");
    const ProgramResult result = run_program(arguments);
    EXPECT_LE(result.exit_code, 1) << result.err;
    return result.out.empty() ? Json{} : Json::parse(result.out);
  }

 private:
  std::filesystem::path folder_;
};

constexpr char kSmolLm3[] =
    "model:\n  dtype: bfloat16\n  model_config:\n    hidden_size: 2048\n    intermediate_size: "
    "11008\n"
    "    num_attention_heads: 16\n    num_hidden_layers: 36\n    num_key_value_heads: 4\n"
    "    max_position_embeddings: 4096\n    is_qwen2_config: true\n    attention_bias: false\n"
    "    tie_word_embeddings: true\n    vocab_size: 128256\n"
    "optimizer: { zero_stage: 0, accumulate_grad_in_fp32: true }\n"
    "parallelism: { dp: 192, pp: 1, tp: 2, pp_engine: 1f1b, tp_mode: REDUCE_SCATTER, "
    "tp_linear_async_communication: true }\n"
    "tokens: { batch_accumulation_per_replica: 1, micro_batch_size: 3, sequence_length: 4096 }\n";

// SmolLM3: 24 days for 4.72 million steps are 0.439 s each, on dp 192 x tp 2 = 384 H100.
TEST_F(NativeStacks, SizesThatAreAllStatedSayTheDevices) {
  const std::string launch = file("smollm3.yaml", kSmolLm3);
  const Json json = answer({"--from", launch, "--cluster", "aws-p5"});
  EXPECT_EQ(json["cluster"]["num_nodes"], 48);
  EXPECT_NEAR(json["estimate"]["step_time_seconds"].get<double>(), 0.439, 0.44 * 0.05);
  std::string assumed;
  for (const auto& fact : json["launch"]["assumed"]) {
    if (fact["field"] == "gpus") assumed = fact["said"].get<std::string>();
  }
  EXPECT_THAT(assumed, HasSubstr("product of the sizes"));
  const ProgramResult other =
      run_program({"review", "--from", launch, "--cluster", "aws-p5", "--gpus", "512"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("multiply to 384 devices, but 512 are used"));
}

// Eight H100 of 96 GB, one sequence each: 40.15 GiB reserved, 6,485 tokens/s/GPU (1.263 s).
TEST_F(NativeStacks, SelectiveByOperatorLeavesFortyGibibytes) {
  const std::string launch =
      file("titan.toml",
           "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\n"
           "seq_len = 8192\ncompile = true\n[parallelism]\ndata_parallel_shard_degree = -1\n"
           "tensor_parallel_degree = 1\n[activation_checkpoint]\nmode = \"selective\"\n"
           "selective_ac_option = \"op\"\n");
  const Json json = answer({"--from", launch, "--cluster", "h100-96gb-512", "--gpus", "8"});
  EXPECT_NEAR(json["printed_peak_bytes"].get<double>() / 1073741824.0, 40.15, 4.0);
  EXPECT_NEAR(json["estimate"]["step_time_seconds"].get<double>(), 1.263, 0.1);
}

TEST_F(NativeStacks, TheRegistrysNamesAreKnown) {
  const std::string launch =
      file("run.sh",
           "NGPU=8 MODULE=llama3 CONFIG=llama3_8b ./run_train.sh --training.local_batch_size 2 "
           "--parallelism.tensor_parallel_degree 2\n");
  const Json json = answer({"--from", launch, "--cluster", "h100-8"});
  EXPECT_EQ(json["layout"]["tensor_parallel_size"], 2);
  EXPECT_EQ(json["layout"]["data_parallel_size"], 4);
  EXPECT_EQ(json["layout"]["micro_batch_size"], 2);
  EXPECT_EQ(json["layout"]["zero_stage"], 3);
  EXPECT_EQ(json["job"]["seq_length"], 8192);
  EXPECT_EQ(json["job"]["global_batch_size"], 8);
  EXPECT_EQ(json["model"]["name"], "llama-3-8b");
  EXPECT_EQ(json["layout"]["recompute_granularity"], "selective");
}

// Llama 3 70B has 80 layers: four a stage are 20 stages, ten chunks on each of two ranks.
TEST_F(NativeStacks, AutoModelsChunksFollowFromTheModel) {
  const std::string launch =
      file("a.yaml",
           "step_scheduler: { global_batch_size: 32, local_batch_size: 2 }\n"
           "model: { _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained, "
           "pretrained_model_name_or_path: meta-llama/Llama-3.1-70B }\n"
           "distributed:\n  strategy: fsdp2\n  dp_size: none\n  tp_size: 4\n  pp_size: 2\n"
           "  pipeline: { pp_schedule: interleaved1f1b, pp_microbatch_size: 1, "
           "layers_per_stage: 4, round_virtual_stages_to_pp_multiple: up }\n"
           "dataset: { seq_len: 4096 }\n");
  const Json json = answer({"--from", launch, "--cluster", "hgx-h100-400g", "--gpus", "16"});
  EXPECT_EQ(json["layout"]["virtual_pipeline_parallel_size"], 10);
  EXPECT_EQ(json["layout"]["data_parallel_size"], 2);
  EXPECT_EQ(json["layout"]["micro_batch_size"], 1);
}

TEST_F(NativeStacks, AutoModelsModelBySizes) {
  const std::string launch =
      file("a.yaml",
           "step_scheduler: { global_batch_size: 8, local_batch_size: 1 }\n"
           "model:\n  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_config\n  config:\n"
           "    _target_: transformers.Qwen3Config\n    vocab_size: 151936\n    hidden_size: 4096\n"
           "    intermediate_size: 12288\n    num_hidden_layers: 36\n    num_attention_heads: 32\n"
           "    num_key_value_heads: 8\n    head_dim: 128\n    hidden_act: silu\n"
           "    max_position_embeddings: 40960\n    tie_word_embeddings: false\n"
           "distributed: { strategy: fsdp2, tp_size: 2 }\ndataset: { seq_length: 2048 }\n");
  const Json json = answer({"--from", launch, "--cluster", "h100-8"});
  EXPECT_EQ(json["model"]["num_layers"], 36);
  EXPECT_EQ(json["model"]["qk_layernorm"], true);
  EXPECT_EQ(json["layout"]["data_parallel_size"], 4);
}

// torchtitan prints reserved memory, with a log or without.
TEST_F(NativeStacks, TheKindOfMemoryIsThatOfTheSoftware) {
  const std::string launch = file(
      "llama.toml",
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\nseq_len = "
      "4096\n[parallelism]\ndata_parallel_shard_degree = -1\n");
  const ProgramResult result =
      run_program({"review", "--from", launch, "--cluster", "h100-8", "--top", "1"});
  EXPECT_THAT(result.out, HasSubstr("memory that is reserved: predicted"));
}

}  // namespace
}  // namespace meshwright::test
