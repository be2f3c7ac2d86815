// SPDX-License-Identifier: Apache-2.0
// A run that somebody has, reviewed: what its launch and log say, what is predicted of it, and what
// would be better in its launcher's words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/questions/review.h"
#include "reports/records/origin.h"
#include "sim/record/record.h"
#include "sim/step/scenario.h"

namespace meshwright::reports {

// Where something stands in somebody's file.
struct FilePlace {
  std::string file{};
  int line = 0;  // from 1; 0: nowhere in particular
};

struct LaunchFact {
  std::string field{}, value{};
  std::string said{};  // as it is typed; of an assumption, why
  FilePlace place{};
};

// Option of the launch that the prediction does not know.
struct NotUnderstood {
  std::string said{}, why{};
  FilePlace place{};
  std::string effect{};  // number that it may change: "memory", "cost" ...; "unknown"; "none"
  bool off = false;      // its value leaves things as they are without it
  [[nodiscard]] bool changes_answer() const { return effect != "none" && effect != "unknown"; }
};

// A variable of the environment that changes how fast a run is, or what it holds in memory.
struct EnvironmentNote {
  std::string name{}, value{}, effect{};
  bool slows = false;
  FilePlace place{};
};

struct LaunchFacts {
  std::string target{};     // "Megatron-LM"
  std::string framework{};  // a name of configs/frameworks; empty: none fits
  std::vector<LaunchFact> read{}, assumed{};
  std::vector<NotUnderstood> not_understood{};
  std::vector<std::string> harmless{};  // options that were not read and change no cost
  std::vector<EnvironmentNote> environment{};
};

// Steps after the warm-up of each start, of one global batch; 0 where no step has a time.
struct LogFacts : planner::MeasuredStep {
  int steps = 0, warm_up_steps = 0, steps_of_other_batches = 0, restarts = 0;
  int out_of_memory_line = 0;
  std::string software{};  // whose lines were read; empty: no step
  // The log says only what is reserved where the prediction is of what is allocated, or the other
  // way round.
  std::optional<Bytes> other_memory{};
};

// An option or key of the launcher; nothing: it is not said.
struct SettingChange {
  std::string name{};
  std::optional<std::string> before{}, after{};
};

struct ReviewedRun : Scenario, planner::Review {
  Origin origin{};
  LaunchFacts launch{};
  Layout layout{};
  std::vector<std::string>
      notes{};  // inputs that were not measured, are unproven, or are used in part
  std::optional<LogFacts> log{};                      // none: there is none, or it is another run's
  std::string log_refused{};                          // why it is another run's
  bool memory_is_reserved = false;                    // the framework prints reserved memory
  std::vector<std::vector<SettingChange>> changes{};  // of each better layout
  std::string changed_launch{};  // of the fastest; empty: none is better, or it cannot be said
};
const Record<ReviewedRun>& review_record();

// Whether the launched layout fits is uncertain.
bool is_close(const ReviewedRun& run);
// It fits with fused attention, and may not with the eager one that the launch may have.
bool needs_fused_attention(const ReviewedRun& run);
// Returns sentences on effects that may change the answer and are not part of it.
std::vector<std::string> left_out(const ReviewedRun& run);

}  // namespace meshwright::reports
