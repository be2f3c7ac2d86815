// SPDX-License-Identifier: Apache-2.0
#include "sim/schedule/in_flight.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "equal_stages.h"

namespace meshwright {
namespace {

// Bytes that differ from chunk to chunk and from one kind of work to the other.
struct ChunkBytes {
  int whole = 0, weight_only = 0;
  std::array<int, 4> working{};  // of each Pass
};

std::vector<ChunkBytes> some_bytes(int chunks, int seed) {
  std::vector<ChunkBytes> bytes;
  for (int c = 0; c < chunks; ++c) {
    const auto number = [&](int k) { return (17 * c + 31 * k + 7 * seed * (c + k + 1)) % 23; };
    bytes.push_back({number(1), number(2), {number(3), number(4), number(5), number(6)}});
  }
  return bytes;
}

int at(const std::vector<ChunkBytes>& bytes, const RunningPass& r) {
  return bytes[static_cast<std::size_t>(r.chunk)].working[static_cast<std::size_t>(r.pass)];
}

int peak_of_states(const std::vector<InFlightState>& states, const std::vector<ChunkBytes>& bytes) {
  int peak = 0;
  for (const InFlightState& state : states) {
    int sum = at(bytes, state.running) + (state.beside ? at(bytes, *state.beside) : 0);
    for (std::size_t c = 0; c < bytes.size(); ++c) {
      sum += state.held[c].whole * bytes[c].whole;
      sum += state.held[c].weight_only * bytes[c].weight_only;
    }
    peak = std::max(peak, sum);
  }
  return peak;
}

// Adds up what is held, instruction by instruction; sets of micro-batches instead of counts.
class BruteForce {
 public:
  explicit BruteForce(const std::vector<ChunkBytes>& bytes)
      : bytes_(bytes), whole_(bytes.size()), weight_only_(bytes.size()) {}

  // in_turns: of two together the backward gives up a layer when the forward keeps one.
  int peak(const StageProgram& program, bool in_turns) {
    for (std::size_t i = 0; i < program.size(); ++i) {
      const std::size_t together = program[i].with_next ? 2 : 1;
      int sum = 0;
      for (std::size_t k = i; k < i + together; ++k) {
        sum += at(bytes_, {program[k].pass, program[k].chunk});
      }
      if (in_turns && together == 2) peak_ = std::max(peak_, sum + held());
      for (std::size_t k = i; k < i + together; ++k) {
        if (program[k].pass == Pass::forward) whole(program[k]).insert(program[k].micro_batch);
      }
      if (in_turns && together == 2) finish(program[i + 1]);
      peak_ = std::max(peak_, sum + held());
      for (std::size_t k = i; k < i + together; ++k) finish(program[k]);
      i += together - 1;
    }
    EXPECT_EQ(held(), 0) << "a program must leave nothing behind";
    return peak_;
  }

 private:
  std::set<int>& whole(const Instruction& i) { return whole_[static_cast<std::size_t>(i.chunk)]; }
  std::set<int>& deferred(const Instruction& i) {
    return weight_only_[static_cast<std::size_t>(i.chunk)];
  }
  void finish(const Instruction& i) {
    if (i.pass == Pass::forward) return;
    if (i.pass == Pass::backward_weight) {
      deferred(i).erase(i.micro_batch);
      return;
    }
    whole(i).erase(i.micro_batch);
    if (i.pass == Pass::backward_input) deferred(i).insert(i.micro_batch);
  }
  [[nodiscard]] int held() const {
    int sum = 0;
    for (std::size_t c = 0; c < bytes_.size(); ++c) {
      sum += static_cast<int>(whole_[c].size()) * bytes_[c].whole;
      sum += static_cast<int>(weight_only_[c].size()) * bytes_[c].weight_only;
    }
    return sum;
  }

