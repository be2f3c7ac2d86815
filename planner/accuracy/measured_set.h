// SPDX-License-Identifier: Apache-2.0
// Runs that somebody measured, as records.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/enum_names.h"
#include "sim/base/units.h"
#include "sim/layout/layout.h"
#include "sim/step/scenario.h"

namespace meshwright::planner {

enum class RunStatus { ok, oom, failed };
inline constexpr std::array kRunStatusNames{EnumName{RunStatus::ok, "ok"},
                                            EnumName{RunStatus::oom, "oom"},
                                            EnumName{RunStatus::failed, "failed"}};

struct MeasuredRun : Scenario {
  std::string id;
  std::string group;
  std::string source;  // of this run, where the set has several
  Layout layout;
  RunStatus status = RunStatus::ok;
  std::optional<Seconds> step_time;
  std::optional<Bytes> peak_memory;  // allocated (torch.cuda.max_memory_allocated), any rank's most
};

struct MeasuredSet {
  std::string name;
  std::string source;
  std::string assumed;
  std::vector<MeasuredRun> runs;
};

}  // namespace meshwright::planner
