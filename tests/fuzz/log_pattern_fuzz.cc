// SPDX-License-Identifier: Apache-2.0
// The first line is a pattern, the others a log: a pattern is read or refused, and each of its steps
// has a time.
#include "interop/logs/log_pattern.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace meshwright;
  const std::string text = fuzz::text_of(data, size);
  const std::size_t end = text.find('\n');
  fuzz::attempt([&] {
    const interop::LogPattern pattern(text.substr(0, end));
    const std::string log = end == std::string::npos ? "" : text.substr(end + 1);
    for (const interop::LogStep& step : interop::read_training_log(log, &pattern).steps) {
      fuzz::must_hold(step.has_time(), "a step of a pattern has a time");
    }
    fuzz::must_hold(pattern.nearest_line(log).size() <= log.size() + 3, "a line is of the log");
  });
  return 0;
}
