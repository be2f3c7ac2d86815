// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "sim/schedule/schedule.h"

namespace meshwright {
namespace {

constexpr double kPending = -1.0;

struct Place : ChunkPlace {
  std::array<double, 4> seconds{};  // seconds of each Pass
};

struct StageState {
  std::size_t next = 0;  // index into its program
  double free_at = 0.0;
  double first_begin = 0.0;
  double busy = 0.0, sending = 0.0;
  int held = 0, peak = 0;
  const double* waits_for = nullptr;
};

bool is_forward(Pass pass) { return pass == Pass::forward; }
bool releases_activation(Pass pass) {
  return pass == Pass::backward || pass == Pass::backward_weight;
}

class Simulation {
 public:
  Simulation(PipelineSchedule schedule, const std::vector<StageProgram>& programs,
             const PipelineTimes& times, bool keep_events)
      : programs_(programs),
        send_(times.send.value()),
        keep_events_(keep_events),
        chunks_(times.stages.front().size()),
        micro_batches_(count_micro_batches(programs)),
        states_(programs.size()),
        events_(programs.size()) {
    place_chunks(schedule, times);
    const std::size_t cells = programs.size() * chunks_ * micro_batches_;
    forward_end_.assign(cells, kPending);
    backward_end_.assign(cells, kPending);
  }

  Timeline run() {
    for (std::size_t s = programs_.size(); s-- > 0;) runnable_.push_back(static_cast<int>(s));
    while (!runnable_.empty()) {
      const int stage = runnable_.back();
      runnable_.pop_back();
      run_stage(stage);
    }
    for (std::size_t s = 0; s < programs_.size(); ++s) {
      if (states_[s].next == programs_[s].size()) continue;
      throw std::logic_error("internal error: pipeline programs deadlock");
    }
    return summarize();
  }

 private:
  static std::size_t count_micro_batches(const std::vector<StageProgram>& programs) {
    std::int32_t last = -1;
    for (const auto& program : programs) {
      for (const Instruction& i : program) last = std::max(last, i.micro_batch);
    }
    return static_cast<std::size_t>(last) + 1;
  }

  void place_chunks(PipelineSchedule schedule, const PipelineTimes& times) {
    const auto places =
        chunk_places(schedule, static_cast<int>(programs_.size()), static_cast<int>(chunks_));
    for (std::size_t i = 0; i < places.size(); ++i) {
      const PassTimes& t = times.stages[i / chunks_][i % chunks_];
      const double input = t.backward_input.value();
      const double weight = t.backward_weight.value();
      places_.push_back({places[i], {t.forward.value(), input + weight, input, weight}});
    }
  }

  // Runs a stage until its program ends or an input is missing.
  void run_stage(int stage) {
    StageState& state = states_[static_cast<std::size_t>(stage)];
    const StageProgram& program = programs_[static_cast<std::size_t>(stage)];
    while (state.next < program.size()) {
      const std::size_t num_instructions = program[state.next].with_next ? 2 : 1;
      double begin = state.free_at;
      for (std::size_t k = 0; k < num_instructions; ++k) {
        const Instruction& instruction = program[state.next + k];
        const Place& place = place_of(stage, instruction);
        const double* input = input_of(instruction, place);
        if (input == nullptr) continue;
        if (*input == kPending) {
          state.waits_for = input;
          return;
        }
        begin = std::max(begin, *input);
      }
      execute(stage, num_instructions, begin);
    }
  }

  const Place& place_of(int stage, const Instruction& i) const {
    return places_[static_cast<std::size_t>(stage) * chunks_ + static_cast<std::size_t>(i.chunk)];
  }

  std::size_t cell(const Place& place, const Instruction& i, int chunks_on) const {
    return static_cast<std::size_t>(place.model_chunk + chunks_on) * micro_batches_ +
           static_cast<std::size_t>(i.micro_batch);
  }

