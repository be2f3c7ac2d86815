// SPDX-License-Identifier: Apache-2.0
// A rank whose memory is full in the first step: the layout's answer on all ranks, and no end of
// the job.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/trial/trial.h"
#include "sim/layout/short_name.h"
#include "tests/ranks/some_layouts.h"

namespace meshwright::calibrate {
namespace {

using ::testing::HasSubstr;

// The last rank's limit is this share of what the layout takes of it. All others have none.
Observation trial_with_limit(const Layout& layout, double share) {
  Machine& m = machine();
  TrialStep free(small_model(), small_job(), layout, *m.compute, *m.world, kOptions);
  free.run();
  TrialOptions options{.warmup_steps = 1, .steps = 1};
  if (m.world->rank() == m.world->size() - 1) options.memory_limit = share * free.peak_memory();
  return run_trial(small_model(), small_job(), layout, *m.compute, *m.world, options);
}

// A hundredth of it is full at the first weights, nine tenths are in the step.
TEST(OutOfMemory, OfOneRankIsTheAnswerOfTheLayoutAndTheNextOneRuns) {
  const int ranks = machine().world->size();
  for (const Layout& layout : layouts_of(ranks)) {
    SCOPED_TRACE(short_name(layout));
    for (const double share : {0.01, 0.9}) {
      const Observation o = trial_with_limit(layout, share);
      EXPECT_THAT(o.failure, HasSubstr(fmt::format("out of memory on rank {}: ", ranks - 1)));
      EXPECT_THAT(o.failure, HasSubstr("were set as the limit"));
      EXPECT_EQ(o.steps, 0);
    }
    const Observation fits = trial_with_limit(layout, 3.0);
    EXPECT_EQ(fits.failure, "");
    EXPECT_EQ(machine().world->rank() == 0 ? fits.steps : 1, 1);
  }
}

}  // namespace
}  // namespace meshwright::calibrate
