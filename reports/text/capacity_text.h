// SPDX-License-Identifier: Apache-2.0
// A capacity answer as sentences.
#pragma once

#include <string>
#include <vector>

#include "planner/capacity/capacity_answer.h"

namespace meshwright::reports {

inline constexpr double kMillion = 1e6;

// "77.3 M USD", "12,300 USD".
std::string money_text(double amount, const std::string& currency);
// "77.3 M USD (P10-P90: 71.6 to 88.2 M)".
std::string money_span(const planner::Quantiles& cost, const std::string& currency);
// "655,697 USD = (512 GPUs + 16 in 2 spare nodes) x 475.161 h x 2.5 USD per GPU-hour x 1.045 (the
// ranges of days and price move the median)"; empty: no price is stated.
std::string cost_explanation(const planner::CapacityAnswer& answer,
                             const planner::CapacityRow& row);
// "77.9 days (P10-P90: 71.6 to 88.2)".
std::string days_text(const planner::Quantiles& days);

// "61 to 74", tenth to ninetieth percentile in a unit.
std::string span_text(const planner::Quantiles& quantiles, double unit);
const std::string& name_of_case(const planner::CapacityAnswer& answer,
                                const planner::CapacityRow& row);

// "16,384 GPUs of hgx-h100-400g finish 15.6 T tokens in 78 days (P10-P90: 72 to 88) for 77 M USD
// (P10-P90: 66 to 92 M). Next cheaper option: 8,192 GPUs, ...". Without a limit: what each day
// saved costs. Without a training length: tokens a second.
std::string verdict_of(const planner::CapacityAnswer& answer);
// "GPU counts tried around the limit, down to one node or 2 %: 704, 720. Batches that follow a
// count: 720 with batch 540 instead of 512."; empty: neither.
std::string tried_text(const planner::CapacityAnswer& answer);
// "Reserve 16,384 GPUs: done by 2027-03-20 (P90), 41 days before the deadline. Set aside 84.7 M USD
// (P90)."
std::string headline_of(const planner::CapacityAnswer& answer);
// The neighbours of the row in front on the frontier. Empty: there is none.
std::string why_not_fewer(const planner::CapacityAnswer& answer);
std::string why_not_more(const planner::CapacityAnswer& answer);
// The input that was not measured and changes the end most; empty: none.
std::string weakest_point(const planner::CapacityAnswer& answer);
// "example prices of 2026-11, no offer", "nothing measured on this cluster".
std::vector<std::string> tags_of(const planner::CapacityAnswer& answer);
// "From 8,192 to 16,384 GPUs speed grows by 45 % for 100 % more GPUs: ..."; empty: it does not
// bend.
std::string bend_of(const planner::CapacityAnswer& answer, const planner::ScalingSeries& series);

}  // namespace meshwright::reports
