// SPDX-License-Identifier: Apache-2.0
#include "planner/shared_cluster/service_options_json.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/error_of.h"

namespace meshwright::planner {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Json job_with_curve(const std::string& curve) {
  return Json::parse(fmt::format(R"({{"service": {{"model": "m", "load_curve": {}}}}})", curve));
}

std::string curve_error(const std::string& curve) {
  return error_of([&] { service_section(job_with_curve(curve), "job.json"); });
}

std::string rates_text(int count, double rate) {
  return Json(std::vector<double>(static_cast<std::size_t>(count), rate)).dump();
}

TEST(ServiceOptionsJson, AJobWithoutAServiceHasNone) {
  EXPECT_FALSE(service_section(Json(), ""));
  EXPECT_FALSE(service_section(Json::object(), "job.json"));
}

TEST(ServiceOptionsJson, ADayAndAWeekAreRead) {
  for (const int hours : {24, 168}) {
    const auto service = service_section(
        job_with_curve(fmt::format(R"({{"requests_per_second": {}}})", rates_text(hours, 2.0))),
        "j");
    ASSERT_TRUE(service);
    EXPECT_EQ(service->load_curve.period_hours, hours);
    EXPECT_EQ(service->start_seconds(), kReplicaStartSeconds);
    EXPECT_EQ(service->training_gpus, TrainingGpus::fixed);
  }
  const auto points =
      service_section(job_with_curve(R"({"points": [{"hour": 0, "requests_per_second": 1},
                                    {"hour": 100.5, "requests_per_second": 2}],
                         "period_hours": 168, "between": "linear"})"),
                      "j");
  ASSERT_TRUE(points);
  EXPECT_EQ(points->load_curve.points.size(), 2U);
}

TEST(ServiceOptionsJson, AWrongCurveIsRefusedWithItsPlace) {
  EXPECT_THAT(curve_error("{}"), AllOf(HasSubstr("job.json"), HasSubstr("/service/load_curve"),
                                       HasSubstr("is missing")));
  EXPECT_THAT(curve_error(fmt::format(R"({{"requests_per_second": {}}})", rates_text(23, 1.0))),
              AllOf(HasSubstr("/service/load_curve/requests_per_second"), HasSubstr("got 23")));
  EXPECT_THAT(curve_error(fmt::format(R"({{"requests_per_second": {}}})", rates_text(24, 0.0))),
              HasSubstr("above 0"));
  EXPECT_THAT(curve_error(fmt::format(R"({{"requests_per_second": {}}})", rates_text(24, -1.0))),
              HasSubstr("/service/load_curve/requests_per_second"));
  EXPECT_THAT(
      curve_error(fmt::format(
          R"({{"requests_per_second": {}, "points": [{{"hour": 0, "requests_per_second": 1}}]}})",
          rates_text(24, 1.0))),
      HasSubstr("next to points"));
  EXPECT_THAT(curve_error(R"({"points": [{"hour": 5, "requests_per_second": 1},
                                         {"hour": 5, "requests_per_second": 2}]})"),
              HasSubstr("/service/load_curve/points/1/hour"));
  EXPECT_THAT(curve_error(R"({"points": [{"hour": 24, "requests_per_second": 1}]})"),
              HasSubstr("below the period of 24 hours"));
  EXPECT_THAT(curve_error(R"({"points": [{"hour": 1, "requests_per_second": 1}],
                              "period_hours": 25})"),
              HasSubstr("must be 24 or 168"));
}

TEST(ServiceOptionsJson, AnUnknownKeyOrWordNamesTheNearest) {
  Json job = job_with_curve(fmt::format(R"({{"requests_per_second": {}}})", rates_text(24, 1.0)));
  job["service"]["weight"] = "fp8";
  EXPECT_THAT(error_and_hint_of([&] { service_section(job, "j"); }), HasSubstr("weights"));
  job["service"].erase("weight");
  job["service"]["training_gpus"] = "elastc";
  EXPECT_THAT(error_and_hint_of([&] { service_section(job, "j"); }), HasSubstr("elastic"));
}

TEST(ServiceOptionsJson, WhatIsReadIsWrittenAgain) {
  Json job = job_with_curve(fmt::format(R"({{"requests_per_second": {}}})", rates_text(24, 1.5)));
  job["service"]["tensor_parallel_size"] = {2, 4};
  job["service"]["ttft_seconds"] = 2.0;
  const auto service = service_section(job, "j");
  ASSERT_TRUE(service);
  EXPECT_EQ(service_record().read(service_record().write(*service), "again"), *service);
}

}  // namespace
}  // namespace meshwright::planner
