// SPDX-License-Identifier: Apache-2.0
#include "calibrate/service_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>

#include "calibrate/trial/serving/serving_engine.h"
#include "calibrate/trial/serving/serving_trial.h"
#include "calibrate/workload.h"
#include "sim/base/statistics.h"
#include "sim/serving/estimate.h"
#include "sim/serving/scheduler.h"
#include "sim/serving/weights.h"

namespace meshwright::calibrate {
namespace {

constexpr int kWarmUp = 1, kFewest = 5;
constexpr std::array kSequences{1, 4, 16};
constexpr int kPrompt = 48, kAnswer = 8;  // tokens
constexpr int kBlock = 16;                // tokens
constexpr Flops kLargestRun = flops(2e11);
constexpr Bytes kLargestWeights = gibibytes(1);

ServingLoad load_of(int sequences) {
  ServingLoad load;
  load.kind = LoadKind::all_at_once;
  load.num_requests = sequences;
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
  options.max_num_seqs = kSequences.back();
  options.max_num_batched_tokens = kSequences.back() * kPrompt;
  options.block_size = kBlock;
  return scenario;
}

ServingModelOptions model_options(const Compute& compute) {
  const std::int64_t each = (kPrompt + kAnswer + 1 + kBlock - 1) / kBlock;
  const bool cores = compute.describe().device_kind() == DeviceKind::cpu;
  return {.blocks = kSequences.back() * each,
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

// Of the last run of the engine: its prompts' step, and the median of those that decode.
std::array<double, 2> times_of(const ServingEngine& engine) {
  std::array<double, 2> times{};
  std::vector<double> decodes;
  for (const ObservedServingStep& step : engine.steps()) {
    if (step.step.prefill_tokens > 0.0) {
      times[0] += step.time.value();
    } else {
      decodes.push_back(step.time.value());
    }
  }
  times[1] = decodes.empty() ? 0.0 : median(std::move(decodes));
  return times;
}

// Over the ranks that serve, each of which has the time of its replica.
double mean_over(Communicator& world, double own, int serving) {
  std::vector<double> all(static_cast<std::size_t>(world.size()));
  world.host_gather(&own, all.data(), sizeof own);
  all.resize(static_cast<std::size_t>(serving));
  return mean(all);
}

int serving_ranks_of(const Communicator& world, int tensor_parallel_size) {
  return world.size() / tensor_parallel_size * tensor_parallel_size;
}

}  // namespace

std::optional<ServiceDemand> service_alone(const Model& model, const Engine& engine,
                                           int tensor_parallel_size) {
  ServiceDemand service{shortened(model), engine, tensor_parallel_size};
  const ServingScenario scenario = scenario_of(service);
  const int most = kSequences.back();
  if (!serving_unsupported(scenario, load_of(most)).empty()) return std::nullopt;
  // In 16 bits; the trial's cores hold them in 32.
  const Bytes weights = replica_weights(service.model, scenario.options).total() * 2.0;
  const double numbers = weights.value() / 4.0 * tensor_parallel_size;
  if (weights > kLargestWeights) return std::nullopt;
  if (flops(2.0 * numbers * most * (kPrompt + kAnswer)) > kLargestRun) return std::nullopt;
  return service;
}

std::vector<MeasuredPoint> served_steps(const ServiceDemand& service) {
  std::vector<MeasuredPoint> points;
  for (const int sequences : kSequences) {
    for (const bool prompts : {true, false}) {
      MeasuredPoint point;
      point.subject = timed::ServedStep{{.prompts = prompts,
                                         .model = service.model.name,
                                         .layers = service.model.num_layers,
                                         .tensor_parallel_size = service.tensor_parallel_size,
                                         .sequences = sequences,
                                         .tokens = prompts ? kPrompt : kPrompt + kAnswer / 2}};
      points.push_back(point);
    }
  }
  return points;
}

ServiceCheck::ServiceCheck(const ServiceDemand& service, Compute& compute, Communicator& world)
    : service_(service),
      world_(world),
      scenario_(std::make_unique<ServingScenario>(scenario_of(service))),
      samples_(served_steps(service).size()) {
  const int tp = service.tensor_parallel_size;
  replica_ = world.split(world.rank() / tp, world.rank());
  if (world.rank() >= serving_ranks_of(world, tp)) return;
  engine_ = std::make_unique<ServingEngine>(*scenario_, compute, *replica_, model_options(compute));
}

ServiceCheck::~ServiceCheck() = default;

void ServiceCheck::run() {
  ++runs_;
  const int serving = serving_ranks_of(world_, service_.tensor_parallel_size);
  for (std::size_t i = 0; i < kSequences.size(); ++i) {
    world_.barrier();
    if (engine_) engine_->run(load_of(kSequences[i]));
    const std::array<double, 2> own = engine_ ? times_of(*engine_) : std::array<double, 2>{};
    for (std::size_t step = 0; step < own.size(); ++step) {
      const double mean_time = mean_over(world_, own[step], serving);
      if (runs_ > kWarmUp) samples_[2 * i + step].push_back(mean_time);
    }
  }
}

bool ServiceCheck::has_enough() const { return runs_ >= kWarmUp + kFewest; }

bool ServiceCheck::is_warm() const { return runs_ >= kWarmUp; }

std::vector<Seconds> ServiceCheck::last_times() const {
  std::vector<Seconds> times;
  for (const std::vector<double>& step : samples_) times.push_back(seconds(step.back()));
  return times;
}

std::vector<MeasuredPoint> ServiceCheck::points() const {
  std::vector<MeasuredPoint> points = served_steps(service_);
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i].measurement.summary = summarise(samples_[i]);
    points[i].measurement.stopped = StopReason::time_used_up;
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
  return fmt::format("steps of {} served, tp{}, beside the sum of their parts: {}",
                     service.model.name, service.tensor_parallel_size, fmt::join(steps, ", "));
}

}  // namespace meshwright::calibrate
