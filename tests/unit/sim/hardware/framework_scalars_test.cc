// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/framework_scalars.h"

#include <gtest/gtest.h>

namespace meshwright {
namespace {

TEST(FrameworkScalars, EachIsAMemberOfItsOwn) {
  for (const FrameworkScalarRow& row : kFrameworkScalars) {
    const Framework changed = with_value({}, row.scalar, 3.0);
    for (const FrameworkScalarRow& other : kFrameworkScalars) {
      const double before = value_of(other.scalar, Framework{});
      const double expected = other.scalar == row.scalar ? 3.0 : before;
      EXPECT_EQ(value_of(other.scalar, changed), expected) << row.name << ", " << other.name;
    }
  }
}

TEST(FrameworkScalars, TheirOrderIsTheEnumerations) {
  for (const FrameworkScalarRow& row : kFrameworkScalars) {
    EXPECT_EQ(name_of(row.scalar), row.name);
  }
}

}  // namespace
}  // namespace meshwright
