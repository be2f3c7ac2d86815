// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/serving_observation.h"

#include <algorithm>

namespace meshwright {

std::vector<double> numbers_of(const RequestTiming& t) {
  return {t.arrival.value(), t.first_token.value(), t.end.value(), static_cast<double>(t.input),
          static_cast<double>(t.output)};
}

RequestTiming request_timing_of(std::span<const double> numbers) {
  RequestTiming t;
  t.arrival = seconds(numbers[0]);
  t.first_token = seconds(numbers[1]);
  t.end = seconds(numbers[2]);
  t.input = static_cast<int>(numbers[3]);
  t.output = static_cast<int>(numbers[4]);
  return t;
}

std::vector<double> numbers_of(const ObservedServingStep& s) {
  return {static_cast<double>(s.replica),
          s.begin.value(),
          s.time.value(),
          s.step.decode_sequences,
          s.step.decode_context,
          s.step.prefill_tokens,
          s.step.prefill_sequences,
          s.step.prefill_pairs,
          s.kv_blocks,
          s.sent.value(),
          s.bytes_as_said ? 1.0 : 0.0};
}

ObservedServingStep serving_step_of(std::span<const double> numbers) {
  ObservedServingStep s;
  s.replica = static_cast<int>(numbers[0]);
  s.begin = seconds(numbers[1]);
  s.time = seconds(numbers[2]);
  s.step = {numbers[3], numbers[4], numbers[5], numbers[6], numbers[7]};
  s.kv_blocks = numbers[8];
  s.sent = bytes(numbers[9]);
  s.bytes_as_said = numbers[10] != 0.0;
  return s;
}

Seconds median_decode_step(const ServingObservation& o) {
  std::vector<Seconds> times;
  for (const ObservedServingStep& one : o.steps) {
    if (one.step.prefill_tokens == 0.0) times.push_back(one.time);
  }
  std::sort(times.begin(), times.end());
  return percentile(times, 50);
}

}  // namespace meshwright
