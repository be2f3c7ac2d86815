// SPDX-License-Identifier: Apache-2.0
// Pipelines of equal stages, for the schedule tests.
#pragma once

#include <vector>

#include "sim/schedule/schedule.h"

namespace meshwright {

inline PassTimes chunk_times(double forward, double input, double weight) {
  return {seconds(forward), seconds(input), seconds(weight)};
}

inline PipelineTimes equal_stages(int stages, int chunks, PassTimes times) {
  return {std::vector<std::vector<PassTimes>>(
              static_cast<std::size_t>(stages),
              std::vector<PassTimes>(static_cast<std::size_t>(chunks), times)),
          Seconds{}};
}

inline Timeline run(PipelineSchedule schedule, int micro_batches, const PipelineTimes& times,
                    bool keep_events = false) {
  const auto programs =
      pipeline_programs(schedule, {static_cast<int>(times.stages.size()), micro_batches,
                                   static_cast<int>(times.stages.front().size())});
  return simulate(schedule, programs, times, keep_events);
}

// The closed form of the same stages.
inline Seconds closed_form(PipelineSchedule schedule, int micro_batches,
                           const PipelineTimes& times) {
  std::vector<StageLoad> stages;
  PassTimes sum;
  for (const std::vector<PassTimes>& chunks : times.stages) {
    StageLoad& load = stages.emplace_back();
    for (const PassTimes& chunk : chunks) {
      load.forward += chunk.forward;
      load.backward += chunk.backward_input + chunk.backward_weight;
      sum.forward += chunk.forward;
      sum.backward_input += chunk.backward_input;
      sum.backward_weight += chunk.backward_weight;
    }
  }
  const auto chunks = times.stages.front().size();
  const auto count = static_cast<double>(times.stages.size() * chunks);
  const PassTimes average{sum.forward / count, sum.backward_input / count,
                          sum.backward_weight / count};
  return closed_form_total(
      schedule,
      {stages, static_cast<int>(stages.size()), static_cast<int>(chunks), average, times.send},
      micro_batches);
}

// Every schedule with sizes it can run.
struct ScheduleCase {
  PipelineSchedule schedule;
  int stages, micro_batches, chunks;
};
inline std::vector<ScheduleCase> schedule_cases() {
  std::vector<ScheduleCase> cases;
  for (const ScheduleTraits* t : pipeline_schedules) {
    for (const int p : {2, 3, 4, 6, 8}) {
      if (p % t->stages_multiple_of != 0) continue;
      for (const int m : {2 * p, 3 * p, 5 * p}) {
        cases.push_back({t->schedule, p, m, t->fewest_chunks});
        if (t->any_number_of_chunks()) cases.push_back({t->schedule, p, m, t->fewest_chunks + 1});
      }
    }
  }
  return cases;
}

}  // namespace meshwright
