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
  std::string source;  // source of this run, if the set has several
  Layout layout;
  RunStatus status = RunStatus::ok;
  std::optional<Seconds> step_time;
  std::optional<Bytes> peak_memory;  // allocated (torch.cuda.max_memory_allocated), any rank's most
};

// A run of a set that cannot be read: the others are.
struct UnreadRun {
  std::string file;
  std::string place;   // "/runs/1", or "row 2, line 3" of a table
  std::string id;      // empty: it says none
  std::string reason;  // with what to do, if that is known
  bool operator==(const UnreadRun&) const = default;
};
std::string unread_text(const UnreadRun& run);

struct MeasuredSet {
  std::string name;
  std::string source;
  std::string assumed;
  std::vector<MeasuredRun> runs;
  std::vector<UnreadRun> unread{};
};

}  // namespace meshwright::planner
