// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/ranks/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/calibrate/idle_compute.h"

namespace meshwright::calibrate {
namespace {

constexpr auto kForward = TermKind::forward_compute;
constexpr auto kTensor = TermKind::tensor_parallel_communication;
constexpr auto kBubble = TermKind::pipeline_bubble;
constexpr auto kPipeline = TermKind::pipeline_communication;

double seconds_of(const Recorder& recorder, TermKind kind) {
  return recorder.terms()[static_cast<std::size_t>(kind)];
}

Transfer all_reduce(double bytes_each) {
  Transfer t;
  t.name = "all-reduce";
  t.collective = Collective::all_reduce;
  t.payload = bytes(bytes_each);
  return t;
}

class RecorderTest : public testing::Test {
 protected:
  RecorderTest() { recorder.keep_intervals(true); }

  // Advances the device's clock, as work of this duration would.
  void work(double seconds) { compute.device_now += seconds; }
  void transfer(double seconds) {
    const TermKind before = recorder.switch_to(kTensor, "all-reduce");
    work(seconds);
    recorder.switch_to(before);
    recorder.count_last(all_reduce(8.0));
  }

  IdleCompute compute;
  Recorder recorder{compute};
};

// 1 s of host, 2 of forward, 3 in a transfer, 4 of forward again: 10 s.
TEST_F(RecorderTest, TermsAddUpToTheStep) {
  recorder.begin_step();
  work(1.0);
  {
    const TermScope scope(recorder, kForward);
    work(2.0);
    recorder.count_flops(70.0);
    transfer(3.0);
    work(4.0);
  }
  recorder.end_step();
  EXPECT_DOUBLE_EQ(seconds_of(recorder, TermKind::host), 1.0);
  EXPECT_DOUBLE_EQ(seconds_of(recorder, kForward), 6.0);
  EXPECT_DOUBLE_EQ(seconds_of(recorder, kTensor), 3.0);
  EXPECT_DOUBLE_EQ(recorder.step_seconds(), 10.0);
  EXPECT_DOUBLE_EQ(recorder.flops(kForward).value(), 70.0);
}

// A GPU would stand idle while the host waits for it at each collective.
TEST_F(RecorderTest, NobodyWaitsForTheDeviceBeforeTheEnd) {
  recorder.begin_step();
  compute.asked.clear();
  for (int i = 0; i < 3; ++i) transfer(1.0);
  EXPECT_EQ(std::count(compute.asked.begin(), compute.asked.end(), "synchronize"), 0);
  recorder.end_step();
  EXPECT_DOUBLE_EQ(seconds_of(recorder, kTensor), 3.0);
}

TEST_F(RecorderTest, CallsOfOneTransferAreOneRow) {
  recorder.begin_step();
  transfer(1.0);
  transfer(0.5);
  recorder.count(all_reduce(16.0));
  recorder.end_step();
  ASSERT_EQ(recorder.transfers().size(), 2U);
  EXPECT_DOUBLE_EQ(recorder.transfers()[0].times_per_step, 2.0);
  EXPECT_THAT(recorder.transfer_seconds(), testing::ElementsAre(1.5, 0.0));
}

// 5 s until a message is there that takes 2: the first 3 are the bubble's.
TEST_F(RecorderTest, AMessagesOwnTimeIsTheEndOfTheWait) {
  recorder.begin_step();
  recorder.work_on(7, 1);
  const TermKind before = recorder.switch_to(kBubble);
  work(5.0);
  recorder.switch_to(before);
  recorder.move_last(kPipeline, 2.0, "activation receive");
  recorder.end_step();
  EXPECT_DOUBLE_EQ(seconds_of(recorder, kBubble), 3.0);
  EXPECT_DOUBLE_EQ(seconds_of(recorder, kPipeline), 2.0);
  ASSERT_EQ(recorder.intervals().size(), 2U);
  const RecordedInterval& message = recorder.intervals()[1];
  EXPECT_EQ(message.name, "activation receive");
  EXPECT_EQ(message.micro_batch, 7);
  EXPECT_EQ(message.chunk, 1);
  EXPECT_DOUBLE_EQ(message.begin, 3.0);
  EXPECT_DOUBLE_EQ(message.end, 5.0);
}

TEST_F(RecorderTest, AMessageThatWasThereSoonerTakesWhatWasWaited) {
  recorder.begin_step();
  recorder.switch_to(kBubble);
  work(1.0);
  recorder.switch_to(TermKind::host);
  recorder.move_last(kPipeline, 2.0, "activation receive");
  recorder.end_step();
  EXPECT_DOUBLE_EQ(seconds_of(recorder, kBubble), 0.0);
  EXPECT_DOUBLE_EQ(seconds_of(recorder, kPipeline), 1.0);
}

// Weights are gathered before the first step, too: that is nobody's time.
TEST_F(RecorderTest, OutsideAStepNothingIsCharged) {
  transfer(3.0);
  recorder.begin_step();
  work(1.0);
  recorder.end_step();
  transfer(2.0);
  EXPECT_DOUBLE_EQ(recorder.step_seconds(), 1.0);
  EXPECT_DOUBLE_EQ(seconds_of(recorder, kTensor), 0.0);
}

}  // namespace
}  // namespace meshwright::calibrate
