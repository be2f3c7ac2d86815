// SPDX-License-Identifier: Apache-2.0
#include "reports/trace/step_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "sim/base/error.h"
#include "sim/layout/layout.h"
#include "sim/layout/short_name.h"
#include "sim/record/json.h"
#include "sim/step/terms.h"
#include "tests/unit/reports/plan_fixture.h"

namespace meshwright::reports {
namespace {

using testing::HasSubstr;

Estimate estimate_of(const Layout& layout) {
  const Outcome outcome = estimate({sample_model(), sample_cluster(), sample_job()}, layout);
  if (const auto* infeasible = std::get_if<Infeasible>(&outcome)) {
    throw std::runtime_error(std::string(rule_text(infeasible->violation.rule).name));
  }
  return std::get<Estimate>(outcome);
}

Json trace_of(const Layout& layout) {
  const Estimate found = estimate_of(layout);
  return Json::parse(
      trace_text(step_trace({sample_model(), sample_cluster(), sample_job()}, found)));
}

// Four layers in two stages; 64 sequences over 4 replicas are 16 micro-batches.
Layout piped() {
  return {.tensor_parallel_size = 2, .pipeline_parallel_size = 2, .data_parallel_size = 4};
}

std::vector<std::pair<std::string, Layout>> layouts() {
  Layout overlapped = piped();
  overlapped.zero_stage = 1;
  overlapped.sequence_parallel = true;
  overlapped.overlap_grad_reduce = overlapped.overlap_param_gather = true;
  Layout interleaved = overlapped;
  interleaved.schedule = PipelineSchedule::interleaved;
  interleaved.virtual_pipeline_parallel_size = 2;
  interleaved.overlap_p2p_comm = true;
  Layout zero_bubble = piped();
  zero_bubble.schedule = PipelineSchedule::zb_h1;
  Layout dualpipe = piped();
  dualpipe.schedule = PipelineSchedule::dualpipe;
  dualpipe.virtual_pipeline_parallel_size = 2;
  Layout zero_3{.data_parallel_size = 16};
  zero_3.zero_stage = 3;
  zero_3.recompute_granularity = RecomputeGranularity::full;
  return {{"1f1b", piped()},
          {"overlapped", overlapped},
          {"interleaved", interleaved},
          {"zero bubble", zero_bubble},
          {"dualpipe", dualpipe},
          {"zero 3", zero_3}};
}

struct Slice {
  std::int64_t begin = 0, end = 0;  // nanoseconds
};

std::map<std::pair<int, int>, std::vector<Slice>> tracks_of(const Json& trace) {
  std::map<std::pair<int, int>, std::vector<Slice>> tracks;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const double ts = event["ts"].get<double>();
    const std::int64_t begin = std::llround(ts * 1e3);
    tracks[{event["pid"].get<int>(), event["tid"].get<int>()}].push_back(
        {begin, begin + std::llround(event["dur"].get<double>() * 1e3)});
  }
  return tracks;
}

double seconds_named(const Json& trace, int process, const std::string& beginning) {
  double sum = 0.0;
  for (const auto& event : trace["traceEvents"]) {
    const bool slice = event["ph"] == "X" && event["pid"] == process;
    if (slice && event["name"].get<std::string>().rfind(beginning, 0) == 0) {
      sum += event["dur"].get<double>() * 1e-6;
    }
  }
  return sum;
}

double term(const Estimate& found, TermKind kind) {
  return found.terms[static_cast<std::size_t>(kind)].cost.time.value();
}

TEST(StepTrace, SlicesOfATrackFollowEachOther) {
  for (const auto& [name, layout] : layouts()) {
    const auto tracks = tracks_of(trace_of(layout));
    EXPECT_GE(tracks.size(), 2U) << name;
    for (const auto& [track, slices] : tracks) {
      for (std::size_t i = 1; i < slices.size(); ++i) {
        ASSERT_GE(slices[i].begin, slices[i - 1].end) << name << ", track " << track.second;
      }
    }
  }
}

TEST(StepTrace, OneProcessAStageWithItsTracksNamed) {
  std::vector<std::string> processes;
  std::size_t tracks = 0;
  const Json trace = trace_of(piped());
  for (const auto& event : trace["traceEvents"]) {
    if (event["name"] == "process_name") processes.push_back(event["args"]["name"]);
    if (event["name"] == "thread_name") ++tracks;
  }
  EXPECT_THAT(processes, testing::ElementsAre(HasSubstr("stage 0"), HasSubstr("stage 1")));
  EXPECT_EQ(tracks, 2U * 5U);
}

// The model's last stage has the head and most work: its slices are the estimate's terms. A slice
// is rounded to the nanosecond, 16 micro-batches have 32 of a kind.
TEST(StepTrace, SlicesOfTheSlowestStageAddUpToTheEstimatesTerms) {
  Layout layout = piped();
  layout.recompute_granularity = RecomputeGranularity::full;
  const Estimate found = estimate_of(layout);
  const Json trace = trace_of(layout);
  const auto expect = [&](const std::string& name, TermKind kind) {
    EXPECT_GT(term(found, kind), 0.0) << name;
    EXPECT_NEAR(seconds_named(trace, 1, name), term(found, kind), 1e-7) << name;
  };
  expect("forward", TermKind::forward_compute);
  expect("backward", TermKind::backward_compute);
  expect("recompute", TermKind::recompute);
  expect("tensor communication", TermKind::tensor_parallel_communication);
  const double optimizer =
      std::max(seconds_named(trace, 0, "optimizer"), seconds_named(trace, 1, "optimizer"));
  EXPECT_NEAR(optimizer, term(found, TermKind::optimizer), 1e-9);  // the slowest stage's
}

// GPipe and 1F1B have exact closed forms; the step is the estimate's to rounding.
TEST(StepTrace, EndsWhenTheEstimateSaysThatTheStepEnds) {
  for (const Layout& layout : {piped(), layouts()[1].second, layouts()[5].second}) {
    std::int64_t last = 0;
    for (const auto& [track, slices] : tracks_of(trace_of(layout))) {
      last = std::max(last, slices.back().end);
    }
    const double step = estimate_of(layout).step_time.value();
    EXPECT_NEAR(static_cast<double>(last) * 1e-9, step, step * 0.01) << short_name(layout);
  }
}

// Stage 0 of two holds two micro-batches at its peak in 1F1B, stage 1 one.
TEST(StepTrace, MemoryReachesTheStagesPeakAndReturns) {
  const Estimate found = estimate_of(piped());
  std::map<int, double> peak, last;
  const Json trace = trace_of(piped());
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] != "C") continue;
    const int stage = event["pid"];
    const double activations = event["args"]["activations"];
    const double sum = activations + event["args"]["all else"].get<double>();
    peak[stage] = std::max(peak[stage], sum);
    last[stage] = activations;
  }
  for (const int stage : {0, 1}) {
    const auto s = static_cast<std::size_t>(stage);
    EXPECT_NEAR(peak[stage], in_gibibytes(found.memory[s].total()), 1e-9);
    EXPECT_EQ(last[stage], 0.0);
  }
}

