// SPDX-License-Identifier: Apache-2.0
// A training log: no text is refused.
#include "interop/logs/training_log.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace meshwright;
  const interop::TrainingLog log = interop::read_training_log(fuzz::text_of(data, size));
  fuzz::count_kind(log.target);
  const auto steps = interop::measured_steps(log, {4096, 64, 8});
  if (steps)
    fuzz::must_hold(steps->p10 <= steps->p90, "the quantiles of a log's steps are in order");
  return 0;
}
