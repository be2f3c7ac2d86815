// SPDX-License-Identifier: Apache-2.0
#include "sim/schedule/moments.h"

#include <algorithm>

namespace meshwright {
namespace {

using Held = std::vector<ChunkHeld>;

bool covers(const Held& more, const Held& less) {
  for (std::size_t i = 0; i < less.size(); ++i) {
    if (more[i].whole < less[i].whole || more[i].weight_only < less[i].weight_only) return false;
  }
  return true;
}

// `middle` lies on the line from `first` to `last`: it never weighs more than both.
bool between(const Held& first, const Held& middle, const Held& last) {
  std::int64_t part = 0;  // middle = first + part / whole * (last - first)
  std::int64_t whole = 0;
  const auto on_line = [&](std::int64_t from, std::int64_t at, std::int64_t to) {
    if (whole == 0 && from != to) {
      const std::int64_t sign = to > from ? 1 : -1;
      whole = sign * (to - from);
      part = sign * (at - from);
    }
    return (at - from) * whole == part * (to - from) && (whole != 0 || at == from);
  };
  for (std::size_t i = 0; i < middle.size(); ++i) {
    if (!on_line(first[i].whole, middle[i].whole, last[i].whole)) return false;
    if (!on_line(first[i].weight_only, middle[i].weight_only, last[i].weight_only)) return false;
  }
  return 0 <= part && part <= whole;
}

// The moments of one kind of running work.
struct Kind {
  RunningWork running;
  std::optional<RunningWork> beside;
  std::vector<Held> points;

  void add(const Held& held) {
    const std::size_t n = points.size();
    if (n > 0 && covers(points[n - 1], held)) return;
    if (n > 1 && between(points[n - 2], points[n - 1], held)) {
      points[n - 1] = held;
    } else {
      points.push_back(held);
    }
  }
};

class Kinds {
 public:
  void add(RunningWork running, std::optional<RunningWork> beside, const Held& held) {
    kind(running, beside).add(held);
  }

  [[nodiscard]] std::vector<Moment> maximal() const {
    std::vector<Moment> moments;
    for (const Kind& kind : kinds_) {
      for (std::size_t i = 0; i < kind.points.size(); ++i) {
        if (!is_covered(kind.points, i)) {
          moments.push_back({kind.running, kind.beside, kind.points[i]});
        }
      }
    }
    return moments;
  }

 private:
  Kind& kind(RunningWork running, std::optional<RunningWork> beside) {
    for (Kind& known : kinds_) {
      if (known.running == running && known.beside == beside) return known;
    }
    kinds_.push_back({running, beside, {}});
    return kinds_.back();
  }

  static bool is_covered(const std::vector<Held>& points, std::size_t i) {
    for (std::size_t j = 0; j < points.size(); ++j) {
      if (j == i || !covers(points[j], points[i])) continue;
      if (j < i || points[j] != points[i]) return true;  // of equal ones the first stays
    }
    return false;
  }

  std::vector<Kind> kinds_;
};

// GPipe and 1F1B of one chunk: forward and backward hold the same number.
std::vector<Moment> alternating_moments(int held) {
  const std::vector<ChunkHeld> counts{{held, 0}};
  return {{{Work::forward, 0}, std::nullopt, counts}, {{Work::backward, 0}, std::nullopt, counts}};
}

}  // namespace

void begin_work(std::vector<ChunkHeld>& held, const Instruction& instruction) {
  if (instruction.work == Work::forward) ++held[static_cast<std::size_t>(instruction.chunk)].whole;
}

void end_work(std::vector<ChunkHeld>& held, const Instruction& instruction) {
  ChunkHeld& chunk = held[static_cast<std::size_t>(instruction.chunk)];
  const Work work = instruction.work;
  if (work == Work::backward || work == Work::backward_input) --chunk.whole;
  if (work == Work::backward_input) ++chunk.weight_only;
  if (work == Work::backward_weight) --chunk.weight_only;
}

std::vector<Moment> program_moments(const StageProgram& program, int chunks) {
  Kinds kinds;
  Held held(static_cast<std::size_t>(chunks));
  for (std::size_t i = 0; i < program.size(); ++i) {
    const Instruction& first = program[i];
    begin_work(held, first);
    if (first.with_next) {  // two together
      const Instruction& second = program[++i];
      begin_work(held, second);
      kinds.add({first.work, first.chunk}, RunningWork{second.work, second.chunk}, held);
      end_work(held, second);
    } else {
      kinds.add({first.work, first.chunk}, std::nullopt, held);
    }
    end_work(held, first);
  }
  return kinds.maximal();
}

std::vector<Moment> grouped_moments(const std::vector<Moment>& moments,
                                    std::span<const int> sizes) {
  std::vector<int> group_of;
  for (std::size_t g = 0; g < sizes.size(); ++g) {
    group_of.insert(group_of.end(), static_cast<std::size_t>(sizes[g]), static_cast<int>(g));
  }
  const auto grouped = [&](RunningWork running) {
    running.chunk = group_of[static_cast<std::size_t>(running.chunk)];
    return running;
  };
  Kinds kinds;
  for (const Moment& moment : moments) {
    Held held(sizes.size());
    for (std::size_t c = 0; c < group_of.size(); ++c) {
      held[static_cast<std::size_t>(group_of[c])].whole += moment.held[c].whole;
      held[static_cast<std::size_t>(group_of[c])].weight_only += moment.held[c].weight_only;
    }
    std::optional<RunningWork> beside;
    if (moment.beside) beside = grouped(*moment.beside);
    kinds.add(grouped(moment.running), beside, held);
  }
  return kinds.maximal();
}

// moments_test.cc walks longer ones. Where groups of p micro-batches fill a stage, the last may be
// shorter; others are full after their warm-up of at most 2p - 1 forwards and empty from p before
// their end.
int representative_micro_batches(PipelineSchedule schedule, int stages, int micro_batches) {
  const ScheduleTraits& t = traits(schedule);
  if (t.holds_all_micro_batches) return micro_batches;
  constexpr int kGroups = 4;
  const int full = kGroups * stages;
  if (micro_batches <= full) return micro_batches;
  return full + micro_batches % (t.groups_of_stages ? stages : 2);
}

std::vector<Moment> schedule_moments(PipelineSchedule schedule, int stages, int micro_batches,
                                     int chunks, int stage) {
  const ScheduleTraits& t = traits(schedule);
  const PipelineSizes sizes{stages, representative_micro_batches(schedule, stages, micro_batches),
                            chunks};
  if (t.most_chunks == 1 && !t.splits_backward) return alternating_moments(t.peak(sizes, stage));
  return program_moments(t.program(sizes, stage), chunks);
}

}  // namespace meshwright
