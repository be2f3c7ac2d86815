// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "sim/json/records.h"
#include "tests/paths.h"

namespace meshwright {
namespace {

// Its name is its file's, and what was fitted is said with its error on runs not seen.
TEST(FrameworkJson, EveryShippedFileNamesItselfItsSourcesAndItsFit) {
  namespace fs = std::filesystem;
  int files = 0;
  for (const auto& entry :
       fs::directory_iterator(fs::path(MESHWRIGHT_SOURCE_DIR) / "configs/frameworks")) {
    SCOPED_TRACE(entry.path().string());
    std::ifstream stream(entry.path());
    const Framework f = framework_from_json(Json::parse(stream), entry.path().filename().string());
    EXPECT_EQ(f.name, entry.path().stem().string());
    EXPECT_FALSE(f.title.empty());
    EXPECT_FALSE(f.versions.empty());
    EXPECT_GT(f.source.size(), 40U);
    EXPECT_GT(f.relative_spread, 0.0);
    if (!f.fit.terms.empty()) {
      EXPECT_TRUE(f.fit.held_out_error.has_value());
      EXPECT_FALSE(f.fit.sets.empty());
    }
    ++files;
  }
  EXPECT_GE(files, 2);
}

}  // namespace
}  // namespace meshwright
