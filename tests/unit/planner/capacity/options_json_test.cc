// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/options_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.h"
#include "tests/unit/error_of.h"

namespace meshwright::planner {
namespace {

std::string section_error(const Json& job) {
  return error_of([&] { capacity_section(job, "job.json"); });
}

TEST(CapacityOptionsJson, WhatAJobDoesNotSayHasItsDefault) {
  EXPECT_EQ(capacity_section(Json::object(), "job.json").options, CapacityOptions{});
  EXPECT_EQ(capacity_section(Json(), "").options, CapacityOptions{});
}

TEST(CapacityOptionsJson, AShareIsAtMostTheWhole) {
  for (const char* share : {R"({"failures": {"spares_target": 1.5}})",
                            R"({"power": {"share_of_rating": {"value": 0.9, "high": 1.5}}})",
                            R"({"power": {"waiting_share": 1.5}})", R"({"step_time_spread": 1.5})",
                            R"({"evaluation_share": 1.5})"}) {
    EXPECT_THAT(section_error(Json{{"capacity", Json::parse(share)}}), testing::HasSubstr("1.5"))
        << share;
  }
}

TEST(CapacityOptionsJson, ANumberIsStatedAndAnObjectHasItsInterval) {
  const Json job = Json::parse(R"({"capacity": {
    "clusters": ["a", "b"], "gpus": [8, 16], "prices": "mine",
    "failures": {"per_thousand_node_days": {"value": 5, "low": 4, "high": 7, "basis": "measured"},
                 "restart_seconds": 300},
    "power": {"kg_co2_per_kwh": 0.4},
    "limits": {"deadline_days": 90, "max_gpus": 1024},
    "schedule": [{"until_tokens": 1e9, "global_batch_size": 32, "seq_length": 1024},
                 {"global_batch_size": 64, "seq_length": 1024}]}})");
  const CapacitySection section = capacity_section(job, "job.json");
  EXPECT_THAT(section.clusters, testing::ElementsAre("a", "b"));
  EXPECT_EQ(section.options.failures.per_thousand_node_days.high, 7.0);
  EXPECT_EQ(section.options.failures.restart_seconds, stated(300.0));
  EXPECT_EQ(section.options.power.kg_co2_per_kwh->value, 0.4);
  EXPECT_EQ(section.options.limits.max_gpus, 1024);
  EXPECT_EQ(section.options.schedule.size(), 2U);
}

TEST(CapacityOptionsJson, WhatIsWrongIsNamed) {
  EXPECT_THAT(section_error(Json::parse(R"({"capacity": {"gpu": [8]}})")),
              testing::HasSubstr("gpu"));
  EXPECT_THAT(section_error(Json::parse(R"({"capacity": {"gpus": [0]}})")),
              testing::HasSubstr("gpus"));
  EXPECT_THAT(section_error(Json::parse(
                  R"({"capacity": {"power": {"pue": {"value": 1, "low": 2, "high": 3}}}})")),
              testing::HasSubstr("order"));
  EXPECT_THAT(section_error(Json::parse(R"({"capacity": {"schedule": [
      {"until_tokens": 0, "global_batch_size": 1, "seq_length": 1},
      {"global_batch_size": 1, "seq_length": 1}]}})")),
              testing::HasSubstr("until_tokens"));
}

TEST(CapacityOptionsJson, APriceNamesAClusterOrADevice) {
  const Json list = Json::parse(R"({"schema": "meshwright.prices/1", "name": "p", "date": "2026-11",
    "source": "s", "currency": "EUR", "prices": [{"device": "d", "per_gpu_hour": 2}]})");
  EXPECT_EQ(prices_from_json(list, "p.json").prices.front().per_gpu_hour, stated(2.0));
  Json both = list;
  both["prices"][0]["cluster"] = "c";
  EXPECT_THROW(prices_from_json(both, "p.json"), InputError);
}

}  // namespace
}  // namespace meshwright::planner
