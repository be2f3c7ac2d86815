// SPDX-License-Identifier: Apache-2.0
// Sets of measured runs whose models, clusters and frameworks may be named: files of the configs,
// or what other programs wrote.
#pragma once

#include <string>

#include "planner/accuracy/measured_set_json.h"
#include "sim/record/json.h"

namespace meshwright::app {

// `file` names the source in messages. Throws InputError.
planner::MeasuredSet measurements_from_json(const Json& json, const std::string& file,
                                            const planner::MeasuredWhere& where = {});
// Warns of the runs that are left out.
void say_unread(const planner::MeasuredSet& set);
// For what is worth nothing without all runs: throws InputError where one is left out.
void refuse_unread(const planner::MeasuredSet& set);
planner::MeasuredSet load_measurements(const std::string& path,
                                       const planner::MeasuredWhere& where = {});

}  // namespace meshwright::app
