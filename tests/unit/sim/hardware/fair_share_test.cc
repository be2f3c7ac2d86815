// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/fair_share.h"

#include <gtest/gtest.h>

#include <cmath>

namespace meshwright {
namespace {

std::vector<double> rates(const std::vector<double>& wires, const std::vector<Stream>& streams) {
  std::vector<BytesPerSecond> capacities;
  for (const double w : wires) capacities.push_back(bytes_per_second(w));
  std::vector<double> result;
  for (const BytesPerSecond r : max_min_rates(capacities, streams)) result.push_back(r.value());
  return result;
}

TEST(MaxMin, EqualStreamsShareAWireEqually) {
  EXPECT_EQ(rates({12.0}, {{{0}}, {{0}}, {{0}}}), (std::vector<double>{4.0, 4.0, 4.0}));
}

TEST(MaxMin, AStreamThatIsStoppedElsewhereLeavesItsShare) {
  // Wires of 10 and 4. A on both, B on the first, C on the second: A and C stop at 2; B gets 8.
  EXPECT_EQ(rates({10.0, 4.0}, {{{0}, {1}}, {{0}}, {{1}}}), (std::vector<double>{2.0, 8.0, 2.0}));
}

TEST(MaxMin, TheLongStreamOfABusGetsAsMuchAsTheNarrowestShare) {
  // Bertsekas and Gallager's chain: wires of 1, 1, 2; a long stream over all, one short on each of
  // the first two, two on the last. First wire: 1/2 each; second the same; third: (2 - 1/2) / 2.
  const auto r = rates({1.0, 1.0, 2.0}, {{{0}, {1}, {2}}, {{0}}, {{1}}, {{2}}, {{2}}});
  EXPECT_EQ(r, (std::vector<double>{0.5, 0.5, 0.5, 0.75, 0.75}));
}

TEST(MaxMin, AStreamThatPassesAWireTwiceLoadsItTwice) {
  // 2 a + b <= 9 with equal rates: 3 each.
  EXPECT_EQ(rates({9.0}, {{{0, 2.0}}, {{0, 1.0}}}), (std::vector<double>{3.0, 3.0}));
}

TEST(MaxMin, AStreamWithoutWiresHasNoLimit) { EXPECT_TRUE(std::isinf(rates({1.0}, {{}})[0])); }

TEST(MaxMin, NoWireCarriesMoreThanItCanAndEveryStreamMeetsAFullWire) {
  // 7 wires, 20 streams over fixed patterns.
  std::vector<double> wires;
  for (int w = 0; w < 7; ++w) wires.push_back(10.0 + 3.0 * w);
  std::vector<Stream> streams;
  for (int s = 0; s < 20; ++s)
    streams.push_back(
        {{s % 7, 1.0}, {(s * 3 + 1) % 7 == s % 7 ? (s + 2) % 7 : (s * 3 + 1) % 7, 1.0 + s % 2}});
  const auto r = rates(wires, streams);
  std::vector<double> used(7, 0.0);
  for (std::size_t s = 0; s < 20; ++s) {
    for (const WireLoad& u : streams[s]) used[static_cast<std::size_t>(u.wire)] += u.load * r[s];
  }
  for (std::size_t w = 0; w < 7; ++w) EXPECT_LE(used[w], wires[w] * (1 + 1e-9));
  for (std::size_t s = 0; s < 20; ++s) {
    bool full = false;
    for (const WireLoad& u : streams[s]) {
      const auto w = static_cast<std::size_t>(u.wire);
      full = full || used[w] > wires[w] * (1 - 1e-9);
    }
    EXPECT_TRUE(full) << s;
  }
}

}  // namespace
}  // namespace meshwright
