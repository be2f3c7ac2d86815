// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.h"
#include "sim/json/records.h"

namespace meshwright {
namespace {

Observation example() {
  Observation o;
  o.layout.tensor_parallel_size = 2;
  o.layout.data_parallel_size = 4;
  o.run_layout.tensor_parallel_size = 2;
  o.run_layers = 6;
  o.run_num_moe_experts = 4;
  o.run_global_batch_size = 8;
  o.ranks = 2;
  o.steps = 5;
  o.complete = false;
  o.not_run = {"data-parallel size 4: 1 was run"};
  o.step_time = milliseconds(12);
  o.step_time_p10 = milliseconds(11);
  o.step_time_p90 = milliseconds(14);
  o.step_time_min = milliseconds(10.5);
  o.step_time_drift = 0.125;
  o.host_time_ratio = 1.25;
  o.host_time_reference = HostTimeReference::model_step;
  o.other_program = OtherProgram{"stress", 0.5, 1};
  o.runs = 2;
  o.terms = {{TermKind::backward_compute, milliseconds(7)},
             {TermKind::pipeline_bubble, milliseconds(1)}};
  Transfer t;
  t.name = "attention output all-reduce";
  t.group_size = 2;
  t.times_per_step = 24;
  t.payload = kibibytes(64);
  o.counted = {{t, microseconds(300)}};
  o.peak_memory = mebibytes(40);
  o.loss = 4.5;
  o.device = "cpu";
  o.failure = "rank 1 on node2 was killed by signal 9";
  return o;
}

Observation read_observation(const Json& json) {
  return observation_from_json(Json::parse(json.dump()), "trials.json", "/observations/0");
}

TEST(ObservationJson, ReadsBackWhatItWrote) {
  const Observation back = read_observation(to_json(example()));
  EXPECT_EQ(to_json(back).dump(), to_json(example()).dump());
  EXPECT_EQ(back.layout, example().layout);
  EXPECT_EQ(back.host_time_reference, HostTimeReference::model_step);
  EXPECT_EQ(back.other_program, example().other_program);
  EXPECT_EQ(back.terms.at(1).kind, TermKind::pipeline_bubble);
  EXPECT_EQ(back.counted.at(0).name, "attention output all-reduce");
  EXPECT_EQ(back.counted.at(0).time, microseconds(300));
}

// Members that earlier versions did not write have the values that those versions assumed.
TEST(ObservationJson, AnOlderFileIsRead) {
  Json json = to_json(example());
  for (const char* later : {"run_layout", "run_global_batch_size", "complete", "not_run",
                            "step_time_p10_seconds", "step_time_p90_seconds", "mode", "failure"}) {
    json.erase(later);
  }
  for (const char* later : {"phase", "formula", "overlappable", "measured_seconds"}) {
    json["counted"][0].erase(later);
  }
  const Observation old = read_observation(json);
  EXPECT_EQ(old.run_layout, example().layout);
  EXPECT_TRUE(old.complete);
  EXPECT_EQ(old.step_time_p10, milliseconds(12));
  EXPECT_EQ(old.mode, TrialMode::training);
  EXPECT_FALSE(old.counted.at(0).time);
}

TEST(ObservationJson, NamesOfCountedTransfersOutliveTheFile) {
  Transfer kept;
  {
    Json json = to_json(example());
    json["counted"][0]["name"] = "a name that is in no ledger";
    kept = read_observation(json).counted.at(0);
  }
  EXPECT_EQ(kept.name, "a name that is in no ledger");
}

TEST(ObservationJson, SaysWhereAMistakeIs) {
  Json json = to_json(example());
  json["terms"][1]["name"] = "bubbles";
  try {
    (void)read_observation(json);
    FAIL() << "an unknown term was accepted";
  } catch (const InputError& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("trials.json"));
    EXPECT_THAT(e.what(), ::testing::HasSubstr("/observations/0/terms/1"));
  }
}

}  // namespace
}  // namespace meshwright
