// SPDX-License-Identifier: Apache-2.0
// Sections of a job's file and prices as they are read and written again: cases/*.txt. The name of
// a case's file says what it is: capacity.json, service.json, prices.json.
#include <gtest/gtest.h>

#include "planner/capacity/options_json.h"
#include "planner/shared_cluster/service_options_json.h"
#include "tests/unit/cases.h"

namespace meshwright::planner {
namespace {

Json capacity_again(const Json& json) {
  return capacity_record().write(capacity_section({{"capacity", json}}, "job.json"));
}

Json service_again(const Json& json) {
  return service_record().write(service_section({{"service", json}}, "job.json").value());
}

Json prices_again(const Json& json) {
  return prices_record().write(prices_from_json(json, "p.json"));
}

test::Answer answer_to(const test::Asked& asked) {
  if (asked.file == "capacity.json")
    return test::reread(asked, capacity_again, capacity_again(Json::object()));
  return test::reread(asked, asked.file == "prices.json" ? prices_again : service_again);
}

TEST(OptionCases, HaveTheAnswersOfTheirFiles) {
  for (const std::string& file : test::case_files("planner/cases"))
    test::expect_cases(file, answer_to);
}

TEST(OptionCases, AJobWithoutASectionHasDefaultsAndNoService) {
  EXPECT_EQ(capacity_section(Json::object(), "job.json").options, CapacityOptions{});
  EXPECT_EQ(capacity_section(Json(), "").options, CapacityOptions{});
  EXPECT_FALSE(service_section(Json(), ""));
  EXPECT_FALSE(service_section(Json::object(), "job.json"));
}

TEST(OptionCases, AWeekOfRatesIsRead) {
  const Json curve{{"requests_per_second", std::vector<double>(168, 2.0)}};
  const auto service =
      service_section({{"service", {{"model", "m"}, {"load_curve", curve}}}}, "job.json");
  EXPECT_EQ(service->load_curve.period_hours, 168);
  EXPECT_EQ(service->start_seconds(), kReplicaStartSeconds);
}

}  // namespace
}  // namespace meshwright::planner
