// SPDX-License-Identifier: Apache-2.0
// Red flags about memory: half empty, nearly full, context ranks and recompute that are there for
// it.
#include <fmt/format.h>

#include "planner/questions/red_flag_parts.h"
#include "planner/questions/red_flags.h"
#include "planner/questions/rule_of_thumb.h"
#include "sim/base/number_text.h"
#include "sim/hardware/device_noun.h"
#include "sim/layout/short_name.h"

namespace meshwright::planner {
namespace {

constexpr double kHalfEmpty = 0.5;
constexpr double kNearlyFull = 0.9;  // share of the device's memory from which the flag is raised

std::string gib_text(Bytes bytes) { return number_text(in_gibibytes(bytes), 3); }

}  // namespace

std::optional<RedFlag> memory_half_empty(const Scenario& s, const Estimate& winner) {
  const Bytes memory = only_device(s.cluster).memory;
  const Bytes used = winner.peak_memory();
  if (used > memory * kHalfEmpty) return std::nullopt;
  return RedFlag{
      RedFlagId::memory_half_empty,
      fmt::format("{} of {} GiB are used. No layout that uses more is faster on {} {}. Fewer {}, "
                  "or {} with less memory, may be enough.",
                  gib_text(used), gib_text(memory), s.cluster.num_gpus(),
                  device_noun(s.cluster, s.cluster.num_gpus()), device_noun(s.cluster, 2),
                  device_noun(s.cluster, 2)),
      memory - used};
}

std::optional<RedFlag> context_for_memory(const Scenario& s, const Estimate& winner) {
  const int ranks = winner.layout.context_parallel_size;
  if (ranks <= rule_of_thumb_context(s.job.seq_length).high) return std::nullopt;
  Layout whole = winner.layout;
  whole.context_parallel_size = 1;
  whole.data_parallel_size *= ranks;
  const Evaluation without = priced(s, whole);
  if (!runs(without)) return std::nullopt;
  const Bytes memory = only_device(s.cluster).memory;
  const std::string what = fmt::format(
      "{} context ranks split sequences of {} tokens. NVIDIA's rule of thumb does not split "
      "sequences of this length.",
      ranks, s.job.seq_length);
  if (without.peak_memory > memory) {
    return RedFlag{
        RedFlagId::context_for_memory,
        fmt::format("{} Without context ranks, the layout is predicted to need {} of {} GiB. If a "
                    "trial shows that it fits, drop the context ranks.",
                    what, gib_text(without.peak_memory), gib_text(memory)),
        without.peak_memory - memory};
  }
  const Seconds longer = without.step_time - winner.step_time;
  return RedFlag{RedFlagId::context_for_memory,
                 fmt::format("{} Without context ranks, the step is {}. That layout needs {} of {} "
                             "GiB.",
                             what, longer_or_shorter(longer, winner.step_time),
                             gib_text(without.peak_memory), gib_text(memory)),
                 longer};
}

std::optional<RedFlag> memory_nearly_full(const Scenario& s, const Estimate& winner) {
  const Bytes memory = only_device(s.cluster).memory;
  const Bytes used = winner.peak_memory();
  if (used <= memory * kNearlyFull) return std::nullopt;
  return RedFlag{
      RedFlagId::memory_nearly_full,
      fmt::format(
          "{} of {} GiB are used ({} %). Fragmentation, uneven routing or a prediction "
          "error can end the run out of memory. Choose a layout that uses at most {:.0f} %.",
          gib_text(used), gib_text(memory), number_text(100.0 * (used / memory), 3),
          100.0 * kNearlyFull),
      used - memory * kNearlyFull};
}

}  // namespace meshwright::planner
