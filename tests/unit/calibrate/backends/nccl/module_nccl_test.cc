// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "calibrate/backends/backend.h"

namespace meshwright::calibrate {
namespace {

TEST(NcclBackend, OpensWithoutADriverAndNamesItsLibrary) {
  Backend& module = open_backend("nccl");
  EXPECT_EQ(module.name(), "nccl");
  EXPECT_THAT(module.libraries(), testing::MatchesRegex("NCCL [0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_EQ(module.make_compute(0), nullptr);
}

TEST(NcclBackend, IsUnavailableForTheSameReasonAsCuda) {
  EXPECT_EQ(open_backend("nccl").unavailable(), open_backend("cuda").unavailable());
}

}  // namespace
}  // namespace meshwright::calibrate
