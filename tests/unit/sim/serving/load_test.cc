// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/load.h"

#include <gtest/gtest.h>

namespace meshwright {
namespace {

// Whole numbers from 0.8 * 1,000 to 1,000: mean 900.
TEST(RequestLengths, OfAUniformDistributionHaveTheirMean) {
  const RequestLengths lengths{.kind = LengthKind::uniform, .input = 1000, .output = 500};
  EXPECT_DOUBLE_EQ(mean_input(lengths), 900.0);
  EXPECT_DOUBLE_EQ(mean_output(lengths), 450.0);
  EXPECT_DOUBLE_EQ(mean_context(lengths), 900.0 + 450.0 / 2.0);
  EXPECT_DOUBLE_EQ(longest_request(lengths), 1500.0);
  ServingLoad load;
  load.lengths = lengths;
  load.num_requests = 20'000;
  double input = 0;
  for (const ServingRequest& one : requests_of(load)) {
    EXPECT_GE(one.input, 800);
    EXPECT_LE(one.input, 1000);
    input += one.input;
  }
  // Standard deviation of the mean: 58 / sqrt(20,000) = 0.4.
  EXPECT_NEAR(input / 20'000, 900.0, 2.0);
}

// Gaps of mean 1 / rate; squared variation 1 / shape.
TEST(OpenLoop, HasItsRateAndItsBurstiness) {
  for (const double shape : {0.5, 1.0, 4.0}) {
    ServingLoad load;
    load.kind = LoadKind::open_loop;
    load.request_rate = 10.0;
    load.burstiness = shape;
    load.num_requests = 40'000;
    const std::vector<ServingRequest> requests = requests_of(load);
    double sum = 0, square = 0;
    for (std::size_t i = 1; i < requests.size(); ++i) {
      const double gap = (requests[i].arrival - requests[i - 1].arrival).value();
      EXPECT_GE(gap, 0.0);
      sum += gap;
      square += gap * gap;
    }
    const double count = static_cast<double>(requests.size() - 1), mean = sum / count;
    EXPECT_NEAR(mean, 0.1, 0.003) << shape;
    EXPECT_NEAR((square / count - mean * mean) / (mean * mean), 1.0 / shape, 0.06 / shape);
  }
}

TEST(OpenLoop, OfTheSameSeedIsTheSame) {
  ServingLoad load;
  load.kind = LoadKind::open_loop;
  load.num_requests = 50;
  EXPECT_EQ(requests_of(load)[49].arrival, requests_of(load)[49].arrival);
  ServingLoad other = load;
  other.seed = 2;
  EXPECT_NE(requests_of(load)[49].arrival, requests_of(other)[49].arrival);
}

TEST(Simulation, RunsTenRequestsOfEachUser) {
  ServingLoad load;
  load.concurrency = 64;
  EXPECT_EQ(simulated_requests(load), 640);
  load.num_requests = 7;
  EXPECT_EQ(simulated_requests(load), 7);
  load.kind = LoadKind::arrivals;
  load.arrivals = {seconds(0), seconds(1)};
  EXPECT_EQ(simulated_requests(load), 2);
}

// Half of 1,000 tokens in whole blocks of 16: 31 blocks, 496 tokens. The last token is computed,
// and the block that it is in.
TEST(PrefixHit, CoversWholeBlocksAndNeverTheLastToken) {
  EXPECT_DOUBLE_EQ(computed_input(1000, 0.5, 16), 504.0);
  EXPECT_DOUBLE_EQ(computed_input(1024, 1.0, 16), 16.0);
  EXPECT_DOUBLE_EQ(computed_input(1000, 0.0, 16), 1000.0);
}

}  // namespace
}  // namespace meshwright
