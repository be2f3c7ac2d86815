// SPDX-License-Identifier: Apache-2.0
// NCCL's constants against tables that were read out of its releases: MESHWRIGHT_NCCL_CONSTANTS
// names a JSON file of versions, each with its tables by name. Without it the test is skipped.
#include "sim/collective/nccl_tuning.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "sim/record/json.h"

namespace meshwright::nccl {
namespace {

void expect_steps(const NetworkSteps& mine, const Json& row, const std::string& version) {
  EXPECT_EQ(mine.ll, row.at("LL")) << version;
  EXPECT_EQ(mine.ll128, row.at("LL128")) << version;
  EXPECT_EQ(mine.simple, row.at("Simple")) << version;
}

TEST(NcclTuning, ConstantsAreThoseOfItsReleases) {
  const char* file = std::getenv("MESHWRIGHT_NCCL_CONSTANTS");
  if (file == nullptr) GTEST_SKIP() << "MESHWRIGHT_NCCL_CONSTANTS names no file";
  std::ifstream stream(file);
  const Json releases = Json::parse(stream);
  ASSERT_FALSE(releases.empty());
  for (const auto& [version, tables] : releases.items()) {
    const Json& network = tables.at("hwLatencies_us").at("Net");
    expect_steps(kRingSteps, network.at("Ring"), version);
    // 2.20.5 has 28 for a tree's Simple step, and no other version.
    if (version != "2.20.5") expect_steps(kTreeSteps, network.at("Tree"), version);
    const Json& nvlink = tables.at("hwLatencies_us").at("NVLink").at("Ring");
    EXPECT_EQ(kSimpleNvlinkHopUs, nvlink.at("Simple")) << version;
    const Json& most = tables.at("llMaxBws_gb_per_s").at("Volta (or Intel CPU between nodes)");
    EXPECT_EQ(kMostOfLl[0], most.at("2 nodes")) << version;
    EXPECT_EQ(kMostOfLl[1], most.at("more nodes")) << version;
  }
}

}  // namespace
}  // namespace meshwright::nccl
