// SPDX-License-Identifier: Apache-2.0
#include "sim/schedule/uneven_chunks.h"

#include <gtest/gtest.h>

#include <random>

#include "sim/schedule/schedule.h"

namespace meshwright {
namespace {

constexpr auto kInterleaved = PipelineSchedule::interleaved;

struct Case {
  int stages, chunks, groups;
  std::vector<double> forward;  // by chunk of the model; backward takes twice as long
  double send = 0.0;
};

Seconds simulated(const Case& c) {
  PipelineTimes times;
  times.send = seconds(c.send);
  times.stages.resize(static_cast<std::size_t>(c.stages));
  for (std::size_t i = 0; i < c.forward.size(); ++i) {
    const Seconds f = seconds(c.forward[i]);
    times.stages[i % static_cast<std::size_t>(c.stages)].push_back({f, f, f});
  }
  const int micro_batches = c.groups * c.stages;
  return simulate(kInterleaved,
                  pipeline_programs(kInterleaved, {c.stages, micro_batches, c.chunks}), times,
                  false)
      .total;
}

Seconds priced(const Case& c) {
  std::vector<ChunkLoad> chunks;
  for (const double f : c.forward) chunks.push_back({seconds(f), seconds(2.0 * f)});
  PipelineLoad load;
  load.num_stages = c.stages;
  load.chunks = c.chunks;
  load.send = seconds(c.send);
  load.uneven_chunks = chunks;
  return closed_form_total(kInterleaved, load, c.groups * c.stages);
}

// 4 stages of 2 chunks, 16 micro-batches: (16 x 2 + 3) (1 + 2).
TEST(UnevenChunks, AlikeOnesTakeWhatTheClosedFormSays) {
  EXPECT_DOUBLE_EQ(priced({4, 2, 4, std::vector<double>(8, 1.0)}).value(), 105.0);
}

// Two stages of two chunks, one pair of micro-batches, forward 3, 1, 1, 1 s. Stage 0 runs chunk 0
// twice (to 6), stage 1 chunk 1 from 3 and 6 (to 4 and 7), stage 0 chunk 2 from 6 and 7 (to 7, 8),
// stage 1 chunk 3 from 7 to 8 and, after the first backward to 10, from 10 to 11, backward to 13;
// stage 0 backward of chunk 2 from 10 and 13 (to 12, 15); stage 1 of chunk 1 from 13 and 15 (to 15,
// 17); stage 0 of chunk 0 from 15 and 21: 6 s each.
TEST(UnevenChunks, AStepByHand) { EXPECT_DOUBLE_EQ(priced({2, 2, 1, {3, 1, 1, 1}}).value(), 27.0); }

TEST(UnevenChunks, TakeWhatTheSimulationOfTheirProgramsTakes) {
  std::mt19937 random(3);
  const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
  for (int i = 0; i < 400; ++i) {
    Case c{2 + below(7), 2 + below(3), 1 + below(16), {}, below(2) * 0.125};
    const int usual = 1 + below(4);
    for (int k = 0; k < c.stages * c.chunks; ++k) {
      c.forward.push_back(below(5) == 0 ? below(6) * 0.5 : usual);
    }
    c.forward.back() += 0.25 * below(16);  // the loss
    const Seconds expected = simulated(c);
    EXPECT_NEAR(priced(c) / expected, 1.0, 1e-9)
        << c.stages << " stages, " << c.chunks << " chunks, " << c.groups << " groups";
  }
}

}  // namespace
}  // namespace meshwright
