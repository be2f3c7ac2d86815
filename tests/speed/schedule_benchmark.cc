// SPDX-License-Identifier: Apache-2.0
// How long schedules take to write down, to simulate and to estimate in closed form.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <vector>

#include "sim/schedule/schedule.h"

namespace meshwright {
namespace {

PipelineTimes equal_stages(int stages, int chunks) {
  const PassTimes work{milliseconds(1), milliseconds(1.25), milliseconds(1)};
  return {std::vector<std::vector<PassTimes>>(
              static_cast<std::size_t>(stages),
              std::vector<PassTimes>(static_cast<std::size_t>(chunks), work)),
          microseconds(20)};
}

// 64 stages x 1024 micro-batches x 8 chunks x (forward, backward) = 1,048,576 instructions.
constexpr int kStages = 64, kMicroBatches = 1024, kChunks = 8;

void simulate_a_million_events(benchmark::State& state) {
  const auto programs =
      pipeline_programs(PipelineSchedule::interleaved, {kStages, kMicroBatches, kChunks});
  const auto times = equal_stages(kStages, kChunks);
  std::size_t events = 0;
  for (const auto& program : programs) events += program.size();
  for (auto _ : state) {
    benchmark::DoNotOptimize(simulate(PipelineSchedule::interleaved, programs, times, false));
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(events) * state.iterations());
}
BENCHMARK(simulate_a_million_events)->Unit(benchmark::kMillisecond);

void keep_a_million_events(benchmark::State& state) {
  const auto programs =
      pipeline_programs(PipelineSchedule::interleaved, {kStages, kMicroBatches, kChunks});
  const auto times = equal_stages(kStages, kChunks);
  for (auto _ : state) {
    benchmark::DoNotOptimize(simulate(PipelineSchedule::interleaved, programs, times, true));
  }
}
BENCHMARK(keep_a_million_events)->Unit(benchmark::kMillisecond);

void write_a_million_instructions(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        pipeline_programs(PipelineSchedule::interleaved, {kStages, kMicroBatches, kChunks}));
  }
}
BENCHMARK(write_a_million_instructions)->Unit(benchmark::kMillisecond);

void closed_form_total_of_1f1b(benchmark::State& state) {
  const int stages = static_cast<int>(state.range(0));
  const std::vector<StageLoad> alike{{milliseconds(1), milliseconds(2.25), stages}};
  const PipelineLoad load{alike, stages, 1, {}, microseconds(20)};
  for (auto _ : state) {
    benchmark::DoNotOptimize(closed_form_total(PipelineSchedule::one_f_one_b, load, 128));
  }
}
BENCHMARK(closed_form_total_of_1f1b)->Arg(4)->Arg(16)->Arg(64)->Unit(benchmark::kNanosecond);

}  // namespace
}  // namespace meshwright
