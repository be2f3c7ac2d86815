// SPDX-License-Identifier: Apache-2.0
// A launch that is written is read back as the deployment that was planned, and starts. Asked of
// shipped models, engines, modes, formats of weights and forms: a fixed tenth with every change,
// all in the night.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "app/commands/serving/service_launch.h"
#include "app/files/checkpoint_names.h"
#include "app/files/config_names.h"
#include "app/files/files.h"
#include "app/files/serving_files.h"
#include "app/runs/launched_service.h"
#include "interop/serving/serving_options.h"
#include "planner/serving/serving_search.h"
#include "sim/base/error.h"
#include "sim/record/json.h"
#include "sim/serving/weights.h"
#include "tests/unit/app/run_program.h"

namespace meshwright {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kCluster[] = "h200-512";

planner::ServingQuestion question_of(const std::string& model, const std::string& engine,
                                     WeightFormat format, planner::ServingMode mode) {
  planner::ServingQuestion q;
  q.scenario.model = app::load_served_model(model).model;
  q.scenario.cluster = app::load_serving_cluster(kCluster);
  q.scenario.engine = app::load_engine(engine);
  q.scenario.options.weights = usual_scheme(format, q.scenario.model);
  q.load.kind = LoadKind::open_loop;
  q.load.request_rate = 20;
  q.load.lengths.input = 700;
  q.load.lengths.output = 120;
  q.aggregated = mode == planner::ServingMode::aggregated;
  q.disaggregated = !q.aggregated;
  q.space = planner::serving_space(q.scenario.model, q.scenario.cluster);
  q.space.max_num_seqs = {0, 64};
  q.space.token_budgets = {0};
  q.kept = 3;
  q.simulated = 0;
  return q;
}

// What keeps a launch from being written: a pod is one host, and not every engine has every format.
bool may_refuse(const std::string& why) {
  return why.find("a pod has one") != std::string::npos ||
         why.find(" weights of ") != std::string::npos ||
         why.find("does not fill whole hosts") != std::string::npos;
}

void expect_read_back(const planner::ServingQuestion& q, const planner::Deployment& planned,
                      const app::ServedCheckpoint& checkpoint, interop::ServingForm form) {
  const interop::ServingLaunch written = app::service_launch(q.scenario, planned, checkpoint);
  std::string text;
  try {
    text = interop::write_serving(written, form, app::serving_hosts(q.scenario.cluster));
  } catch (const InputError& error) {
    EXPECT_TRUE(may_refuse(error.what())) << error.what();
    return;
  }
  SCOPED_TRACE(planner::short_name(planned) + "\n" + text);
  const test::TemporaryFolder folder;
  reports::Origin origin;
  interop::ServingLaunch read = app::read_service(folder.write("launch", text), origin);
  for (const auto& one : read.not_understood) ADD_FAILURE() << one.said << ": " << one.why;
  app::LaunchedServiceOptions options;
  options.cluster = kCluster;
  const bool stated = read.weights || checkpoint.stored ||
                      app::format_in_name(read.model, q.scenario.model.moe.has_value());
  if (!stated) options.weights = "bf16";
  const app::LaunchedService back = app::launched_service(std::move(read), options, origin);
  EXPECT_EQ(back.scenario.model.name, q.scenario.model.name);
  EXPECT_EQ(back.scenario.engine.name, q.scenario.engine.name);
  EXPECT_EQ(back.scenario.options.weights, q.scenario.options.weights);
  EXPECT_TRUE(back.deployment == planned) << planner::short_name(back.deployment);
  EXPECT_FALSE(planner::refused(back.scenario, back.deployment, q.load));
}

TEST(ServingReadBack, EveryLaunchIsTheDeploymentThatWasPlanned) {
  const bool all = std::getenv("MESHWRIGHT_NIGHTLY") != nullptr;
  std::size_t written = 0, model_number = 0;
  for (const std::string& model : app::config_names("models")) {
    ++model_number;
    const app::ServedModel served = app::load_served_model(model);
    const Model& shape = served.model;
    const bool short_contexts =
        shape.max_position_embeddings > 0 && shape.max_position_embeddings < 1024;
    if (!has_kv_layout(shape) || short_contexts) continue;
    const app::ServedCheckpoint checkpoint{app::checkpoint_of_model(model), served.weights};
    std::size_t engine_number = 0;
    for (const std::string& engine : app::config_names("engines")) {
      ++engine_number;
      if (engine == "vllm-trial") continue;
      for (const auto& mode : planner::kServingModeNames) {
        const std::size_t number = model_number * 13 + engine_number * 7 +
                                   (mode.value == planner::ServingMode::aggregated ? 0 : 1);
        if (!all && number % 19 != 0) continue;
        const auto& format = kWeightFormatNames[number % kWeightFormatNames.size()];
        SCOPED_TRACE(
            fmt::format("{} by {}, {} weights, {}", model, engine, format.name, mode.name));
        const planner::ServingQuestion q = question_of(model, engine, format.value, mode.value);
        // SGLang writes fp8 for both formats of DeepSeek's kind.
        const bool same_word = interop::quantized_format(interop::quantization_word(
                                   q.scenario.engine.kind, format.value)) == format.value;
        if (format.value != WeightFormat::bf16 && !same_word) continue;
        // fp8 of a checkpoint with scales of blocks are these.
        if (format.value == WeightFormat::fp8 && served.weights == WeightFormat::fp8_block)
          continue;
        for (const planner::ServingChoice& choice : planner::serving_plan(q).choices) {
          for (const auto& form : interop::kServingFormNames) {
            expect_read_back(q, choice.deployment, checkpoint, form.value);
            ++written;
          }
        }
      }
    }
  }
  EXPECT_GT(written, 100U);
}

// The file has the typed name, the format and the longest request. `review` answers with the
// planned deployment.
TEST(ServingReadBack, ReviewAnswersWithThePlannedDeployment) {
  const std::vector<std::string> load{"--cluster", "h100-512", "--isl",  "2000",
                                      "--osl",     "500",      "--rate", "10"};
  for (const std::string mode : {"aggregated", "disaggregated"}) {
    for (const std::string form : {"command", "kubernetes", "dynamo"}) {
      SCOPED_TRACE(mode + " " + form);
      const test::TemporaryFolder folder;
      const std::string file = folder.path("launch");
      const auto plan = test::run_program(test::with(
          {"serve", "--model", "meta-llama/Llama-3.3-70B-Instruct", "--weights", "fp8", "--mode",
           mode, "--launch-out", file, "--launch-form", form, "--format", "json"},
          load));
      ASSERT_EQ(plan.exit_code, 0) << plan.err;
      const std::string text = test::content_of(file);
      EXPECT_THAT(text, HasSubstr("meta-llama/Llama-3.3-70B-Instruct"));
      EXPECT_THAT(text, HasSubstr("--quantization fp8"));
      EXPECT_THAT(text, HasSubstr("--max-model-len 2560"));
      EXPECT_THAT(text, Not(HasSubstr("llama-3-70b")));
      const auto review =
          test::run_program(test::with({"review", "--from", file, "--format", "json"}, load));
      ASSERT_EQ(review.exit_code, 0) << review.err << text;
      const Json answer = Json::parse(review.out);
      EXPECT_EQ(answer["verdict"], "fits");
      EXPECT_EQ(answer["deployment"], Json::parse(plan.out)["choices"][0]["deployment"]["name"]);
    }
  }
}

}  // namespace
}  // namespace meshwright
