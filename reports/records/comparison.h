// SPDX-License-Identifier: Apache-2.0
// Reports side by side, any number of them (schema "meshwright.comparison/2"): inputs that differ,
// and how the answers do. Lists have one entry for each report, in their order; changes are against
// the first.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/records/report.h"

namespace meshwright::reports {

inline constexpr std::string_view kComparisonSchema = "meshwright.comparison/2";

struct ComparedReport {
  std::string file;  // as it is to be called
  Report report;
};

struct ComparedFacts {
  std::string name{}, title{}, verdict{};
  std::string layout{};  // brief name of the best
  DeviceKind device_kind = DeviceKind::gpu;
  bool fits = false;
};

struct InputThatDiffers {
  std::string pointer{};
  Json values = Json::array();
};

// None where a report has no such number.
using NumberOfEach = std::vector<std::optional<double>>;

struct ComparedValues {
  NumberOfEach each{};
  bool whole = false;  // written as integers
};

struct ComparedRow {
  std::string name{};
  ComparedValues values{};
};

struct ComparedQuantity : ComparedRow {
  std::string label{}, unit{};
  double unit_size = 1.0;
  NumberOfEach low{}, high{};
};

// Where a layout stands in each ranking.
struct ComparedLayout {
  std::string layout{};  // short name
  ComparedValues ranks{};
  NumberOfEach step_times{};  // seconds
};

struct Comparison {
  Origin origin{};
  std::vector<ComparedFacts> reports{};
  std::vector<InputThatDiffers> inputs_that_differ{};
  std::vector<ComparedQuantity> quantities{};
  std::vector<ComparedRow> terms{};          // seconds
  std::vector<ComparedRow> fullest_stage{};  // bytes
  std::vector<ComparedRow> sent{};           // bytes
  std::vector<ComparedLayout> ranking{};
  std::vector<ComparedRow> rejections{};
};

// In percent against the first report; none where one of the two has no number.
NumberOfEach changes_of(const ComparedRow& row);

const Record<Comparison>& comparison_record();

// Two reports or more.
Comparison comparison_of(const std::vector<ComparedReport>& compared, const Origin& origin);

}  // namespace meshwright::reports
