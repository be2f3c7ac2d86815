// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "calibrate/backends/module.h"

namespace meshwright::calibrate {
namespace {

TEST(NcclModule, OpensWithoutADriverAndNamesItsLibrary) {
  Module& module = open_module("nccl");
  EXPECT_EQ(module.name(), "nccl");
  EXPECT_THAT(module.libraries(), testing::MatchesRegex("NCCL [0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_EQ(module.make_compute(0), nullptr);
}

TEST(NcclModule, IsUnavailableForTheSameReasonAsCuda) {
  EXPECT_EQ(open_module("nccl").unavailable(), open_module("cuda").unavailable());
}

}  // namespace
}  // namespace meshwright::calibrate