  const std::vector<ChunkBytes>& bytes_;
  std::vector<std::set<int>> whole_, weight_only_;
  int peak_ = 0;
};

void expect_equal_to_brute_force(PipelineSchedule schedule, const PipelineSizes& sizes) {
  const auto [stages, micro_batches, chunks, pairs] = sizes;
  const auto programs = pipeline_programs(schedule, sizes);
  for (int stage = 0; stage < stages; ++stage) {
    const auto states = in_flight_states(schedule, sizes, stage);
    for (int seed = 0; seed < 12; ++seed) {
      const auto bytes = some_bytes(chunks, seed);
      ASSERT_EQ(peak_of_states(states, bytes),
                BruteForce(bytes).peak(programs[static_cast<std::size_t>(stage)], pairs))
          << "schedule " << static_cast<int>(schedule) << " p " << stages << " m " << micro_batches
          << " v " << chunks << " pairs " << pairs << " stage " << stage << " seed " << seed;
    }
  }
}

TEST(InFlightStates, PeakEqualsTheWalkForEverySchedule) {
  for (const auto& c : schedule_cases()) {
    expect_equal_to_brute_force(c.schedule, {c.stages, c.micro_batches, c.chunks});
  }
}

TEST(InFlightStates, PeakEqualsTheWalkForFewMicroBatches) {
  for (int m = 1; m < 12; ++m) {
    for (const auto schedule : {PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b,
                                PipelineSchedule::zb_h1, PipelineSchedule::zb_h2}) {
      expect_equal_to_brute_force(schedule, {5, m, 1});
    }
    expect_equal_to_brute_force(PipelineSchedule::zb_v, {5, m, 2});
  }
}

// Far more micro-batches than the ones that stand for them.
TEST(InFlightStates, PeakEqualsTheWalkForManyMicroBatches) {
  for (const int p : {2, 3, 5, 8}) {
    for (const int v : {1, 2, 4, 5}) {
      expect_equal_to_brute_force(PipelineSchedule::interleaved, {p, 11 * p, v});
    }
    for (const int extra : {0, 1, 3}) {
      expect_equal_to_brute_force(PipelineSchedule::zb_h1, {p, 11 * p + extra, 1});
      expect_equal_to_brute_force(PipelineSchedule::zb_h2, {p, 11 * p + extra, 1});
      expect_equal_to_brute_force(PipelineSchedule::zb_v, {p, 11 * p + extra, 2});
      if (p % 2 == 0) {
        expect_equal_to_brute_force(PipelineSchedule::dualpipe, {p, 11 * p + 2 * extra, 2});
      }
    }
  }
}

// Passes that take turns in each layer hold no more than one of them, and a layer (memory_test.cc).
TEST(InFlightStates, PeakEqualsTheWalkWherePassesArePaired) {
  for (const int m : {1, 2, 3, 40}) {
    expect_equal_to_brute_force(PipelineSchedule::one_f_one_b, {1, m, 1, true});
  }
  for (const int p : {2, 3, 5}) {
    for (const int groups : {1, 2, 11}) {
      for (const int v : {2, 4}) {
        expect_equal_to_brute_force(PipelineSchedule::interleaved, {p, groups * p, v, true});
      }
    }
  }
}

// v = 5 in groups of 1, 3 and 1 chunks, and of 2 and 3: the few states that are left have the same
// peak as all of them when the chunks of a group weigh the same.
TEST(InFlightStates, GroupedHaveThePeakOfAll) {
  for (const std::vector<int>& sizes : {std::vector{1, 3, 1}, std::vector{2, 3}}) {
    for (int stage = 0; stage < 4; ++stage) {
      const auto all = in_flight_states(PipelineSchedule::interleaved, {4, 12, 5}, stage);
      const auto grouped = grouped_states(all, sizes);
      EXPECT_LT(grouped.size(), all.size());
      for (int seed = 0; seed < 12; ++seed) {
        const auto bytes = some_bytes(static_cast<int>(sizes.size()), seed);
        std::vector<ChunkBytes> by_chunk;
        for (std::size_t g = 0; g < sizes.size(); ++g) {
          by_chunk.insert(by_chunk.end(), static_cast<std::size_t>(sizes[g]), bytes[g]);
        }
        ASSERT_EQ(peak_of_states(grouped, bytes), peak_of_states(all, by_chunk));
      }
    }
  }
}

// 1F1B, p = 4, first stage: 4 in flight at its forwards and at its backwards, nothing else.
TEST(InFlightStates, OfOneFOneBAreTwo) {
  const auto states = in_flight_states(PipelineSchedule::one_f_one_b, {4, 64, 1}, 0);
  ASSERT_EQ(states.size(), 2U);
  EXPECT_EQ(states[0].held, (std::vector<HeldMicroBatches>{{4, 0}}));
  EXPECT_EQ(states[1].running, (RunningPass{Pass::backward, 0}));
}

// ZB-H2, p = 4, last stage: one forward, then input gradients whose weight gradients lag by 6.
TEST(InFlightStates, SplitBackwardHoldsWhatWeightGradientsNeed) {
  int deferred = 0;
  for (const InFlightState& state : in_flight_states(PipelineSchedule::zb_h2, {4, 64, 1}, 3)) {
    deferred = std::max(deferred, state.held[0].weight_only);
    EXPECT_LE(state.held[0].whole, 1);
  }
  EXPECT_EQ(deferred, 7);  // the lag and the one whose weight gradient runs
}

// A few a chunk, whatever the number of stages and micro-batches.
TEST(InFlightStates, OfALongInterleavedProgramAreFew) {
  EXPECT_LE(in_flight_states(PipelineSchedule::interleaved, {64, 1024, 8}, 0).size(), 100U);
  EXPECT_LE(in_flight_states(PipelineSchedule::dualpipe, {16, 512, 2}, 3).size(), 40U);
}

}  // namespace
}  // namespace meshwright
