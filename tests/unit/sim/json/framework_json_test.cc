// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "sim/base/error.h"
#include "sim/json/records.h"
#include "tests/paths.h"

namespace meshwright {
namespace {

Framework read_framework(const std::string& text) {
  return framework_from_json(Json::parse(text), "f.json");
}

TEST(FrameworkJson, ComesBackAsItWent) {
  Framework f;
  f.name = "software-2030";
  f.title = "Some software";
  f.versions = "1.0";
  f.gemm_time_factor = 4.0 / 3.0;
  f.defaults.job.gradient_precision = Precision::bf16;
  f.defaults.layout.overlap_grad_reduce = true;
  f.data_parallel.rails_per_collective = 1;
  f.pipeline.blocking_sends = true;
  f.kernels = {true, false, true};
  f.data_parallel.bucket_parameters = 4e7;
  f.limits.reasons[static_cast<std::size_t>(Unsupported::fsdp)] = "it shards by ZeRO";
  f.experts.dispatch_multiprocessors = {20, 32, 0};
  f.experts.sends_fp8 = {false, false, true};
  f.kernels.narrow_gemm_time_factor = 0.9;
  f.fit = {{"set"}, {"gemm_time_factor"}, 0.04};
  EXPECT_EQ(read_framework(to_json(f).dump()), f);
}

TEST(FrameworkJson, DefaultsSayOnlyWhatDiffers) {
  Framework f;
  f.name = "software-2030";
  f.defaults.layout.pipeline_engine = PipelineEngine::nanotron;
  EXPECT_EQ(to_json(f).at("defaults").dump(), R"({"layout":{"pipeline_engine":"nanotron"}})");
}

TEST(FrameworkJson, FilesOfBeforeAreRead) {
  const Framework f = read_framework(
      R"({"schema": "meshwright.framework/1", "name": "n", "kernel_fusion": "eager",
          "pipeline_engine": "nanotron"})");
  EXPECT_EQ(f.defaults.job.kernel_fusion, KernelFusion::eager);
  EXPECT_EQ(f.defaults.layout.pipeline_engine, PipelineEngine::nanotron);
}

TEST(FrameworkJson, WhatIsAskedOfAJobHasNoDefault) {
  EXPECT_THROW(read_framework(R"({"name": "n", "defaults": {"job": {"seq_length": 8}}})"),
               InputError);
  EXPECT_THROW(read_framework(R"({"schema": "meshwright.framework/3", "name": "n"})"), InputError);
}

// Its name is its file's, and what was fitted is said with its error on runs not seen.
TEST(FrameworkJson, EveryShippedFileNamesItselfItsSourcesAndItsFit) {
  namespace fs = std::filesystem;
  int files = 0;
  for (const auto& entry :
       fs::directory_iterator(fs::path(MESHWRIGHT_SOURCE_DIR) / "configs/frameworks")) {
    SCOPED_TRACE(entry.path().string());
    std::ifstream stream(entry.path());
    const Framework f = framework_from_json(Json::parse(stream), entry.path().filename().string());
    EXPECT_EQ(f.name, entry.path().stem().string());
    EXPECT_FALSE(f.title.empty());
    EXPECT_FALSE(f.versions.empty());
    EXPECT_GT(f.source.size(), 40U);
    EXPECT_GT(f.relative_spread, 0.0);
    if (!f.fit.terms.empty()) {
      EXPECT_TRUE(f.fit.held_out_error.has_value());
      EXPECT_FALSE(f.fit.sets.empty());
    }
    ++files;
  }
  EXPECT_GE(files, 2);
}

}  // namespace
}  // namespace meshwright
