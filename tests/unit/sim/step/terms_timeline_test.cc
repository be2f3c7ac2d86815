// SPDX-License-Identifier: Apache-2.0
// The terms of a step against the simulated timeline of the same stages, for every schedule.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/schedule/schedule.h"
#include "sim/step/pipeline.h"
#include "tests/unit/sim/schedule/equal_stages.h"

namespace meshwright {
namespace {

Scenario scenario_of(int layers, int vocab) {
  Scenario scenario;
  Model& model = scenario.model;
  model.num_layers = layers;
  model.hidden_size = 2048;
  model.ffn_hidden_size = 8192;
  model.num_attention_heads = model.num_query_groups = 16;
  model.kv_channels = 128;
  model.vocab_size = vocab;
  Cluster& cluster = scenario.cluster;
  cluster.gpus_per_node = 1;
  cluster.num_nodes = 8;
  cluster.intra_node.bandwidth = cluster.inter_node.bandwidth = gigabytes_per_second(25);
  cluster.intra_node.latency = cluster.inter_node.latency = microseconds(10);
  Device& device = cluster.device;
  device.num_multiprocessors = 100;
  device.memory = gibibytes(80);
  device.memory_bandwidth = gigabytes_per_second(2000);
  device.gemm.emplace_back().peak = teraflops_per_second(300);
  return scenario;
}

struct Split {
  PipelinePart part;
  Timeline timeline;
  std::size_t slowest = 0;  // stage
  [[nodiscard]] Seconds term(TermKind kind) const {
    return part.terms[static_cast<std::size_t>(kind)].time;
  }
};

Split split_of(const ScheduleCase& c, int vocab) {
  Scenario scenario = scenario_of(2 * c.stages * c.chunks, vocab);
  scenario.job.global_batch_size = c.micro_batches;
  scenario.cluster.num_nodes = c.stages;
  Layout layout;
  layout.pipeline_parallel_size = c.stages;
  layout.virtual_pipeline_parallel_size = c.chunks;
  layout.schedule = c.schedule;
  CostTable table(scenario);
  Split split;
  split.part = pipeline_part(table, layout, pipeline_shape(scenario.model, layout));
  const Pipeline pipeline = pipeline_of(table, layout);
  split.timeline =
      simulate(c.schedule, pipeline_programs(c.schedule, pipeline_sizes(layout, c.micro_batches)),
               pipeline.times, false);
  // Among equal stages the one that sends most has the least idle time.
  std::size_t first = 0;
  for (int run = 0; run < split.part.slowest; ++run) {
    first += static_cast<std::size_t>(split.part.loads[static_cast<std::size_t>(run)].count);
  }
  const int count = split.part.loads[static_cast<std::size_t>(split.part.slowest)].count;
  const auto begin = split.timeline.sending.begin() + static_cast<std::ptrdiff_t>(first);
  split.slowest = static_cast<std::size_t>(std::max_element(begin, begin + count) -
                                           split.timeline.sending.begin());
  return split;
}

// The messages of a stage in a step equal those that the simulation counts.
TEST(TermsAndTimeline, CountTheSameMessages) {
  for (const ScheduleCase& c : schedule_cases()) {
    PipelineTimes times = equal_stages(c.stages, c.chunks, chunk_times(1, 1, 1));
    times.send = seconds(0.5);
    const Timeline timeline = run(c.schedule, c.micro_batches, times);
    for (int s = 0; s < c.stages; ++s) {
      EXPECT_DOUBLE_EQ(
          traits(c.schedule).sends_of_step({c.stages, c.micro_batches, c.chunks}, s) * 0.5,
          timeline.sending[static_cast<std::size_t>(s)].value())
          << name_of(c.schedule) << " p " << c.stages << " m " << c.micro_batches << " v "
          << c.chunks << " stage " << s;
    }
  }
}

// Waiting for messages is pipeline communication and idle time is the bubble, of the slowest stage:
// with an output linear the last one's, which sends back and never forward. Where the closed form
// of a step is not exact, the bubble is off by as much as the step.
TEST(TermsAndTimeline, SplitTheStepAlike) {
  for (const ScheduleCase& c : schedule_cases()) {
    for (const int vocab : {0, 24000}) {
      const Split split = split_of(c, vocab);
      SCOPED_TRACE(fmt::format("{} p {} m {} v {} vocab {}", name_of(c.schedule), c.stages,
                               c.micro_batches, c.chunks, vocab));
      const Seconds total = split.timeline.total;
      const Seconds closed = split.part.time;
      const double tolerance = 1e-9 * total.value();
      const bool exact =
          c.schedule == PipelineSchedule::gpipe || c.schedule == PipelineSchedule::one_f_one_b;
      // For unequal stages 12 % are allowed, as in traits_test.cc.
      EXPECT_NEAR(closed.value(), total.value(), exact ? tolerance : 0.12 * total.value());
      EXPECT_GT(split.timeline.sending[split.slowest].value(), 0.0);
      // A closed form that is too short leaves no bubble, and less for the messages.
      const Seconds sending = split.timeline.sending[split.slowest];
      const Seconds idle = split.timeline.bubble(static_cast<int>(split.slowest)) + closed - total;
      const Seconds missing = std::max(seconds(0), seconds(0) - idle);
      EXPECT_TRUE(missing == seconds(0) || !exact);
      EXPECT_NEAR(split.term(TermKind::pipeline_communication).value(), (sending - missing).value(),
                  tolerance);
      EXPECT_NEAR(split.term(TermKind::pipeline_bubble).value(), (idle + missing).value(),
                  tolerance);
    }
  }
}

// 2 alike stages of 1F1B and 64 micro-batches. Each sends one message a micro-batch, and waits for
// the other one's forward, backward and one message: (p - 1) / m of its work. Two messages of a
// micro-batch used to be booked, and took the bubble's place.
TEST(TermsAndTimeline, ManyMicroBatchesLeaveABubble) {
  const Split split = split_of({PipelineSchedule::one_f_one_b, 2, 64, 1}, 0);
  const double send = split.part.send.value();
  const StageLoad& first = split.part.loads.front();
  EXPECT_NEAR(split.term(TermKind::pipeline_communication).value(), 64 * send, 1e-12);
  EXPECT_NEAR(split.term(TermKind::pipeline_bubble).value(),
              (first.forward + first.backward).value() + send, 1e-12);
}

}  // namespace
}  // namespace meshwright
