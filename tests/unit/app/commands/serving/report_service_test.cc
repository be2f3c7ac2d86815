// SPDX-License-Identifier: Apache-2.0
// meshwright report and validate of a service with its trials, which the test makes from the
// plan's prediction.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/records/serving_plan.h"
#include "reports/records/serving_trials.h"
#include "reports/records/sha256.h"
#include "sim/record/json.h"
#include "tests/unit/app/run_program.h"
#include "tests/unit/planner/serving/served_fixture.h"
#include "tests/unit/schema_check.h"

namespace meshwright::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Json document(const std::string& path) { return Json::parse(content_of(path)); }

// A plan of a service, and trials in which its first deployment took 1.25 times its prediction.
struct ServedFiles {
  TemporaryFolder folder;
  std::string plan = folder.path("serve.json");
  std::string trials = folder.path("trials.json");
  std::string page = folder.path("page.html");

  ServedFiles() {
    const ProgramResult served = run_program(
        {"serve",     "--model",   "llama-3-8b", "--cluster",     "h100-8",     "--engine",
         "vllm-0.24", "--weights", "bf16",       "--mode",        "aggregated", "--tp",
         "1",         "--pp",      "1",          "--gpus",        "1",          "--isl",
         "200",       "--osl",     "20",         "--concurrency", "8",          "--num-prompts",
         "16",        "--format",  "json",       "--out",         plan});
    EXPECT_EQ(served.exit_code, 0) << served.err;
    folder.write("trials.json", trials_of(content_of(plan)));
  }

  // Trials that name the plan with these bytes as theirs.
  [[nodiscard]] std::string trials_of(const std::string& bytes) const {
    const reports::ServingPlanFile file = reports::serving_plan_from_json(document(plan), plan);
    ServingScenario scenario = file.scenario;
    scenario.options = file.plan.choices.front().deployment.pool.options;
    ServingObservation o = planner::as_predicted(scenario, file.load, 1.25);
    o.device = "cpu";
    const reports::Origin origin{
        "1.0", "meshwright trial", {{"plan", plan, reports::sha256(bytes)}}};
    return reports::serving_trials_record().write({origin, plan, {o}}).dump();
  }
  [[nodiscard]] ProgramResult report(const std::vector<std::string>& more) const {
    return run_program(with({"report", plan, "--trials", trials, "--out", page}, more));
  }
  [[nodiscard]] Json record() const { return document(folder.path("page.report.json")); }
};

TEST(ReportService, ShowsItsTrials) {
  const ServedFiles files;
  const ProgramResult result = files.report({});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\n1 deployment ran on 1 core, with 16 requests. The predicted "
                                    "decode step was off by 20 %"));
  EXPECT_THAT(content_of(files.page), HasSubstr("<section id=\"validation\">"));
  const Json record = files.record();
  EXPECT_EQ(complaint_of(reports::serving_plan_record().schema("serve_plan"), record), "");
  ASSERT_EQ(record["validation"]["services"].size(), 1U);
  EXPECT_NEAR(record["validation"]["services"][0]["step_error"].get<double>(), 0.2, 1e-9);
  Json without = record;
  without.erase("validation");
  EXPECT_EQ(without, document(files.plan));
}

TEST(ReportService, TablesHaveWhatWasMeasured) {
  const ServedFiles files;
  EXPECT_THAT(files.report({"--format", "csv", "--table", "validation"}).out,
              HasSubstr("decode_predicted_ms"));
  EXPECT_THAT(files.report({"--format", "markdown"}).out, HasSubstr("Predicted and measured"));
}

// The JSON report holds the trials: its page is made again without them.
TEST(ReportService, ReadsItsReportAgain) {
  const ServedFiles files;
  ASSERT_EQ(files.report({}).exit_code, 0);
  const ProgramResult again = run_program(
      {"report", files.folder.path("page.report.json"), "--out", files.folder.path("again.html")});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(document(files.folder.path("again.report.json")), files.record());
  EXPECT_EQ(content_of(files.folder.path("again.html")), content_of(files.page));
}

TEST(ReportService, TrialsOfAnotherPlanNeedForceAndTheReportStatesIt) {
  const ServedFiles files;
  files.folder.write("trials.json", files.trials_of("another plan"));
  const ProgramResult refused = files.report({});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("trials of another plan"));
  const ProgramResult forced = files.report({"--force"});
  ASSERT_EQ(forced.exit_code, 0) << forced.err;
  EXPECT_THAT(forced.out, StartsWith("CAUTION, forced: trials of another plan"));
  EXPECT_THAT(files.record()["validation"]["caution"].get<std::string>(),
              StartsWith("CAUTION, forced"));
}

TEST(ReportService, RefusesTrialsOfTheOtherKindAndProfiles) {
  const ServedFiles files;
  const std::string training = files.folder.path("plan.json");
  ASSERT_EQ(run_program({"plan", "--model", "llama-3-8b", "--cluster", "h100-8", "--ranking-only",
                         "--out", training})
                .exit_code,
            0);
  const std::string trained = files.folder.write(
      "trained.json", R"({"schema": "meshwright.trials/1", "observations": []})");
  const auto refused = [](const std::vector<std::string>& words, const char* message) {
    const ProgramResult result = run_program(words);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_THAT(result.err, HasSubstr(message));
  };
  const char* of_training = "trained.json: has no trials of a service, and the plan is one";
  const char* of_service =
      "trials.json: has trials of a service, and the plan is one of a training";
  refused({"report", files.plan, "--trials", trained, "--out", files.page}, of_training);
  refused({"validate", files.plan, trained}, of_training);
  refused({"report", training, "--trials", files.trials, "--out", files.page}, of_service);
  refused({"validate", training, files.trials}, of_service);
  refused({"report", files.plan, "--profile", trained, "--out", files.page}, "shows no profile");
}

TEST(ValidateService, NamesTheReportAsTheNextStep) {
  const ServedFiles files;
  const ProgramResult result = run_program({"validate", files.plan, files.trials});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("step time  median error 20 % of single steps"));
  EXPECT_THAT(result.err, HasSubstr("\nbytes      as predicted in 1 of 1 services\n"));
  EXPECT_THAT(result.err, HasSubstr("next: meshwright report " + files.plan + " --trials "));
}

}  // namespace
}  // namespace meshwright::test
