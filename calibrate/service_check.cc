// SPDX-License-Identifier: Apache-2.0
#include "calibrate/service_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "calibrate/trial/serving/serving_engine.h"
#include "calibrate/trial/serving/serving_trial.h"
#include "calibrate/workload.h"
#include "sim/base/statistics.h"
#include "sim/serving/scheduler.h"
#include "sim/serving/weights.h"

namespace meshwright::calibrate {
namespace {

constexpr int kWarmUpRuns = 1, kFewestRuns = 5;
constexpr std::array kSequences{1, 4, 8, 16};
// Tokens. The first steps behind a prompt find weights in no cache: the second half of an answer's
// count.
constexpr int kPrompt = 48, kAnswer = 49;
constexpr int kBlock = 16;  // tokens
constexpr Flops kLargestRun = flops(2e11);
constexpr Bytes kLargestWeights = gibibytes(1);

// So many of each stream.
ServingLoad load_of(std::int64_t sequences, int stages) {
  ServingLoad load;
  load.kind = LoadKind::all_at_once;
  load.num_requests = static_cast<int>(sequences) * stages;
  load.lengths.input = kPrompt;
  load.lengths.output = kAnswer;
  return load;
}

ServingScenario scenario_of(const ServiceDemand& service) {
  ServingScenario scenario;
  scenario.model = service.model;
  scenario.engine = service.engine;
  ReplicaOptions& options = scenario.options;
  options.layout.tensor_parallel_size = service.tensor_parallel_size;
  options.layout.pipeline_parallel_size = service.pipeline_parallel_size;
  options.max_num_seqs = kSequences.back() * service.pipeline_parallel_size;
  options.max_num_batched_tokens = kSequences.back() * kPrompt;
  options.block_size = kBlock;
  return scenario;
}

ServingModelOptions model_options(const Compute& compute, int stages) {
  const std::int64_t each = (kPrompt + kAnswer + 1 + kBlock - 1) / kBlock;
  const bool cores = compute.describe().device_kind() == DeviceKind::cpu;
  return {.blocks = std::int64_t{kSequences.back()} * stages * each,
          .block_size = kBlock,
          .longest = kPrompt + kAnswer + 1,
          .precision = cores ? Precision::fp32 : Precision::bf16};
}

// The answer's tokens after the first are a decode step each; the middle one stands for all.
EngineStep step_of(const ServedStepShape& shape) {
  const auto sequences = static_cast<double>(shape.sequences);
  const auto tokens = static_cast<double>(shape.tokens);
  return shape.prompts ? prefill_step(sequences, tokens) : decode_step(sequences, tokens);
}

// Median over the steps of the engine's last run that are of this kind and size, of those that
// decode over the later half; 0: there was none.
double time_of(const ServingEngine& engine, const ServedStepShape& shape) {
  const EngineStep wanted = step_of(shape);
  std::vector<double> times;
  for (const ObservedServingStep& one : engine.steps()) {
    const EngineStep& step = one.step;
    if (step.decode_sequences != wanted.decode_sequences) continue;
    if (step.prefill_tokens == wanted.prefill_tokens) times.push_back(one.time.value());
  }
  if (!shape.prompts) times.erase(times.begin(), times.begin() + std::ssize(times) / 2);
  return times.empty() ? 0.0 : median(std::move(times));
}

// Over the ranks that serve, each of which has the time of its replica.
double mean_over(Communicator& world, double own, int serving) {
  std::vector<double> all(static_cast<std::size_t>(world.size()));
  world.host_gather(&own, all.data(), sizeof own);
  all.resize(static_cast<std::size_t>(serving));
  return mean(all);
}

int ranks_of(const ServiceDemand& service) {
  return service.tensor_parallel_size * service.pipeline_parallel_size;
}
// Without those that are left over.
int serving_ranks(const ServiceDemand& service, const Communicator& world) {
  return world.size() / ranks_of(service) * ranks_of(service);
}

}  // namespace

std::optional<ServiceDemand> service_alone(const Model& model, const Engine& engine,
                                           int tensor_parallel_size, int pipeline_parallel_size) {
  const ServiceDemand service{shortened(model), engine, tensor_parallel_size,
                              pipeline_parallel_size};
  if (service.model.num_layers < pipeline_parallel_size) return std::nullopt;
  const ServingScenario scenario = scenario_of(service);
  const int most = kSequences.back();
  if (!serving_unsupported(scenario, load_of(most, 1)).empty()) return std::nullopt;
  // In 16 bits; the trial's cores hold them in 32.
  const Bytes weights = replica_weights(service.model, scenario.options).total() * 2.0;
  const double numbers = weights.value() / 4.0 * ranks_of(service);
  if (weights > kLargestWeights) return std::nullopt;
  if (flops(2.0 * numbers * most * (kPrompt + kAnswer)) > kLargestRun) return std::nullopt;
  return service;
}

std::vector<MeasuredPoint> served_steps(const ServiceDemand& service) {
  std::vector<MeasuredPoint> points;
  const int stages = service.pipeline_parallel_size;
  for (const int sequences : kSequences) {
    for (const bool prompts : {true, false}) {
      // Prompts of the streams wait for each other.
      if (prompts && stages > 1) continue;
      MeasuredPoint point;
      point.subject = timed::ServedStep{{.prompts = prompts,
                                         .model = service.model.name,
                                         .layers = service.model.num_layers,
                                         .tensor_parallel_size = service.tensor_parallel_size,
                                         .pipeline_parallel_size = stages,
                                         .sequences = sequences,
                                         .tokens = prompts ? kPrompt : kPrompt + 3 * kAnswer / 4}};
      points.push_back(point);
    }
  }
  return points;
}

ServiceCheck::ServiceCheck(const ServiceDemand& service, Compute& compute, Communicator& world,
                           Clock core_waits)
    : service_(service),
      world_(world),
      scenario_(std::make_unique<ServingScenario>(scenario_of(service))),
      core_waits_(std::move(core_waits)),
      steps_(served_steps(service)),
      samples_(steps_.size()) {
  replica_ = world.split(world.rank() / ranks_of(service), world.rank());
  if (world.rank() >= serving_ranks(service, world)) return;
  engine_ = std::make_unique<ServingEngine>(*scenario_, compute, *replica_,
                                            model_options(compute, service.pipeline_parallel_size));
}

ServiceCheck::~ServiceCheck() = default;

void ServiceCheck::run() {
  ++runs_;
  std::int64_t ran = 0;
  double share = 1.0;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const ServedStepShape& shape = steps_[i].as<timed::ServedStep>()->shape;
    // The points of one number of sequences are of one run.
    if (shape.sequences != ran) {
      world_.barrier();
      if (engine_) share = run_load(shape.sequences);
      ran = shape.sequences;
    }
    const double own = engine_ ? share * time_of(*engine_, shape) : 0.0;
    const double time = mean_over(world_, own, serving_ranks(service_, world_));
    if (runs_ > kWarmUpRuns && time > 0.0) samples_[i].push_back(time);
  }
}

