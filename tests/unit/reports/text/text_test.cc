// SPDX-License-Identifier: Apache-2.0
#include "reports/text/text.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>

#include "sim/record/json.h"
#include "tests/paths.h"

namespace meshwright::reports {
namespace {

TEST(Text, TimesTakeTheUnitThatReadsBest) {
  EXPECT_EQ(seconds_text(seconds(1.5)), "1.500 s");
  EXPECT_EQ(seconds_text(seconds(0.0125)), "12.50 ms");
  EXPECT_EQ(seconds_text(microseconds(3)), "3.000 µs");
  EXPECT_EQ(seconds_text(seconds(0)), "0 s");
}

// 3 x 86400 s; 36 h are less than two days.
TEST(Text, LongTimesAreDaysFromTwoDaysOn) {
  EXPECT_EQ(duration_text(seconds(259200)), "3.00 days");
  EXPECT_EQ(duration_text(seconds(36 * 3600)), "36.0 hours");
  EXPECT_EQ(duration_text(seconds(90)), "90.0 s");
}

TEST(Text, MemoryIsBinaryAndTrafficDecimal) {
  EXPECT_EQ(memory_text(gibibytes(80)), "80.0 GiB");
  EXPECT_EQ(traffic_text(gigabytes(80)), "80.00 GB");
}

TEST(Text, SharesAndLargeNumbers) {
  EXPECT_EQ(percent_text(0.412), "41.2 %");
  EXPECT_EQ(si_text(3e11), "300 G");
  EXPECT_EQ(si_text(131072), "131 k");
  EXPECT_EQ(si_text(12), "12.0");
}

TEST(Text, LargeNumbersAreWords) {
  EXPECT_EQ(large_number_text(3.31e6), "3.3 million");
  EXPECT_EQ(large_number_text(2e9), "2 billion");
  EXPECT_EQ(large_number_text(391405.2), "391,405");
  EXPECT_EQ(with_unit("network", "GB/s"), "network, GB/s");
  EXPECT_EQ(with_unit("GEMM efficiency", ""), "GEMM efficiency");
}

// The viewer's formats are held to the same texts (tests/browser).
TEST(Text, NumbersReadAsTheViewerWritesThem) {
  const std::map<std::string, std::function<std::string(double)>> texts{
      {"significant", [](double v) { return significant(v); }},
      {"seconds", [](double v) { return seconds_text(seconds(v)); }},
      {"memory", [](double v) { return memory_text(bytes(v)); }},
      {"traffic", [](double v) { return traffic_text(bytes(v)); }}};
  std::ifstream file(MESHWRIGHT_SOURCE_DIR "/tests/data/number_texts.json");
  const auto all = Json::parse(file);
  ASSERT_EQ(all.size(), texts.size());
  for (const auto& [name, cases] : all.items()) {
    for (const auto& one : cases) EXPECT_EQ(texts.at(name)(one[0]), one[1]) << name << one[0];
  }
}

}  // namespace
}  // namespace meshwright::reports
