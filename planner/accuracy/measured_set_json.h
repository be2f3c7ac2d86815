// SPDX-License-Identifier: Apache-2.0
// Reads a set of measured runs ("meshwright.measurements/1"). Values that a run does not state
// follow unstated.h, and then the framework of the run or of its cluster.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/accuracy/measured_set.h"
#include "sim/record/record.h"

namespace meshwright::planner {

struct MeasuredNumbers {
  RunStatus status = RunStatus::ok;
  std::optional<Seconds> step_time;
  std::optional<Bytes> peak_memory;
  bool operator==(const MeasuredNumbers&) const = default;
};

// A run and a set as a file states them. Model and cluster are objects or names of files.
struct StatedRun {
  std::string id, group, source;
  Json model, cluster;
  std::optional<std::string> framework;
  int gpus = 0;
  Json job, layout;
  MeasuredNumbers measured;
  bool operator==(const StatedRun&) const = default;
};
struct StatedSet {
  std::string name, source, assumed;
  std::vector<StatedRun> runs;
  std::vector<UnreadRun> left_out{};  // by the import that wrote the file
};
const Record<StatedSet>& measured_set_record();
const Record<UnreadRun>& unread_run_record();

// Readers of what a run names by file, and of models that other programs wrote.
struct NamedRecords {
  std::function<Model(const std::string& name)> model;
  std::function<Cluster(const std::string& name)> cluster;  // asked once a name
  std::function<Framework(const std::string& name)> framework;
  // A model in the file itself; `pointer` says where.
  std::function<Model(const Json& json, const std::string& file, const std::string& pointer)>
      inline_model;
};

// Cluster and framework that replace those of every run.
struct MeasuredWhere {
  std::optional<Cluster> cluster;
  std::optional<Framework> framework;
};

// `file` names the source in messages. A run that is wrong is left out (MeasuredSet::unread).
// Throws InputError where the set itself is wrong, or every run.
MeasuredSet measured_set_from_json(const Json& json, const std::string& file,
                                   const NamedRecords& named, const MeasuredWhere& where = {});

}  // namespace meshwright::planner
