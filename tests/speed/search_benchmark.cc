// SPDX-License-Identifier: Apache-2.0
// How many layouts a second a search looks at, on one core. The space of 175 billion parameters on
// 512 devices has the dimensions of Calculon's search as far as this model has them (tensor,
// pipeline, interleaving, micro-batch, recompute, collective of the tensor group, tensor and data
// overlap, sharded optimizer), and rank order and shard size where it has others.
#include <benchmark/benchmark.h>
#include <sys/resource.h>
#include <tbb/global_control.h>

#include <string>

#include "app/options/inputs.h"
#include "planner/questions/answers.h"
#include "planner/search/search.h"
#include "planner/search/space.h"
#include "sim/rules/rules.h"

namespace meshwright::planner {
namespace {

app::Inputs inputs_of(const std::string& model, const std::string& cluster, int gpus) {
  app::InputOptions options;
  options.model = model;
  options.cluster = cluster;
  options.gpus = gpus;
  return app::load_inputs(options);
}

SearchSpace calculon_dimensions(bool offload) {
  SearchSpace space;
  space[&Layout::micro_batch_size] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96};
  space[&Layout::zero_stage] = {0, 1};
  space[&Layout::zero_shard_size] = {0, 8};
  space[&Layout::overlap_grad_reduce] = {true, false};
  space[&Layout::overlap_param_gather] = {true, false};
  space[&Layout::tp_comm_overlap] = {true, false};
  space[&Layout::scatter_gather_p2p] = {true, false};
  space[&Layout::overlap_p2p_comm] = {true, false};
  for (const auto& order : kLauncherRankOrderNames)
    space[&Layout::rank_order].push_back(order.value);
  if (offload) {
    space[&Layout::optimizer_offload] = {false, true};
    space[&Layout::cpu_offloading_num_layers] = {0, 1, 2, 4};
  }
  return space;
}

// Settings of what a stage computes and sends that obey every rule: what a search prices one by
// one, whatever number of data-parallel settings there is to each.
std::int64_t legal_stage_settings(const app::Inputs& in, const SearchSpace& space) {
  const Devices devices = devices_of(in.cluster);
  std::int64_t count = 0;
  for (const ParallelSizes& sizes : parallel_sizes_of(in, space)) {
    for (const Layout& pipeline : pipeline_settings(in.model, in.job, space, sizes)) {
      for (const Layout& stage : stage_settings(space, pipeline)) {
        const bool legal = !check_sizes(in.model, in.job, stage, devices) &&
                           !check_stage_switches(in.model, in.job, stage, devices);
        count += legal ? 1 : 0;
      }
    }
  }
  return count;
}

void report_stage_settings(benchmark::State& state, std::int64_t settings) {
  state.counters["stage_settings"] = static_cast<double>(settings);
  state.counters["s_per_stage_setting"] =
      benchmark::Counter(static_cast<double>(settings * state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// Layouts are enumerated; legal ones obey every rule and are weighed; those that fit are also timed
// (with bounds: where they could be among the answers).
void report(benchmark::State& state, const SearchStatistics& one) {
  state.SetItemsProcessed(one.enumerated * state.iterations());
  state.counters["layouts"] = static_cast<double>(one.enumerated);
  state.counters["legal"] = static_cast<double>(one.legal);
  state.counters["fitting"] = static_cast<double>(one.fitting);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_MiB"] = static_cast<double>(usage.ru_maxrss) / 1024.0;
}

class Cores {
 public:
  explicit Cores(bool one)
      : limit_(tbb::global_control::max_allowed_parallelism, one ? 1 : all()) {}

 private:
  static std::size_t all() {
    return tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
  }
  tbb::global_control limit_;
};

void gpt3_on_512(benchmark::State& state, bool offload, bool bounds, bool one_core) {
  app::Inputs inputs = inputs_of("gpt3-175b", "a100-80gb-512", 512);
  inputs.job.global_batch_size = 1536;
  SearchOptions options;
  options.space = calculon_dimensions(offload);
  options.branch_and_bound = bounds;
  const Cores cores(one_core);
  SearchStatistics statistics;
  for (auto _ : state) {
    statistics = search(inputs, options).statistics;
  }
  report(state, statistics);
  report_stage_settings(state, legal_stage_settings(inputs, options.space));
}
BENCHMARK_CAPTURE(gpt3_on_512, without_bounds_one_core, false, false, true)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gpt3_on_512, one_core, false, true, true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gpt3_on_512, all_cores, false, true, false)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(gpt3_on_512, offload_without_bounds_one_core, true, false, true)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gpt3_on_512, offload_one_core, true, true, true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gpt3_on_512, offload_all_cores, true, true, false)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// On devices whose memory holds anything and without bounds, every legal layout is weighed and
// timed: the rate counts those alone.
void gpt3_all_timed_one_core(benchmark::State& state) {
  app::Inputs inputs = inputs_of("gpt3-175b", "a100-80gb-512", 512);
  inputs.job.global_batch_size = 1536;
  inputs.cluster.device.memory = gibibytes(1e6);
  SearchOptions options;
  options.space = calculon_dimensions(true);
  options.branch_and_bound = false;
  const Cores cores(true);
  SearchStatistics statistics;
  for (auto _ : state) {
    statistics = search(inputs, options).statistics;
  }
  report(state, statistics);
  state.SetItemsProcessed(statistics.fitting * state.iterations());
}
BENCHMARK(gpt3_all_timed_one_core)->Unit(benchmark::kMillisecond);

app::Inputs llama_405b_on(int gpus) {
  app::Inputs inputs = inputs_of("llama-3-405b", "h100-512", gpus);
  inputs.job.global_batch_size = 2048;
  return inputs;
}

// One GPU count of the default space, to see how it grows.
void llama_405b(benchmark::State& state) {
  const app::Inputs inputs = llama_405b_on(static_cast<int>(state.range(0)));
  const Cores cores(true);
  SearchStatistics statistics;
  for (auto _ : state) {
    statistics = search(inputs, {}).statistics;
  }
  report(state, statistics);
  report_stage_settings(state, legal_stage_settings(inputs, {}));
}
BENCHMARK(llama_405b)->RangeMultiplier(2)->Range(8, 131'072)->Unit(benchmark::kMillisecond);

// Layers that divide over few stages: lists of chunks are looked at and interleaved ones priced
// exactly. Experts have more sizes.
void deepseek_v3(benchmark::State& state) {
  app::Inputs inputs = inputs_of("deepseek-v3", "hgx-h100-400g", static_cast<int>(state.range(0)));
  inputs.job.global_batch_size = 8192;
  const Cores cores(true);
  SearchStatistics statistics;
  for (auto _ : state) {
    statistics = search(inputs, {}).statistics;
  }
  report(state, statistics);
  report_stage_settings(state, legal_stage_settings(inputs, {}));
}
BENCHMARK(deepseek_v3)->Arg(1024)->Arg(2048)->Unit(benchmark::kMillisecond);

// All of them.
void llama_405b_every_count(benchmark::State& state) {
  const Cores cores(true);
  SearchStatistics sum;
  for (auto _ : state) {
    sum = {};
    for (int gpus = 8; gpus <= 131'072; gpus *= 2) {
      const app::Inputs inputs = llama_405b_on(gpus);
      const auto one = search(inputs, {}).statistics;
      sum.enumerated += one.enumerated;
      sum.legal += one.legal;
      sum.fitting += one.fitting;
    }
  }
  report(state, sum);
}
BENCHMARK(llama_405b_every_count)->Unit(benchmark::kMillisecond);

// The search and everything that a plan says beside: confidence, sensitivity, crossovers.
void llama_405b_plan(benchmark::State& state) {
  const app::Inputs inputs = llama_405b_on(16'384);
  const Cores cores(true);
  SearchStatistics statistics;
  for (auto _ : state) {
    const Plan plan = search(inputs, {});
    benchmark::DoNotOptimize(answers_of(plan, plan, {}, {}));
    statistics = plan.statistics;
  }
  report(state, statistics);
}
BENCHMARK(llama_405b_plan)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace meshwright::planner
