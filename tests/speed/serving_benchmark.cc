// SPDX-License-Identifier: Apache-2.0
// Steady configurations a second, simulated requests a second, and a whole answer over four kinds
// of GPUs, on one core. The aims: 1e5, 1e4, and 2 s.
#include <benchmark/benchmark.h>
#include <tbb/global_control.h>

#include "app/files/files.h"
#include "app/files/serving_files.h"
#include "planner/serving/serving_search.h"

namespace meshwright::planner {
namespace {

ServingScenario scenario_on(const char* cluster, const char* engine) {
  ServingScenario scenario{app::load_model("llama-3-70b"),
                           app::load_serving_cluster(cluster),
                           app::load_engine(engine),
                           {}};
  scenario.options.weights = usual_scheme(WeightFormat::fp8, scenario.model);
  scenario.options.layout.tensor_parallel_size = 4;
  return scenario;
}
ServingReplica replica_on(const char* cluster, const char* engine) {
  const ServingScenario s = scenario_on(cluster, engine);
  return serving_replica(s.model, s.cluster, s.engine,
                         with_defaults(s.options, s.engine, only_device(s.cluster), s.model));
}

void steady_configurations(benchmark::State& state) {
  const ServingReplica replica = replica_on("h100-512", "vllm-0.24");
  double users = 1;
  for (auto _ : state) {
    users = users < 200 ? users + 1 : 1;
    benchmark::DoNotOptimize(closed_loop_state(replica, {1024, 1024, 1024}, users));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(steady_configurations);

void simulated_requests_of(benchmark::State& state, const char* engine) {
  const ServingReplica replica = replica_on("h100-512", engine);
  ServingLoad load;
  load.concurrency = 64;
  load.lengths = {LengthKind::uniform, 1024, 1024, 0.8, {}};
  for (auto _ : state) benchmark::DoNotOptimize(simulate_serving(replica, 1, load));
  state.SetItemsProcessed(state.iterations() * simulated_requests(load));
}
BENCHMARK_CAPTURE(simulated_requests_of, decode_first, "vllm-0.24");
BENCHMARK_CAPTURE(simulated_requests_of, prefill_first, "sglang-0.5.14");
BENCHMARK_CAPTURE(simulated_requests_of, in_flight, "tensorrt-llm-1.3");

// As `serve --find-gpus --percentile p99 --mode both` asks, one cluster after the other.
void four_kinds_of_gpus(benchmark::State& state) {
  const tbb::global_control cores(tbb::global_control::max_allowed_parallelism, 1);
  for (auto _ : state) {
    for (const char* cluster : {"a100-80gb-512", "h100-512", "h200-512", "b200-512"}) {
      ServingQuestion question;
      question.scenario = scenario_on(cluster, "vllm-0.24");
      question.load.kind = LoadKind::open_loop;
      question.load.request_rate = 20;
      question.load.lengths = {LengthKind::fixed, 4000, 1000, 1.0, {}};
      question.limits = {seconds(2), milliseconds(50), {}};
      question.percentile = 99;
      question.disaggregated = true;
      question.space = serving_space(question.scenario.model, question.scenario.cluster);
      benchmark::DoNotOptimize(serving_plan(question));
    }
  }
}
BENCHMARK(four_kinds_of_gpus)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace meshwright::planner