// Returns the least share of a rank of this replica: the others wait for it.
double ServiceCheck::run_load(std::int64_t sequences) {
  const double share = share_with_core(
      core_waits_, [&] { engine_->run(load_of(sequences, service_.pipeline_parallel_size)); });
  return 1.0 / replica_->host_max(1.0 / share);
}

bool ServiceCheck::has_enough() const { return runs_ >= kWarmUpRuns + kFewestRuns; }

bool ServiceCheck::is_warm() const { return runs_ >= kWarmUpRuns; }

std::vector<Seconds> ServiceCheck::last_times() const {
  std::vector<Seconds> times;
  for (const std::vector<double>& step : samples_) {
    times.push_back(seconds(step.empty() ? 0.0 : step.back()));
  }
  return times;
}

std::vector<MeasuredPoint> ServiceCheck::points() const {
  std::vector<MeasuredPoint> points;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (samples_[i].empty()) continue;
    points.push_back(steps_[i]);
    points.back().measurement.summary = summarise(samples_[i]);
    points.back().measurement.stopped = StopReason::time_used_up;
  }
  return points;
}

void predict_parts(const ServiceDemand& service, const ServingCluster& cluster,
                   std::vector<MeasuredPoint>& points) {
  ServingScenario scenario = scenario_of(service);
  scenario.options =
      with_defaults(scenario.options, service.engine, only_device(cluster), service.model);
  const ServingReplica replica =
      serving_replica(service.model, cluster, service.engine, scenario.options);
  for (const MeasuredPoint& step : served_steps(service)) {
    for (MeasuredPoint& point : points) {
      if (!same_subject(point, step)) continue;
      ServedStepShape& shape = std::get<timed::ServedStep>(point.subject).shape;
      shape.parts = step_time(replica.cost, step_of(shape)).total;
    }
  }
}

std::string remainder_words(const ServiceDemand& service,
                            const std::vector<MeasuredPoint>& points) {
  std::vector<std::string> steps;
  for (const MeasuredPoint& step : served_steps(service)) {
    for (const MeasuredPoint& point : points) {
      if (!same_subject(point, step)) continue;
      const ServedStepShape& shape = point.as<timed::ServedStep>()->shape;
      if (shape.parts <= seconds(0)) continue;
      steps.push_back(fmt::format("{} {} {:+.0f} %", shape.sequences,
                                  shape.prompts ? "prompts" : "decodes",
                                  100.0 * (point.time() / shape.parts - 1.0)));
    }
  }
  if (steps.empty()) return "";
  return fmt::format("steps of {} served, tp{} pp{}, beside the sum of their parts: {}",
                     service.model.name, service.tensor_parallel_size,
                     service.pipeline_parallel_size, fmt::join(steps, ", "));
}

}  // namespace meshwright::calibrate
