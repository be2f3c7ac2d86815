// SPDX-License-Identifier: Apache-2.0
// While tokens of one micro-batch are on their way, another one's pass goes on.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "sim/block/transfer_names.h"
#include "sim/json/records.h"
#include "tests/ranks/account.h"

namespace meshwright::calibrate {
namespace {

// Dispatch D, combine C, their gradients in small letters, each with its micro-batch.
std::string exchanges_of(const char* layout) {
  using transfer_names::kExperts;
  const std::map<std::string_view, char> letters{{kExperts.dispatch, 'D'},
                                                 {kExperts.combine, 'C'},
                                                 {kExperts.dispatch_gradient, 'd'},
                                                 {kExperts.combine_gradient, 'c'}};
  TrialStep step(small_moe(), small_job(), layout_from_text(layout), *machine().compute,
                 *machine().world, kOptions);
  step.recorder().keep_intervals(true);
  step.run();
  std::string text;
  for (const RecordedInterval& interval : step.recorder().intervals()) {
    const auto letter = letters.find(interval.name);
    if (letter == letters.end()) continue;
    text += fmt::format("{}{} ", letter->second, interval.micro_batch);
  }
  return text;
}

// Two micro-batches through a dense layer and three of experts: forward goes up, backward down, so
// that the dense layer of either meets the last of the other.
TEST(TokenOverlap, ForwardAndBackwardOfTwoMicroBatchesTakeTurnsInEachLayer) {
  if (machine().world->size() != 2) GTEST_SKIP() << "written for two ranks";
  EXPECT_EQ(exchanges_of("dp=2,ep=2,mbs=2"),
            "D0 C0 D0 C0 D0 C0 c0 d0 c0 d0 c0 d0 D1 C1 D1 C1 D1 C1 c1 d1 c1 d1 c1 d1 ");
  EXPECT_EQ(exchanges_of("dp=2,ep=2,mbs=2,ep_overlap"),
            "D0 C0 D0 C0 D0 C0 c0 d0 c0 D1 d0 C1 c0 D1 d0 C1 D1 C1 c1 d1 c1 d1 c1 d1 ");
}

// Forward and backward pass of the middle one of three layers run at once. Its weights, gathered
// for either pass, stay until both are done.
TEST(TokenOverlap, PassesThatMeetInALayerShareItsGatheredWeights) {
  Model model = small_moe();
  model.num_layers = 3;
  for (const char* text : {"dp=2,ep=2,mbs=2,zero=3,ep_overlap", "dp=2,ep=2,mbs=1,zero=2,ep_overlap",
                           "dp=4,ep=4,mbs=1,zero=3,ep_overlap"}) {
    const Layout layout = layout_from_text(text);
    if (world_size(layout) != machine().world->size()) continue;
    expect_same_step(model, small_job(), layout);
    expect_counted(model, layout);
  }
}

}  // namespace
}  // namespace meshwright::calibrate
