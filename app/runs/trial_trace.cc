// SPDX-License-Identifier: Apache-2.0
#include "app/runs/trial_trace.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/layout/short_name.h"
#include "sim/step/terms.h"

namespace meshwright::app {
namespace {

constexpr int kCompute = 0;
constexpr int kCommunication = 1;

int track_of(TermKind kind) {
  switch (kind) {
    case TermKind::tensor_parallel_communication:
    case TermKind::context_parallel_communication:
    case TermKind::expert_parallel_communication:
    case TermKind::pipeline_communication:
    case TermKind::pipeline_bubble:
    case TermKind::data_parallel_communication:
      return kCommunication;
    default:
      return kCompute;
  }
}

reports::TraceSlice slice(const ObservedInterval& interval, int process, Seconds offset) {
  reports::TraceSlice s;
  s.process = process;
  s.track = track_of(interval.kind);
  s.category = name_of(interval.kind);
  s.name = interval.name.empty() ? s.category : interval.name;
  s.begin = offset + interval.begin;
  s.end = offset + interval.end;
  if (interval.micro_batch >= 0) {
    s.numbers = {{"micro_batch", interval.micro_batch}, {"chunk", interval.chunk}};
  }
  return s;
}

}  // namespace

reports::Trace trial_trace(const std::vector<Observation>& observations) {
  reports::Trace trace;
  trace.facts = {{"schema", std::string(reports::kTraceSchema)},
                 {"times", "measured on the ranks, each from its own start of the step"}};
  Seconds offset;
  for (const Observation& o : observations) {
    if (o.intervals.empty()) continue;
    const int first = static_cast<int>(trace.processes.size());
    for (int rank = 0; rank < o.ranks; ++rank) {
      trace.processes.push_back({first + rank,
                                 fmt::format("{} rank {}", short_name(o.run_layout), rank),
                                 {"compute", "communication"}});
    }
    Seconds end = offset;
    for (const ObservedInterval& interval : o.intervals) {
      trace.slices.push_back(slice(interval, first + interval.rank, offset));
      end = std::max(end, trace.slices.back().end);
    }
    offset = end;
  }
  return trace;
}

}  // namespace meshwright::app