TEST(StepTrace, SaysOfWhatItIs) {
  const Json facts = trace_of(piped())["otherData"];
  EXPECT_EQ(facts["schema"], "meshwright.trace/1");
  EXPECT_EQ(facts["model"], "gpt-small");
  EXPECT_EQ(facts["layout"], "tp2 pp2 dp4 overlap_grad_reduce=false");
}

// 16384 sequences over 1 replica, forward and backward on each of 16 stages: 524,288 instructions.
TEST(StepTrace, RefusesWhatNoViewerShows) {
  Model model = sample_model();
  model.num_layers = 16;
  Job job = sample_job();
  job.global_batch_size = 16384;
  const Layout layout{.pipeline_parallel_size = 16};
  const Outcome outcome = estimate({model, sample_cluster(), job}, layout);
  ASSERT_TRUE(std::holds_alternative<Estimate>(outcome));
  EXPECT_THROW(step_trace({model, sample_cluster(), job}, std::get<Estimate>(outcome)), InputError);
}

TEST(Trace, OverlappingSlicesAreOurBug) {
  Trace trace;
  trace.processes = {{0, "p", {"t"}}};
  trace.slices = {{0, 0, "a", "c", seconds(0), seconds(2), {}},
                  {0, 0, "b", "c", seconds(1), seconds(3), {}}};
  EXPECT_THROW(trace_text(trace), std::logic_error);
  trace.slices[1].begin = seconds(2);
  EXPECT_NO_THROW(trace_text(trace));
}

TEST(Trace, TimesAreMicroseconds) {
  Trace trace;
  trace.slices = {{0, 0, "\"a\"\n", "c", milliseconds(1), milliseconds(3), {{"bytes", 4.0}}}};
  const auto event = Json::parse(trace_text(trace))["traceEvents"][0];
  EXPECT_EQ(event["ts"], 1000.0);
  EXPECT_EQ(event["dur"], 2000.0);
  EXPECT_EQ(event["args"]["bytes"], 4.0);
  EXPECT_EQ(event["name"], "\"a\"\n");
}

}  // namespace
}  // namespace meshwright::reports
