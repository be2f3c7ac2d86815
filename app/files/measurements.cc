// SPDX-License-Identifier: Apache-2.0
#include "app/files/measurements.h"

#include "app/console/terminal.h"
#include "app/files/files.h"
#include "interop/huggingface.h"
#include "sim/base/error.h"
#include "sim/json/records.h"

namespace meshwright::app {
namespace {

Model inline_model(const Json& json, const std::string& file, const std::string& pointer) {
  if (interop::looks_like_huggingface(json)) return interop::model_from_huggingface(json, file);
  return model_from_json(json, file, pointer);
}

}  // namespace

planner::MeasuredSet measurements_from_json(const Json& json, const std::string& file,
                                            const planner::MeasuredWhere& where) {
  return planner::measured_set_from_json(
      json, file,
      {.model = [](const std::string& name) { return load_model(name); },
       .cluster = [](const std::string& name) { return load_cluster(name); },
       .framework = [](const std::string& name) { return load_framework(name); },
       .inline_model = inline_model},
      where);
}

void say_unread(const planner::MeasuredSet& set) {
  for (const planner::UnreadRun& run : set.unread) say("warning: {}\n", unread_text(run));
}

void refuse_unread(const planner::MeasuredSet& set) {
  if (!set.unread.empty()) throw InputError(unread_text(set.unread.front()));
}

planner::MeasuredSet load_measurements(const std::string& path,
                                       const planner::MeasuredWhere& where) {
  return measurements_from_json(read_json_file(path), path, where);
}

}  // namespace meshwright::app
