// SPDX-License-Identifier: Apache-2.0
// What a machine without an NVIDIA driver sees. Modules lie in lib/meshwright beside bin.
#include <gmock/gmock.h>

#include "calibrate/backends/backend.h"
#include "sim/base/error.h"

namespace meshwright::calibrate {
namespace {

TEST(CudaBackend, OpensWithoutADriverAndNamesItsLibraries) {
  Backend& module = open_backend("cuda");
  EXPECT_EQ(module.name(), "cuda");
  EXPECT_THAT(module.libraries(), testing::MatchesRegex("cuBLASLt [0-9.]+, CUDA runtime [0-9.]+"));
}

TEST(CudaBackend, SaysInOneSentenceWhyItCannotBeUsed) {
  Backend& module = open_backend("cuda");
  const std::string reason = module.unavailable();
  if (reason.empty()) GTEST_SKIP() << "this machine has an NVIDIA GPU";
  EXPECT_THAT(reason, testing::AnyOf(testing::HasSubstr("driver"), testing::HasSubstr("GPU")));
  EXPECT_EQ(reason.find('\n'), std::string::npos);
  try {
    (void)module.make_compute(0);
    FAIL() << "a device was made without a GPU";
  } catch (const SystemError& error) {
    EXPECT_EQ(std::string(error.what()), "backend cuda: " + reason);
  }
}

}  // namespace
}  // namespace meshwright::calibrate
