// SPDX-License-Identifier: Apache-2.0
// Streams of pipeline stages in a ReplicaSimulation.
#include <algorithm>

#include "sim/serving/replica_simulation.h"

namespace meshwright {

std::optional<Seconds> ReplicaSimulation::next_start(std::size_t stream) const {
  if (!has_streams_) return next_start();
  const Group& group = groups_[stream];
  if (group.is_stepping) return std::nullopt;
  // Who waited for room in the cache starts when a pass has given some back.
  return start_of(group, std::max({clock_, group.free, stage_free_.front()}));
}

void ReplicaSimulation::compose_stream(Group& group, Seconds start) {
  group.start = start;
  group.is_stepping = true;
  fetch(group, start);
  begin_arrived(group, start);
  compose(group, seen_until(start, true));
  if (run_.is_traced) trace_begin(group, start);
  slowest_ = mean_ = group.step;
}

void ReplicaSimulation::end_pass(Group& group, const Finished& finished) {
  end_group(group, finished);
  release(group);
  group.free = finished.end;
  clock_ = std::max(clock_, finished.end);
  group.is_stepping = false;
  group.pass.reset();
  busy_ += finished.each * finished.steps / static_cast<double>(replica_.cost.stages);
  run_.steps += static_cast<std::int64_t>(finished.steps);
}

// Others have nothing to do, now or later.
bool ReplicaSimulation::is_alone(std::size_t stream) const {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (i != stream && (requests_in(groups_[i]) > 0.0 || !groups_[i].waiting.empty())) return false;
  }
  return true;
}

// Equal steps, one behind the other, through all stages. Returns when the last one is over.
Seconds ReplicaSimulation::pass_stages(Seconds start, Seconds pass, double steps) {
  const Seconds each = pass / static_cast<double>(stage_free_.size());
  Seconds at = start + pass * (steps - 1.0);
  for (Seconds& free : stage_free_) {
    at = std::max(at, free) + each;
    free = at;
  }
  return at;
}

void ReplicaSimulation::begin_pass(Seconds start, std::size_t stream, Seconds limit) {
  compose_step(start, stream);
  Seconds pass = pass_time(replica_, slowest_, mean_);
  double steps = 1.0;
  if (slowest_.decode_sequences > 0.0 && is_alone(stream)) {
    steps = steps_alike(pass, limit);
    if (steps > 1.0) {
      // Contexts grow: the middle step stands for all.
      slowest_.decode_context +=
          (steps - 1.0) / 2.0 * rule_.tokens_per_step * slowest_.decode_sequences;
      pass = pass_time(replica_, slowest_, slowest_);
    }
  }
  const bool empty = slowest_.decode_sequences == 0.0 && slowest_.prefill_tokens == 0.0;
  const Seconds end = empty ? start : pass_stages(start, pass, steps);
  groups_[stream].pass = Finished{end, steps, steps > 1.0 ? pass : end - start, {}};
}

// Passes begin and end in the order of their times: what one gives back counts from its end on.
void ReplicaSimulation::advance_streams(Seconds limit) {
  std::size_t stream = 0;
  std::optional<Seconds> when;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    std::optional<Seconds> own = next_start(i);
    if (groups_[i].pass) own = groups_[i].pass->end;
    if (!own || (when && *own >= *when)) continue;
    when = own;
    stream = i;
  }
  Group& group = groups_[stream];
  if (!group.pass) return begin_pass(*when, stream, limit);
  first_tokens_.clear();
  ends_.clear();
  const Finished over = *group.pass;
  end_pass(group, over);
}

}  // namespace meshwright
