// SPDX-License-Identifier: Apache-2.0
// Jobs take parts of NVL72 racks: every command finds the domains and says the part.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/record/json.h"
#include "tests/unit/app/run_program.h"

namespace meshwright::test {
namespace {

using testing::HasSubstr;

TEST(GpuCounts, EstimateSaysTheUsedPartOfADomain) {
  std::vector<std::string> command{"estimate",
                                   "--model",
                                   "qwen3-30b-a3b",
                                   "--cluster",
                                   "gb200-nvl72",
                                   "--gpus",
                                   "256",
                                   "--global-batch-size",
                                   "512",
                                   "--layout",
                                   "tp=1,pp=1,dp=256,ep=64,mbs=1,zero=1"};
  const ProgramResult text = run_program(command);
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.err, HasSubstr("note: 64 of each NVLink domain's 72 GPUs are used."));
  command.insert(command.end(), {"--format", "json"});
  const Json answer = Json::parse(run_program(command).out);
  EXPECT_EQ(answer["notes"], Json::array({"64 of each NVLink domain's 72 GPUs are used."}));
}

TEST(GpuCounts, AListOfCountsIsCompared) {
  const ProgramResult plan =
      run_program({"plan", "--model", "gpt2-xl", "--cluster", "gb300-nvl72", "--gpus", "8,64,128",
                   "--seq-length", "1024", "--global-batch-size", "512", "--top", "1"});
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("NVLink domain's 72 GPUs are used."));
}

TEST(GpuCounts, AnUnevenCountIsRefused) {
  const ProgramResult refused = run_program({"cluster", "show", "gb200-nvl72", "--gpus", "100"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("use 96 (2 x 48) or 104 (2 x 52)"));
}

// Between nodes on EFA: alltoall unasked, and a word on what was asked for.
TEST(Dispatcher, OnEfaIsAlltoallUnlessAsked) {
  const auto estimate = [](const std::string& layout) {
    return run_program({"estimate", "--model", "qwen3-30b-a3b", "--cluster", "aws-p5", "--gpus",
                        "64", "--global-batch-size", "256", "--layout", layout});
  };
  const std::string layout = "tp=8,pp=4,dp=2,ep=16,etp=1,mbs=4,sp,zero=1";
  const ProgramResult unasked = estimate(layout);
  EXPECT_EQ(unasked.out, estimate(layout + ",dispatcher=alltoall").out);
  EXPECT_THAT(unasked.err, testing::Not(HasSubstr("unproven")));
  const ProgramResult asked = estimate(layout + ",dispatcher=flex");
  EXPECT_EQ(asked.exit_code, 0) << asked.err;
  EXPECT_THAT(asked.err, HasSubstr("16 expert ranks, 8 of which share fast links, which is "
                                   "unproven on AWS p5.48xlarge"));
}

}  // namespace
}  // namespace meshwright::test
