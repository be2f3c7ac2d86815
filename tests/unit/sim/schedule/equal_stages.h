// SPDX-License-Identifier: Apache-2.0
// Pipelines of equal stages, for the schedule tests.
#pragma once

#include <vector>

#include "sim/schedule/schedule.h"

namespace meshwright {

inline ChunkTimes chunk_times(double forward, double input, double weight) {
  return {seconds(forward), seconds(input), seconds(weight)};
}

inline PipelineTimes equal_stages(int stages, int chunks, ChunkTimes times) {
  return {std::vector<std::vector<ChunkTimes>>(
              static_cast<std::size_t>(stages),
              std::vector<ChunkTimes>(static_cast<std::size_t>(chunks), times)),
          Seconds{}};
}

inline Timeline run(PipelineSchedule schedule, int micro_batches, const PipelineTimes& times,
                    bool keep_events = false) {
  const auto programs =
      pipeline_programs(schedule, static_cast<int>(times.stages.size()), micro_batches,
                        static_cast<int>(times.stages.front().size()));
  return simulate(schedule, programs, times, keep_events);
}

// Every schedule with a size it can run.
struct ScheduleCase {
  PipelineSchedule schedule;
  int stages, micro_batches, chunks;
};
inline std::vector<ScheduleCase> schedule_cases() {
  std::vector<ScheduleCase> cases;
  for (const int p : {2, 3, 4, 6, 8}) {
    for (const int groups : {2, 3, 5}) {
      const int m = groups * p;
      cases.push_back({PipelineSchedule::gpipe, p, m, 1});
      cases.push_back({PipelineSchedule::one_f_one_b, p, m, 1});
      cases.push_back({PipelineSchedule::interleaved, p, m, 2});
      cases.push_back({PipelineSchedule::interleaved, p, m, 3});
      cases.push_back({PipelineSchedule::zb_h1, p, m, 1});
      cases.push_back({PipelineSchedule::zb_h2, p, m, 1});
      cases.push_back({PipelineSchedule::zb_v, p, m, 2});
      if (p % 2 == 0) cases.push_back({PipelineSchedule::dualpipe, p, m, 2});
    }
  }
  return cases;
}

}  // namespace meshwright
