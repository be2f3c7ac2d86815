// SPDX-License-Identifier: Apache-2.0
// Rows that several records share.
#pragma once

#include "planner/search/contenders.h"
#include "planner/search/plan.h"
#include "sim/base/launch_file.h"
#include "sim/json/input_records.h"
#include "sim/record/record.h"

namespace meshwright::reports {

// "short_name", "brief_name", "layout": the names repeat the layout for people.
const Record<Layout>& named_layout_record();
// These, "step_time_seconds" and "peak_memory_bytes".
const Record<planner::Timed>& timed_layout_record();
// "enumerated", "legal", "fitting".
const Record<planner::SearchStatistics>& statistics_record();
const Record<LaunchFile>& launch_file_record();
// A rule by its name.
Kind<Rule> rule_kind();

}  // namespace meshwright::reports