  // The end of what an instruction consumes; null for a micro-batch's very first forward.
  const double* input_of(const Instruction& i, const Place& place) const {
    if (is_forward(i.pass)) {
      return place.before == kNoStage ? nullptr : &forward_end_[cell(place, i, -1)];
    }
    if (i.pass == Pass::backward_weight) return &backward_end_[cell(place, i, 0)];
    return place.after == kNoStage ? &forward_end_[cell(place, i, 0)]
                                   : &backward_end_[cell(place, i, 1)];
  }

  // The stage that consumes an instruction's result; kNoStage when this stage does, or nobody.
  static int receiver(const Instruction& i, const Place& place, int stage) {
    if (i.pass == Pass::backward_weight) return kNoStage;
    const int follower = is_forward(i.pass) ? place.after : place.before;
    return follower == stage ? kNoStage : follower;
  }

  // Runs the next `num_instructions` instructions of a stage as one block.
  void execute(int stage, std::size_t num_instructions, double begin) {
    StageState& state = states_[static_cast<std::size_t>(stage)];
    const Instruction* block = &programs_[static_cast<std::size_t>(stage)][state.next];
    if (state.next == 0) state.first_begin = begin;
    double end = begin;
    double send = 0.0;  // the transfers of a block go in opposite directions, at the same time
    for (std::size_t k = 0; k < num_instructions; ++k) {
      const Place& place = place_of(stage, block[k]);
      end += place.seconds[static_cast<std::size_t>(block[k].pass)];
      if (receiver(block[k], place, stage) != kNoStage) send = send_;
      if (is_forward(block[k].pass)) state.peak = std::max(state.peak, ++state.held);
      if (releases_activation(block[k].pass)) --state.held;
    }
    state.next += num_instructions;
    state.busy += end - begin;
    state.sending += send;
    state.free_at = end + send;
    for (std::size_t k = 0; k < num_instructions; ++k) {
      if (keep_events_) {
        events_[static_cast<std::size_t>(stage)].push_back(
            {seconds(begin), seconds(end), stage, block[k]});
      }
      publish(block[k], place_of(stage, block[k]), stage, end + send);
    }
  }

  // Records when a result is there and wakes the stage that waits for it.
  void publish(const Instruction& i, const Place& place, int stage, double end) {
    if (i.pass == Pass::backward_weight) return;
    double& slot = (is_forward(i.pass) ? forward_end_ : backward_end_)[cell(place, i, 0)];
    slot = end;
    const int follower = receiver(i, place, stage);
    if (follower == kNoStage) return;
    StageState& waiting = states_[static_cast<std::size_t>(follower)];
    if (waiting.waits_for != &slot) return;
    waiting.waits_for = nullptr;
    runnable_.push_back(follower);
  }

  Timeline summarize() {
    Timeline timeline;
    double first = states_.front().first_begin;
    double last = 0.0;
    double stay = 0.0;
    for (const StageState& state : states_) {
      first = std::min(first, state.first_begin);
      last = std::max(last, state.free_at);
      stay = std::max(stay, state.free_at - state.first_begin);
      timeline.busy.push_back(seconds(state.busy));
      timeline.sending.push_back(seconds(state.sending));
      timeline.peak_activations.push_back(state.peak);
    }
    timeline.total = seconds(stay);
    timeline.makespan = seconds(last - first);
    for (auto& events : events_) {
      timeline.events.insert(timeline.events.end(), events.begin(), events.end());
    }
    return timeline;
  }

  const std::vector<StageProgram>& programs_;
  double send_;
  bool keep_events_;
  std::size_t chunks_, micro_batches_;
  std::vector<StageState> states_;
  std::vector<std::vector<TimelineEvent>> events_;
  std::vector<Place> places_;                       // [stage][chunk]
  std::vector<double> forward_end_, backward_end_;  // [model chunk][micro-batch]
  std::vector<int> runnable_;
};

}  // namespace

Timeline simulate(PipelineSchedule schedule, const std::vector<StageProgram>& programs,
                  const PipelineTimes& times, bool keep_events) {
  return Simulation(schedule, programs, times, keep_events).run();
}

}  // namespace meshwright
