// SPDX-License-Identifier: Apache-2.0
#include "calibrate/step_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "calibrate/trial/trial_step.h"
#include "sim/layout/token_shape.h"
#include "sim/step/estimate.h"

namespace meshwright::calibrate {
namespace {

constexpr int kWarmUp = 2, kFewest = 5;
constexpr std::array kPasses{ComputePass::forward, ComputePass::backward, ComputePass::optimizer};

constexpr TermKind term_of(ComputePass pass) {
  switch (pass) {
    case ComputePass::forward:
      return TermKind::forward_compute;
    case ComputePass::backward:
      return TermKind::backward_compute;
    case ComputePass::optimizer:
      break;
  }
  return TermKind::optimizer;
}

double seconds_of(ComputePass pass, const TrialStep& step) {
  return step.recorder().terms()[static_cast<std::size_t>(term_of(pass))];
}

}  // namespace

std::vector<MeasuredPoint> step_passes(const StepDemand& step) {
  std::vector<MeasuredPoint> points;
  for (const ComputePass pass : kPasses) {
    MeasuredPoint point;
    point.subject = timed::StepPass{.pass = pass,
                                    .model = step.model.name,
                                    .layers = step.model.num_layers,
                                    .tokens = tokens(micro_batch_tokens(step.job, step.layout))};
    points.push_back(point);
  }
  return points;
}

StepCheck::StepCheck(const StepDemand& step, Compute& compute, Communicator& world,
                     Clock core_waits)
    : demand_(step),
      world_(world),
      alone_(world.split(world.rank(), 0)),
      trial_(std::make_unique<TrialStep>(demand_.model, demand_.job, demand_.layout, compute,
                                         *alone_, StepOptions{})),
      core_waits_(std::move(core_waits)),
      samples_(kPasses.size()) {}

StepCheck::~StepCheck() = default;

void StepCheck::run() {
  world_.barrier();
  const double share = share_with_core(core_waits_, [this] { trial_->run(); });
  if (++runs_ <= kWarmUp) return;
  for (std::size_t p = 0; p < kPasses.size(); ++p) {
    samples_[p].push_back(world_.host_max(share * seconds_of(kPasses[p], *trial_)));
  }
}

bool StepCheck::has_enough() const { return runs_ >= kWarmUp + kFewest; }

bool StepCheck::is_warm() const { return runs_ >= kWarmUp; }

Seconds StepCheck::last_time() const {
  Seconds sum;
  for (const std::vector<double>& pass : samples_) {
    if (!pass.empty()) sum += seconds(pass.back());
  }
  return sum;
}

std::vector<MeasuredPoint> StepCheck::points() const {
  std::vector<MeasuredPoint> points = step_passes(demand_);
  for (std::size_t p = 0; p < kPasses.size(); ++p) {
    points[p].measurement.summary = summarise(samples_[p]);
    points[p].measurement.stopped = StopReason::time_used_up;
  }
  return points;
}

void predict_operators(const StepDemand& step, const Cluster& cluster,
                       std::vector<MeasuredPoint>& points) {
  Scenario scenario{step.model, cluster, step.job};
  Layout layout = step.layout;
  layout.data_parallel_size = cluster.num_gpus();
  scenario.job.global_batch_size = step.job.global_batch_size * layout.data_parallel_size;
  const Outcome outcome = estimate(scenario, layout);
  const auto* predicted = std::get_if<Estimate>(&outcome);
  if (predicted == nullptr) return;
  for (const MeasuredPoint& pass : step_passes(step)) {
    for (MeasuredPoint& point : points) {
      if (!same_subject(point, pass)) continue;
      auto& timed = std::get<timed::StepPass>(point.subject);
      const auto term = static_cast<std::size_t>(term_of(timed.pass));
      timed.operators = predicted->terms[term].cost.time;
    }
  }
}

std::string remainder_words(const StepDemand& step, const std::vector<MeasuredPoint>& points) {
  std::vector<std::string> passes;
  std::int64_t tokens = 0;
  for (const MeasuredPoint& pass : step_passes(step)) {
    for (const MeasuredPoint& point : points) {
      if (!same_subject(point, pass)) continue;
      const auto& timed = *point.as<timed::StepPass>();
      if (timed.operators <= seconds(0)) continue;
      tokens = timed.tokens;
      passes.push_back(fmt::format("{} {:+.0f} %", name_of(timed.pass),
                                   100.0 * (point.time() / timed.operators - 1.0)));
    }
  }
  if (passes.empty()) return "";
  return fmt::format("step of {}, {} tokens, beside the sum of its operators: {}", step.model.name,
                     tokens, fmt::join(passes, ", "));
}

}  // namespace meshwright::calibrate
