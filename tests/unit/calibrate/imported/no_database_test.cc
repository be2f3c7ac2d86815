// SPDX-License-Identifier: Apache-2.0
// Built where SQLite is not there: its files are refused with the way to read them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/imported/imported.h"
#include "tests/unit/error_of.h"

namespace meshwright::calibrate {
namespace {

TEST(NoDatabase, IsSaidWithTheWayToGetIt) {
  const std::string bytes("SQLite format 3\0 and more", 25);
  EXPECT_THAT(error_and_hint_of([&] { imported(bytes, "report.sqlite"); }),
              testing::AllOf(testing::HasSubstr("report.sqlite"),
                             testing::HasSubstr("this build has no SQLite"),
                             testing::HasSubstr("libsqlite3-dev")));
}

}  // namespace
}  // namespace meshwright::calibrate
