// SPDX-License-Identifier: Apache-2.0
// A number format that the device lacks is refused by every command, with the formats that it has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "app/files/files.h"
#include "sim/record/json.h"
#include "tests/unit/app/run_program.h"

namespace meshwright::test {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Case {
  std::string device, precision, said;
};
const std::vector<Case> kUnsupported{
    {"v100-sxm-32gb", "bf16", "the devices have no bf16; they have fp32 and fp16"},
    {"v100-sxm-32gb", "tf32", "the devices have no tf32; they have fp32 and fp16"},
    {"a100-sxm-80gb", "fp8", "the devices have no fp8; they have fp32, tf32, fp16 and bf16"},
    {"h100-sxm-80gb", "fp4", "the devices have no fp4; they have fp32, tf32, fp16, bf16 and fp8"},
};

// A node of eight, as h100-8, with another device.
std::string eight_of(const TemporaryFolder& folder, const std::string& device) {
  std::ifstream shipped(config("clusters/h100-8.json"));
  Json cluster = Json::parse(shipped);
  cluster["device"] = config("hardware/" + device + ".json");
  std::string file = folder.path(device + ".json");
  std::ofstream(file) << cluster;
  return file;
}

// Printed words without line breaks, because lines are wrapped.
std::string said_in(const ProgramResult& answer) {
  std::istringstream words(answer.out + answer.err);
  std::string said, word;
  while (words >> word) said += (said.empty() ? "" : " ") + word;
  return said;
}

std::vector<std::vector<std::string>> questions(const std::string& cluster,
                                                const std::string& precision) {
  const std::vector<std::string> shared{
      "--model",     config("models/gpt2-xl.json"), "--cluster", cluster, "--precision", precision,
      "--framework", "megatron-core-2025"};
  return {with({"plan", "--format", "json"}, shared),
          with({"estimate", "--layout", "zero=1,recompute=full"}, shared),
          with({"volume", "--layout", "zero=1,recompute=full"}, shared),
          with({"capacity", "--format", "json", "--train-tokens", "1e12"}, shared)};
}

TEST(NumberFormats, WhatTheDeviceLacksIsRefusedByEveryCommand) {
  for (const Case& lacking : kUnsupported) {
    const TemporaryFolder folder;
    const std::string cluster = eight_of(folder, lacking.device);
    for (const auto& question : questions(cluster, lacking.precision)) {
      const ProgramResult answer = run_program(question);
      EXPECT_NE(answer.exit_code, 0) << question.front() << " " << lacking.said;
      EXPECT_THAT(said_in(answer), HasSubstr(lacking.said)) << question.front();
    }
  }
}

TEST(NumberFormats, AV100TrainsInItsOwnFormats) {
  const TemporaryFolder folder;
  const std::string cluster = eight_of(folder, "v100-sxm-32gb");
  for (const char* precision : {"fp16", "fp32"}) {
    for (const auto& question : questions(cluster, precision)) {
      const ProgramResult answer = run_program(question);
      EXPECT_EQ(answer.exit_code, 0) << question.front() << answer.err;
      EXPECT_THAT(answer.out, Not(HasSubstr("the devices have no")));
    }
  }
}

TEST(NumberFormats, AReviewedLaunchIsRefusedLikewise) {
  const TemporaryFolder folder;
  const std::string script = folder.path("launch.sh");
  std::ofstream(script) << "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 48 "
                           "--hidden-size 1600 --num-attention-heads 25 --seq-length 1024 "
                           "--max-position-embeddings 1024 --micro-batch-size 1 "
                           "--global-batch-size 64 --bf16 --fp8-format hybrid\n";
  const ProgramResult answer =
      run_program({"review", "--from", script, "--cluster", eight_of(folder, "a100-sxm-80gb"),
                   "--model", config("models/gpt2-xl.json")});
  EXPECT_THAT(said_in(answer), HasSubstr("the devices have no fp8"));
}

// tf32 and fp16 came with bf16 (Ampere; CDNA3), fp8 with Ada and Hopper, fp4 with Blackwell.
TEST(NumberFormats, ShippedDevicesListAllThatTheyHave) {
  const auto has = [](const Device& device, Precision format) {
    return (formats_of(device) & format_bit(format)) != 0;
  };
  for (const auto& entry :
       std::filesystem::directory_iterator(app::configs_directory() + "/clusters")) {
    const Device device = only_device(app::load_cluster(entry.path().stem().string()));
    const std::string& chip = device.architecture;
    EXPECT_TRUE(has(device, Precision::bf16)) << device.name;
    // Vendors publish no fp32 of some other chips; fp4 is newer than these.
    const bool known = chip == "ampere" || chip == "ada" || chip == "hopper" || chip == "cdna3" ||
                       chip.starts_with("blackwell");
    if (!known) continue;
    for (const Precision p : {Precision::fp32, Precision::tf32, Precision::fp16}) {
      EXPECT_TRUE(has(device, p)) << device.name << " " << name_of(p);
    }
    EXPECT_EQ(has(device, Precision::fp8), chip != "ampere") << device.name;
    EXPECT_EQ(has(device, Precision::fp4), chip.starts_with("blackwell")) << device.name;
  }
}

}  // namespace
}  // namespace meshwright::test
