// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "calibrate/trial/trial_step.h"

namespace meshwright::calibrate {
namespace {

struct Samples {
  std::vector<double> step;              // seconds of the slowest rank
  std::vector<Recorder::Terms> by_term;  // of the rank that was slowest in that step
};

// The q-quantile, linear between neighbouring samples.
double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - std::floor(at)) * (values[high] - values[low]);
}

// Adds one step: the slowest rank's terms, which add up to its time.
void add_sample(Samples& samples, const Recorder& recorder, Communicator& ranks) {
  std::vector<Recorder::Terms> all(static_cast<std::size_t>(ranks.size()));
  ranks.host_gather(recorder.terms().data(), all.data(), sizeof(Recorder::Terms));
  Recorder::Terms slowest{};
  double longest = -1.0;
  for (const Recorder::Terms& terms : all) {
    double sum = 0.0;
    for (const double t : terms) sum += t;
    if (sum <= longest) continue;
    longest = sum;
    slowest = terms;
  }
  samples.step.push_back(longest);
  samples.by_term.push_back(slowest);
}

std::vector<ObservedTerm> median_terms(const Samples& samples) {
  std::vector<ObservedTerm> terms;
  for (std::size_t kind = 0; kind < static_cast<std::size_t>(kNumTerms); ++kind) {
    std::vector<double> values;
    for (const Recorder::Terms& t : samples.by_term) values.push_back(t[kind]);
    const double median = quantile(values, 0.5);
    if (median > 0.0) terms.push_back({static_cast<TermKind>(kind), seconds(median)});
  }
  return terms;
}

// Warm-up and timed steps. All ranks stop together: the time that decides is the slowest rank's.
Samples run_steps(TrialStep& step, Communicator& ranks, const TrialOptions& options) {
  Samples samples;
  double spent = 0.0;
  for (int i = 0; i < options.warmup_steps + options.steps; ++i) {
    const bool enough = !samples.step.empty() && spent > options.time_limit_seconds;
    if (enough) break;
    ranks.barrier();
    step.run();
    const double longest = ranks.host_max(step.recorder().step_seconds());
    spent += longest;
    if (i >= options.warmup_steps || spent > options.time_limit_seconds) {
      add_sample(samples, step.recorder(), ranks);
    }
  }
  return samples;
}

// Losses are zero away from the last stage and all equal on it.
double common_loss(const TrialStep& step, Communicator& ranks) {
  return ranks.host_max(step.loss());
}

void fill(Observation& o, const Samples& samples) {
  o.steps = static_cast<int>(samples.step.size());
  o.step_time = seconds(quantile(samples.step, 0.5));
  o.step_time_p10 = seconds(quantile(samples.step, 0.1));
  o.step_time_p90 = seconds(quantile(samples.step, 0.9));
  o.step_time_min = seconds(quantile(samples.step, 0.0));
  o.terms = median_terms(samples);
}

void run_on(Communicator& ranks, const Model& model, const Job& job, Compute& compute,
            const TrialOptions& options, Observation& o) {
  TrialStep step(
      model, job, o.run_layout, compute, ranks,
      {.learning_rate = static_cast<float>(options.learning_rate), .seed = options.seed});
  fill(o, run_steps(step, ranks, options));
  o.counted = step.recorder().transfers();
  o.peak_memory = bytes(ranks.host_max(step.peak_memory().value()));
  o.loss = common_loss(step, ranks);
  if (!std::isfinite(o.loss)) o.failure = "the loss is not a finite number";
}

}  // namespace

Observation run_trial(const Model& model, const Job& job, const Layout& layout, Compute& compute,
                      Communicator& world, const TrialOptions& options) {
  RunnableLayout runnable = runnable_layout(model, job, layout, world.size(), world.sends_alone());
  Observation o;
  o.layout = layout;
  o.run_layout = runnable.layout;
  o.run_layers = runnable.num_layers;
  o.run_global_batch_size = runnable.global_batch_size;
  o.ranks = world_size(runnable.layout);
  o.not_run = std::move(runnable.not_run);
  o.complete = o.not_run.empty();
  o.device = compute.describe().kind;
  o.failure = trial_unsupported(model, job, layout);
  if (o.failure.empty() && !compute.supports(job.precision)) {
    o.failure = fmt::format("{} does not multiply in this precision", compute.describe().name);
  }
  if (!o.failure.empty()) return o;

  Model run_model = model;
  run_model.num_layers = runnable.num_layers;
  Job run_job = job;
  run_job.global_batch_size = runnable.global_batch_size;
  const bool takes_part = world.rank() < o.ranks;
  const auto ranks = world.split(takes_part ? 0 : 1, world.rank());
  if (takes_part) run_on(*ranks, run_model, run_job, compute, options, o);
  world.barrier();
  return o;
}

}  // namespace meshwright::calibrate
