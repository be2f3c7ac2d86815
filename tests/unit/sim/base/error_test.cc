// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.h"

#include <gtest/gtest.h>

namespace meshwright {
namespace {

// A script may name a file whose name begins with one.
TEST(InputError, AZeroByteDoesNotEndTheMessage) {
  using namespace std::string_literals;
  EXPECT_STREQ(InputError("\0a"s, "", "is missing").what(), "?a: is missing");
  EXPECT_STREQ(InputError("b\0"s).what(), "b?");
}

}  // namespace
}  // namespace meshwright
