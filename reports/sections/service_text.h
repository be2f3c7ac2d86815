// SPDX-License-Identifier: Apache-2.0
// A service plan as sentences. Their numbers are those of its record.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/records/serving_plan.h"

namespace meshwright::reports {

// "317 ms", "1.9 s".
std::string latency_text(Seconds time);
// "317 ms (90 % interval: 195 ms to 515 ms)".
std::string latency_range_text(const planner::LatencyRange& range);
// "20 requests/s of 4,000 + 1,000 tokens".
std::string service_load_text(const ServingLoad& load);
// "p99"; "mean" where the limits are of means.
std::string percentile_text(double percentile);
// Tells whether the price of some choice is known.
bool has_money(const ServingPlanFile& file);
// "requests/s", "users".
std::string_view load_noun(const ServingLoad& load);
// "GPU", "cores".
std::string service_noun(const ServingPlanFile& file, std::int64_t count = 1);
// What a point's load is in that unit.
double load_of(const planner::ServingLoadPoint& point);

// Why a choice that misses no limit is refused nonetheless; otherwise empty.
std::string saturation_sentence(const planner::ServingChoice& choice, const LatencyLimits& limits);
// Model with its formats, engine, cluster, load.
std::string service_subject(const ServingPlanFile& file);
// "example prices of 2026-11, no offer", "not corrected by results of this service".
std::vector<std::string> service_tags(const ServingPlanFile& file);

// Writes verdict, why_not_fewer and how_sure.
void add_service_sentences(ServingPlanFile& file);

}  // namespace meshwright::reports
