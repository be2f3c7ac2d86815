// SPDX-License-Identifier: Apache-2.0
// Peak of chunks on each rank between forward and backward, as the frameworks order their passes
// (facts/live_activations.csv: Megatron Core's schedule table, PyTorch's actions). Left out are
// groups of micro-batches other than the stages (Megatron Core), and micro-batches that are no
// multiple of the stages. LoopedBFS and InterleavedZeroBubble of PyTorch are no schedules here.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "sim/schedule/traits.h"
#include "tests/paths.h"

namespace meshwright {
namespace {

PipelineSchedule schedule_named(const std::string& name) {
  const auto found = std::find_if(kPipelineScheduleNames.begin(), kPipelineScheduleNames.end(),
                                  [&](const auto& entry) { return entry.name == name; });
  if (found == kPipelineScheduleNames.end()) throw std::runtime_error("no schedule " + name);
  return found->value;
}

int most_alive(const StageProgram& program) {
  int alive = 0, most = 0;
  for (const Instruction& one : program) {
    if (one.pass == Pass::forward) most = std::max(most, ++alive);
    if (one.pass == Pass::backward || one.pass == Pass::backward_input) --alive;
  }
  return most;
}

TEST(ScheduleFacts, HoldAsManyActivationsAsTheFrameworks) {
  std::ifstream table(std::filesystem::path(MESHWRIGHT_SOURCE_DIR) /
                      "tests/unit/sim/schedule/facts/live_activations.csv");
  std::string line;
  std::getline(table, line);
  int rows = 0;
  while (std::getline(table, line)) {
    std::istringstream cells(line);
    std::string source, schedule, cell;
    std::getline(cells, source, ',');
    std::getline(cells, schedule, ',');
    const auto whole = [&] {
      std::getline(cells, cell, ',');
      return std::stoi(cell);
    };
    PipelineSizes sizes;
    sizes.stages = whole();
    sizes.chunks = whole();
    sizes.micro_batches = whole();
    sizes.pairs_passes = whole() == 1;
    const ScheduleTraits& of = traits(schedule_named(schedule));
    char colon = 0;
    for (int rank = 0, peak = 0; cells >> rank >> colon >> peak; ++rows) {
      EXPECT_EQ(most_alive(of.program(sizes, rank)), peak) << line << ", rank " << rank;
    }
  }
  EXPECT_EQ(rows, 410);
}

}  // namespace
}  // namespace meshwright
