// SPDX-License-Identifier: Apache-2.0
#include "planner/accuracy/accuracy_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/number_text.h"
#include "sim/record/json.h"
#include "sim/record/reader.h"

namespace meshwright::planner {
namespace {

constexpr std::size_t kMostRows = 1'000;
constexpr std::string_view kListSchema = "meshwright.accuracy/1";

std::optional<double> optional_limit(ObjectReader& reader, const char* key,
                                     const NumberRange& range = {0.0, 1000.0}) {
  if (!reader.has(key)) return std::nullopt;
  return reader.required_number(key, range);
}

AccuracyLimits read_accuracy_limits(ObjectReader& row) {
  AccuracyLimits limits;
  if (!row.has("limits")) return limits;
  ObjectReader reader = row.required_object("limits");
  limits.mean_error = optional_limit(reader, "mean_error_percent");
  limits.median_error = optional_limit(reader, "median_error_percent");
  limits.worst_error = optional_limit(reader, "worst_error_percent");
  limits.memory_error = optional_limit(reader, "memory_error_percent");
  limits.regret = optional_limit(reader, "regret_percent");
  limits.inside_interval = optional_limit(reader, "inside_interval_percent");
  limits.kendall_tau = optional_limit(reader, "kendall_tau", {-1.0, 1.0});
  reader.finish();
  return limits;
}

AccuracyRow read_row(ObjectReader reader) {
  AccuracyRow row;
  row.name = reader.required_string("name");
  row.set = reader.required_string("set");
  row.framework = reader.optional_string("framework", "");
  row.cluster = reader.optional_string("cluster", "");
  row.groups = reader.optional_strings("groups");
  row.at_least = reader.optional_int("at_least", 0, {0, 100'000'000});
  row.shorter_than = reader.optional_int("shorter_than", 0, {0, 100'000'000});
  row.limits = read_accuracy_limits(reader);
  reader.finish();
  return row;
}

}  // namespace

std::vector<AccuracyRow> accuracy_rows_from_json(const Json& json, const std::string& file) {
  ObjectReader reader(json, file);
  const std::string schema = reader.required_string("schema");
  if (schema != kListSchema) {
    reader.fail("schema", fmt::format("must be \"{}\", is \"{}\"", kListSchema, schema));
  }
  std::vector<AccuracyRow> rows;
  const Json& list = reader.required_array("rows");
  if (list.size() > kMostRows) {
    reader.fail("rows", fmt::format("holds {} rows; at most {} are read", list.size(), kMostRows));
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    rows.push_back(read_row(ObjectReader(list[i], file, fmt::format("/rows/{}", i))));
  }
  reader.finish();
  return rows;
}

MeasuredSet runs_of(const AccuracyRow& row, MeasuredSet set) {
  std::erase_if(set.runs, [&row](const MeasuredRun& run) {
    const bool named =
        row.groups.empty() ||
        std::any_of(row.groups.begin(), row.groups.end(), [&run](const std::string& start) {
          return run.group.starts_with(start) || run.id.starts_with(start);
        });
    const int positions = run.job.seq_length;
    return !named || positions < row.at_least ||
           (row.shorter_than > 0 && positions >= row.shorter_than);
  });
  return set;
}

std::vector<std::string> past_limits(const AccuracyLimits& limits, const Score& score) {
  std::vector<std::string> past;
  if (score.runs == 0) return {"no run could be predicted"};
  const auto check = [&past](const char* what, std::optional<double> value,
                             std::optional<double> most) {
    if (!most) return;
    if (!value) past.push_back(fmt::format("no {}, which has a limit", what));
    if (value && *value > *most)
      past.push_back(fmt::format("{} {} % of at most {} %", what, number_text(*value, 3),
                                 number_text(*most, 3)));
  };
  check("mean error", score.mean_ape_percent, limits.mean_error);
  check("median error", score.median_ape_percent, limits.median_error);
  check("worst error", score.max_ape_percent, limits.worst_error);
  check("memory error", score.memory_median_ape_percent, limits.memory_error);
  check("regret", score.top1_regret_percent_mean, limits.regret);
  const double inside = score.interval_coverage_percent.value_or(0.0);
  if (limits.inside_interval && inside < *limits.inside_interval) {
    past.push_back(fmt::format("{} % inside the interval, of at least {} %", number_text(inside, 3),
                               number_text(*limits.inside_interval, 3)));
  }
  const double tau = score.kendall_tau.value_or(-1.0);
  if (limits.kendall_tau && tau < *limits.kendall_tau) {
    past.push_back(fmt::format("tau {} of at least {}", number_text(tau, 3),
                               number_text(*limits.kendall_tau, 3)));
  }
  return past;
}

}  // namespace meshwright::planner
