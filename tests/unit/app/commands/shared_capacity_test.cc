// SPDX-License-Identifier: Apache-2.0
// `meshwright capacity` for a job file that holds a training and a service.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "sim/record/json.h"
#include "tests/unit/app/run_program.h"
#include "tests/unit/schema_check.h"

namespace meshwright::test {
namespace {

using testing::HasSubstr;

Json job_with_service() {
  return Json::parse(R"({
    "name": "both", "seq_length": 1024, "global_batch_size": 64, "precision": "bf16",
    "train_tokens": 1e10,
    "capacity": {"model": "llama-3-8b", "clusters": ["h100-512"], "gpus": [48],
                 "prices": "example-2026", "failures": {"spare_nodes": 0},
                 "limits": {"deadline_days": 30, "max_gpus": 128}},
    "service": {"model": "llama-3-8b", "tensor_parallel_size": [1], "isl": 1000, "osl": 200, "ttft_seconds": 2,
                "tpot_seconds": 0.05, "replica_start_seconds": 0,
                "load_curve": {"points": [{"hour": 0, "requests_per_second": 5},
                                          {"hour": 8, "requests_per_second": 60},
                                          {"hour": 20, "requests_per_second": 5}]}}})");
}

ProgramResult asked_capacity(const TemporaryFolder& folder, const Json& job,
                             const std::vector<std::string>& more = {}) {
  return run_program(with({"capacity", "--job", folder.write("job.json", job.dump())}, more));
}

TEST(SharedCapacityCommand, TheAnswerObeysItsSchemaAndAddsUp) {
  const TemporaryFolder folder;
  const ProgramResult result = asked_capacity(folder, job_with_service(), {"--format", "json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json answer = Json::parse(result.out);
  EXPECT_EQ(answer["schema"], "meshwright.shared_capacity/1");
  const ProgramResult schema = run_program({"schema", "shared_capacity"});
  EXPECT_EQ(complaint_of(Json::parse(schema.out), answer), "");
  const Json& capacity = answer["shared_capacity"];
  EXPECT_FALSE(capacity["recommended"].is_null());
  for (const Json& row : capacity["rows"]) {
    if (!row["fits"].get<bool>()) continue;
    ASSERT_EQ(row["hours"].size(), 24U);
    for (const Json& hour : row["hours"]) {
      EXPECT_EQ(hour["service_gpus"].get<int>() + hour["training_gpus"].get<int>() +
                    hour["spare_gpus"].get<int>() + hour["free_gpus"].get<int>(),
                row["gpus"].get<int>());
    }
  }
  const Json& service = capacity["services"][0];
  EXPECT_GT(service["hours"][10]["replicas"], service["hours"][2]["replicas"]);
  EXPECT_LE(service["smallest_gpus"].get<int>(), 48);
}

TEST(SharedCapacityCommand, TheTextSaysWhatServesAndWhatTrains) {
  const TemporaryFolder folder;
  const ProgramResult result = asked_capacity(folder, job_with_service());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  // Lines are broken where the terminal ends.
  const std::string text = std::regex_replace(result.out, std::regex("\\s+"), " ");
  for (const char* words : {"Reserve", "the service holds", "A million tokens", "GPUs by hour",
                            "smallest cluster", "rests on"}) {
    EXPECT_THAT(text, HasSubstr(words));
  }
}

// What the report reads it writes again, and its page has the chart without a script.
TEST(SharedCapacityCommand, AReportIsMadeOfTheAnswer) {
  const TemporaryFolder folder;
  const std::string answer = folder.path("both.json"), page = folder.path("both.html");
  const ProgramResult made = asked_capacity(folder, job_with_service(), {"--out", answer});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const ProgramResult result = run_program({"report", answer, "--out", page});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(Json::parse(content_of(folder.path("both.report.json"))),
            Json::parse(content_of(answer)));
  const std::string html = content_of(page);
  EXPECT_THAT(html, HasSubstr("id=\"gpus-by-hour\""));
  EXPECT_THAT(html, HasSubstr("hour 10: "));
  EXPECT_THAT(html, HasSubstr("example prices of "));
  EXPECT_THAT(html, HasSubstr("<a href=\"#sizes\">Sizes</a>"));
  EXPECT_THAT(html, HasSubstr("<script type=\"application/json\" id=\"report\">"));
}

// A file that was edited is refused before anything is drawn of it.
TEST(SharedCapacityCommand, AReportRefusesHoursThatAreNoDay) {
  const TemporaryFolder folder;
  const ProgramResult made = asked_capacity(folder, job_with_service(), {"--format", "json"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Json answer = Json::parse(made.out);
  std::size_t row = 0;
  while (!answer["shared_capacity"]["rows"][row]["fits"].get<bool>()) ++row;
  const auto report_of = [&](const Json& edited) {
    return run_program({"report", folder.write("edited.json", edited.dump()), "--out",
                        folder.path("edited.html")});
  };
  const std::string place = "/shared_capacity/rows/" + std::to_string(row) + "/hours";
  for (const std::size_t hours : {std::size_t{0}, std::size_t{3}}) {
    Json edited = answer;
    Json& list = edited["shared_capacity"]["rows"][row]["hours"];
    while (list.size() > hours) list.erase(list.size() - 1);
    const ProgramResult result = report_of(edited);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr(place + ": must be 24 hours"));
  }
  Json edited = answer;
  edited["shared_capacity"]["rows"][row]["hours"][5]["free_gpus"] = 1000000;
  const ProgramResult result = report_of(edited);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr(place + ": must add up"));
}

}  // namespace
}  // namespace meshwright::test
