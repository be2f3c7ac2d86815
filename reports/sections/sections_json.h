// SPDX-License-Identifier: Apache-2.0
// The parts of a report, each from a plan. Numbers are in base units (_seconds, _bytes); sentences
// are for people. Parts that need a winner are null when no layout fits.
#pragma once

#include <string>
#include <vector>

#include "reports/report_json.h"

namespace meshwright::reports {

// "tensor_parallel_communication" as people say it.
std::string spoken(std::string_view name);

std::string title_text(const planner::Plan& plan);
// The winner's numbers; null when no layout fits.
Json summary_section(const ReportContents& contents);
// The verdict over the capacity answer's rows, and how the recommended row runs.
Json decision_section(const ReportContents& contents);
// The one statement of certainty, as items {"id", "label", "text"}.
Json certainty_section(const ReportContents& contents);
// The inputs that the winner uses, the network first: value, spread, provenance, source.
Json rests_on_section(const ReportContents& contents);
// What the model does not know, in sentences.
Json left_out_section(const ReportContents& contents);
// The ranked layouts, each with what sets it apart from the next.
Json ranking_section(const planner::Plan& plan);
// Bytes that one rank of the busiest stage sends in a step, by group and link, and the three
// published orders.
Json volume_section(const planner::Plan& plan);
// Bytes held by each pipeline stage against the device's capacity.
Json memory_section(const planner::Plan& plan);
// Best step time of each cell, or why there is none.
Json heat_map_section(const std::vector<planner::SizeCell>& cells);
// Of each cell the layout that missed the memory by least, with the time it would have taken.
Json too_large_section(const std::vector<planner::SizeCell>& cells);
// The best step on other numbers of GPUs, with the same batch.
Json scaling_section(const planner::Plan& plan, const planner::Scaling& scaling);
// Where the winner's ranks sit, and how busy they keep each link.
Json placement_section(const planner::Plan& plan);
// What each stage does when: the winner's schedule, cut to a readable number of micro-batches.
Json timeline_section(const planner::Plan& plan);
Json rejections_section(const planner::Plan& plan);
// What stands behind the numbers: measured points, fitted rates, datasheet values. `profile` is the
// measured profile, or null.
Json calibration_section(const planner::Plan& plan, const Json& profile);
// How well the profile's points repeat, by kind, and how its ranks compare; null without.
Json noise_section(const Json& profile);
Json devices_section(const Json& profile);
// Every measured GEMM and collective beside the model that was fitted to them.
Json measured_points_section(const planner::Plan& plan);
// The job in words, the plan's notes, what an interval means.
Json assumptions_section(const planner::Plan& plan);
Json glossary_section(const Cluster& cluster);

}  // namespace meshwright::reports
