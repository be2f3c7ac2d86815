// SPDX-License-Identifier: Apache-2.0
// A run that somebody has, put together from its launch, its log, the cluster, and what the user
// named beside them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "interop/logs/training_log.h"
#include "interop/read_launch/launch_record.h"
#include "interop/write_launch/launch_changes.h"
#include "planner/questions/review.h"
#include "reports/records/origin.h"
#include "sim/step/scenario.h"

namespace meshwright::app {

struct LaunchedRunOptions {
  std::string from, log, model, cluster, framework;  // empty: not given
  std::string log_pattern;                           // of the log's steps; empty: known software
  std::vector<std::string> variables;                // "TP=8"
  std::string arguments;                             // of the script: "A3B 1 8"; empty: not given
  int gpus = 0, vocab_size = 0, seq_length = 0;      // 0: as read
};

struct LaunchedRun {
  interop::LaunchRecord launch;
  interop::LaunchFiles files{};  // empty: the launch is a log's
  interop::LaunchHints hints{};  // with which it was read
  Scenario scenario;             // on as many devices as were used
  Layout layout;
  std::optional<interop::TrainingLog> log;
  std::optional<interop::MeasuredSteps> steps;
  planner::MeasuredStep measured;
  bool memory_is_reserved = false;  // the framework prints reserved memory
  // Why the log was not used; empty: it was, or there is none.
  std::string log_refused{};
  std::vector<std::string> notes{};  // notes_of (app/options/inputs.h)
};

// The layout of a launch on so many devices: what the launch says, the framework's where it says
// nothing, data-parallel ranks from the devices, overlaps as every command takes them. `file` is
// named in errors.
Layout launched_layout(const interop::LaunchRecord& launch, const Framework& framework, int gpus,
                       const std::string& file);

// Fills job and layout from the launch and what it leaves open, for the cluster's devices.
void settle_launch(LaunchedRun& run, const std::string& file);

// Reads the files; fingerprints go into `origin`. Throws InputError.
LaunchedRun load_launched_run(const LaunchedRunOptions& options, reports::Origin& origin);

// Writes the run as a set of one ("meshwright.measurements/1"), for backtest and validate.
Json measurements_of(const LaunchedRun& run, const std::string& cluster, const std::string& from);

}  // namespace meshwright::app
