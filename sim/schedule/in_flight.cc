// SPDX-License-Identifier: Apache-2.0
#include "sim/schedule/in_flight.h"

#include <algorithm>

namespace meshwright {
namespace {

using Held = std::vector<HeldMicroBatches>;

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

// The states of one kind of running work.
struct Kind {
  RunningPass running;
  std::optional<RunningPass> beside;
  bool in_turns = false;
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
  void add(RunningPass running, std::optional<RunningPass> beside, const Held& held,
           bool in_turns = false) {
    kind(running, beside, in_turns).add(held);
  }

  [[nodiscard]] std::vector<InFlightState> maximal() const {
    std::vector<InFlightState> states;
    for (const Kind& kind : kinds_) {
      for (std::size_t i = 0; i < kind.points.size(); ++i) {
        if (!is_covered(kind.points, i)) {
          states.push_back({kind.running, kind.beside, kind.points[i], kind.in_turns});
        }
      }
    }
    return states;
  }

 private:
  Kind& kind(RunningPass running, std::optional<RunningPass> beside, bool in_turns) {
    for (Kind& known : kinds_) {
      if (known.running == running && known.beside == beside && known.in_turns == in_turns) {
        return known;
      }
    }
    kinds_.push_back({running, beside, in_turns, {}});
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
std::vector<InFlightState> alternating_states(int held) {
  const std::vector<HeldMicroBatches> counts{{held, 0}};
  return {{{Pass::forward, 0}, std::nullopt, counts, false},
          {{Pass::backward, 0}, std::nullopt, counts, false}};
}

}  // namespace

void begin_pass(std::vector<HeldMicroBatches>& held, const Instruction& instruction) {
  if (instruction.pass == Pass::forward) ++held[static_cast<std::size_t>(instruction.chunk)].whole;
}

void end_pass(std::vector<HeldMicroBatches>& held, const Instruction& instruction) {
  HeldMicroBatches& chunk = held[static_cast<std::size_t>(instruction.chunk)];
  const Pass pass = instruction.pass;
  if (pass == Pass::backward || pass == Pass::backward_input) --chunk.whole;
  if (pass == Pass::backward_input) ++chunk.weight_only;
  if (pass == Pass::backward_weight) --chunk.weight_only;
}

std::vector<InFlightState> program_states(const StageProgram& program, int chunks, bool in_turns) {
  Kinds kinds;
  Held held(static_cast<std::size_t>(chunks));
  for (std::size_t i = 0; i < program.size(); ++i) {
    const Instruction& first = program[i];
    if (first.with_next && in_turns) {
      const Instruction& second = program[++i];
      const RunningPass forward{first.pass, first.chunk}, backward{second.pass, second.chunk};
      kinds.add(backward, forward, held, true);
      begin_pass(held, first);
      end_pass(held, second);
      kinds.add(forward, backward, held, true);
      continue;
    }
    begin_pass(held, first);
    if (first.with_next) {  // two together
      const Instruction& second = program[++i];
      begin_pass(held, second);
      kinds.add({first.pass, first.chunk}, RunningPass{second.pass, second.chunk}, held);
      end_pass(held, second);
    } else {
      kinds.add({first.pass, first.chunk}, std::nullopt, held);
    }
    end_pass(held, first);
  }
  return kinds.maximal();
}

std::vector<InFlightState> grouped_states(const std::vector<InFlightState>& states,
                                          std::span<const int> sizes) {
  std::vector<int> group_of;
  for (std::size_t g = 0; g < sizes.size(); ++g) {
    group_of.insert(group_of.end(), static_cast<std::size_t>(sizes[g]), static_cast<int>(g));
  }
  const auto grouped = [&](RunningPass running) {
    running.chunk = group_of[static_cast<std::size_t>(running.chunk)];
    return running;
  };
  Kinds kinds;
  for (const InFlightState& state : states) {
    Held held(sizes.size());
    for (std::size_t c = 0; c < group_of.size(); ++c) {
      held[static_cast<std::size_t>(group_of[c])].whole += state.held[c].whole;
      held[static_cast<std::size_t>(group_of[c])].weight_only += state.held[c].weight_only;
    }
    std::optional<RunningPass> beside;
    if (state.beside) beside = grouped(*state.beside);
    kinds.add(grouped(state.running), beside, held, state.in_turns);
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

std::vector<InFlightState> in_flight_states(PipelineSchedule schedule, PipelineSizes sizes,
                                            int stage) {
  const ScheduleTraits& t = traits(schedule);
  sizes.micro_batches = representative_micro_batches(schedule, sizes.stages, sizes.micro_batches);
  const bool alternates = t.most_chunks == 1 && !t.splits_backward && !sizes.pairs_passes;
  if (alternates) return alternating_states(t.peak(sizes, stage));
  const bool in_turns = sizes.pairs_passes && !t.pairs_passes;
  return program_states(t.program(sizes, stage), sizes.chunks, in_turns);
}

}  // namespace meshwright
