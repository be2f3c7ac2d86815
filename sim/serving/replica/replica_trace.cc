// SPDX-License-Identifier: Apache-2.0
// Trace of a ReplicaSimulation, step by step.
#include <algorithm>
#include <cmath>
#include <map>

#include "sim/serving/replica_simulation.h"

namespace meshwright {

void ReplicaSimulation::trace_begin(Group& group, Seconds decision) {
  TracedStep& step = group.traced = {};
  step.replica = -1;  // the simulation of the load knows it
  step.group = static_cast<int>(&group - groups_.data());
  step.start = group.start;
  std::map<double, TracedTokens> batch;  // keyed by place
  const double each = 1.0 + replica_.cost.drafts;
  if (group.step.decode_sequences > 0.0) {
    for (const Running& one : group.running) {
      const double rows = one.missing > 0.0 ? rule_.tokens_per_step - one.missing : each;
      if (rows > 0.0) batch[one.request.place] = {one.request.index, static_cast<int>(rows)};
    }
  }
  for (const PromptPart& part : group.parts) {
    const auto prompt =
        std::find_if(group.prompts.begin(), group.prompts.end(),
                     [&](const Prompt& one) { return one.request.index == part.index; });
    const int tokens = static_cast<int>(part.tokens), found = static_cast<int>(prompt->found);
    batch[prompt->request.place] = {part.index, tokens};
    if (found > 0 && prompt->done == part.tokens) step.cached.push_back({part.index, found});
  }
  for (const auto& [place, tokens] : batch) step.batch.push_back(tokens);
  step.preempted = group.preempted;
  std::sort(step.preempted.begin(), step.preempted.end());
  step.running = static_cast<int>(requests_in(group)) + static_cast<int>(group.leaving.size());
  step.waiting = static_cast<int>(
      std::count_if(group.waiting.begin(), group.waiting.end(),
                    [&](const QueuedRequest& one) { return one.enqueued <= decision; }));
}

// Writes one row for each of several equal steps.
void ReplicaSimulation::trace_end(Group& group, const Finished& finished) {
  for (double at = 0; at < finished.steps; ++at) {
    TracedStep step = group.traced;
    const double more = at * rule_.tokens_per_step + replica_.cost.drafts;
    const double free = (capacity_ - used_beside(group, more)) / rule_.block_size;
    step.free_blocks = static_cast<int>(std::floor(std::min(free, 1e9)));
    step.end = finished.end - finished.each * (finished.steps - 1.0 - at);
    if (at > 0.0) {
      step.start = run_.trace.back().end;
      step.cached.clear();
      step.preempted.clear();
    }
    run_.trace.push_back(std::move(step));
  }
}

}  // namespace meshwright
