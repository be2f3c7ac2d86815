// SPDX-License-Identifier: Apache-2.0
// Every file of configs/engines is read, says where its statements come from, and is written as it
// was read.
#include <gtest/gtest.h>

#include "tests/unit/sim/serving/shipped.h"

namespace meshwright {
namespace {

namespace fs = std::filesystem;

TEST(EngineFiles, EveryEngineLoadsAndNamesItsSources) {
  int files = 0;
  for (const auto& entry :
       fs::directory_iterator(fs::path(MESHWRIGHT_SOURCE_DIR) / "configs/engines")) {
    const std::string stem = entry.path().stem().string();
    SCOPED_TRACE(stem);
    ++files;
    const Engine engine = test::shipped_engine(stem);
    EXPECT_EQ(engine.name, stem);
    EXPECT_TRUE(stem.starts_with(name_of(engine.kind)));
    EXPECT_TRUE(stem.ends_with(engine.version));
    EXPECT_GT(engine.source.size(), 100U);
    const Json written = engine_record().write(engine);
    EXPECT_EQ(engine_from_json(written, "again"), engine);
  }
  EXPECT_GE(files, 11);
}

TEST(EngineFiles, VllmChangedItsMemoryFraction) {
  EXPECT_EQ(test::shipped_engine("vllm-0.19").memory.fraction, 0.9);
  EXPECT_EQ(test::shipped_engine("vllm-0.22").memory.fraction, 0.92);
}

// 8,192 tokens and 1,024 sequences from 70 GiB on, but 2,048 and 256 on an A100.
TEST(EngineFiles, DefaultsFollowTheDevice) {
  const Engine vllm = test::shipped_engine("vllm-0.24");
  const Model model = test::shipped_model("llama-3-8b");
  const auto tokens = [&](const char* cluster) {
    return with_defaults({}, vllm, only_device(test::shipped_cluster(cluster)), model)
        .max_num_batched_tokens;
  };
  EXPECT_EQ(tokens("h100-8"), 8192);
  EXPECT_EQ(tokens("a100-80gb-8"), 2048);
  EXPECT_EQ(tokens("rtx-4090-8"), 2048);
}

TEST(InferenceRates, AreReadAsTheyAreWritten) {
  const InferenceRates rates = test::shipped_cluster("h100-8").inference;
  EXPECT_FALSE(rates.decode_attention.empty());
  EXPECT_FALSE(rates.experts.empty());
  EXPECT_EQ(rates.all_reduce.size(), 9U);  // three engines on 2, 4 and 8 ranks
  EXPECT_EQ(inference_rates_from_json(inference_rates_record().write(rates), "again"), rates);
}

TEST(InferenceRates, ARowWithoutEngineIsRefused) {
  try {
    inference_rates_from_json(Json::parse(R"({"experts": [{"format": "fp8", "latency_us": 10}]})"),
                              "device.json");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("/experts/0"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace meshwright
