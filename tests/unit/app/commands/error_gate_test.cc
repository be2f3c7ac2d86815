// SPDX-License-Identifier: Apache-2.0
#include "app/commands/error_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/console/exit_code.h"
#include "tests/unit/error_of.h"

namespace meshwright::app {
namespace {

using testing::HasSubstr;

TEST(ErrorGate, ReadsAShareWithAndWithoutPercent) {
  EXPECT_DOUBLE_EQ(share_of("--max-error", "10%"), 0.1);
  EXPECT_DOUBLE_EQ(share_of("--max-error", "0.1"), 0.1);
  for (const char* bad : {"", "ten", "-1%", "10 percent", "inf"}) {
    EXPECT_THAT(error_of([&] { share_of("--max-error", bad); }), HasSubstr("--max-error")) << bad;
  }
}

// The limit itself passes.
TEST(ErrorGate, FailsAboveItsLimit) {
  EXPECT_EQ(error_gate("error", 0.1, 0.1), kDone);
  EXPECT_EQ(error_gate("error", 0.11, 0.1), kGateFailed);
}

}  // namespace
}  // namespace meshwright::app
