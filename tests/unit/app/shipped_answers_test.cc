// SPDX-License-Identifier: Apache-2.0
// One question has one number, and a launch that is written is read back as what was planned: for
// shipped models on shipped clusters under every launcher, and by every engine. A fixed part with
// every change, all in the night.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "app/files/config_names.h"
#include "app/files/files.h"
#include "app/runs/launched_run.h"
#include "sim/layout/short_name.h"
#include "sim/record/json.h"
#include "sim/serving/weights.h"
#include "sim/step/estimate.h"
#include "tests/unit/app/run_program.h"

namespace meshwright::test {
namespace {

using Words = std::vector<std::string>;

// Pairs of which one is tried by day; primes, so that models meet other clusters and engines.
constexpr std::size_t kPairs = 67, kServices = 29;
// A launcher that cannot say a model's router bias prices it without.
constexpr double kUnsaid = 1e-6;

bool is_night() { return std::getenv("MESHWRIGHT_NIGHTLY") != nullptr; }

// Launchers whose whole file is written, what the file says of the run, and the search that stays
// within that.
struct Written {
  const char *target, *file;
  bool names_model, says_gpus, says_length;
  Words search;
};
const std::array kWritten{
    Written{"Megatron-LM", "run.sh", true, true, true, {}},
    Written{"Megatron-Bridge", "run.yaml", false, false, true, {}},
    Written{"torchtitan", "run.toml", false, false, true, {}},
    // The model's program switches recompute on.
    Written{"DeepSpeed", "run.json", false, false, false, {"--recompute", "none"}},
    Written{"accelerate", "run.sh", false, true, true, {}}};

// The rotation's factor stands in Megatron Core's configuration alone.
bool says_rotation(const Model& model, const Written& written) {
  return model.rotary_mscale == 1.0 || model.mla || !written.names_model;
}

Json json_of(const ProgramResult& result) {
  return result.exit_code == 2 || result.out.empty() ? Json() : Json::parse(result.out);
}

void expect_near(double answer, const Json& planned, const char* key) {
  const auto expected = planned.at(key).get<double>();
  EXPECT_NEAR(answer, expected, kUnsaid * expected) << key;
}

void ask_training(const Words& question, int length, const Written& written,
                  std::size_t& read_back) {
  const TemporaryFolder folder;
  const std::string launch = folder.path(written.file);
  // Few sizes are quick.
  const Words sizes = is_night() ? Words{} : Words{"--tp", "1,4", "--pp", "1,2"};
  const auto planned =
      run_program(with(with(with(with({"plan"}, question), written.search), sizes),
                       {"--mbs", "1", "--target", written.target, "--ranking-only", "--top", "1",
                        "--format", "json", "--launch-out", launch}));
  if (planned.exit_code == 1) return;  // nothing fits
  const Json plan = json_of(planned);
  if (plan.is_null()) {
    EXPECT_NE(planned.err.find("cannot run"), std::string::npos) << planned.err;
    return;
  }
  const Json& best = plan["ranked"][0];
  const Words asked =
      with(question, {"--framework", plan["cluster"]["framework"]["name"].get<std::string>(),
                      "--layout", best["short_name"].get<std::string>(), "--format", "json"});
  SCOPED_TRACE(best["short_name"].get<std::string>());
  const Json estimated = json_of(run_program(with({"estimate"}, asked)))["estimate"];
  for (const char* key : {"step_time_low_seconds", "step_time_seconds", "step_time_high_seconds",
                          "peak_memory_bytes", "memory_fit"}) {
    EXPECT_EQ(estimated.at(key), best.at(key)) << key;
  }
  const Json capacity = json_of(run_program(
      with({"capacity", "--rows-only", "--fixed-gpus", "--fixed-batch"}, asked)))["capacity"];
  EXPECT_EQ(capacity["rows"][0]["step_s"]["mid"], best["step_time_seconds"]);
  app::LaunchedRunOptions read;
  read.from = launch;
  read.cluster = question[3];
  if (!written.names_model) read.model = question[1];
  if (!written.says_gpus) read.gpus = std::stoi(question[5]);
  if (!written.says_length) read.seq_length = length;
  reports::Origin origin;
  const app::LaunchedRun run = app::load_launched_run(read, origin);
  SCOPED_TRACE(short_name(run.layout) + "\n" + content_of(launch));
  const auto answer = estimate(run.scenario, run.layout);
  const auto* again = std::get_if<Estimate>(&answer);
  ASSERT_NE(again, nullptr);
  expect_near(again->step_time.value(), best, "step_time_seconds");
  expect_near(again->peak_memory().value(), best, "peak_memory_bytes");
  ++read_back;
}

TEST(ShippedAnswers, APlanHasOneNumberAndItsLaunchIsReadBack) {
  std::size_t number = 0, read_back = 0;
  for (const std::string& model : app::config_names("models")) {
    const Model shape = app::load_model(model);
    for (const std::string& cluster : app::config_names("clusters")) {
      const std::size_t pair = number++;
      if (!is_night() && pair % kPairs != 3) continue;
      const Written& written = kWritten[pair / kPairs % kWritten.size()];
      if (!says_rotation(shape, written)) continue;
      SCOPED_TRACE(fmt::format("{} on {} for {}", model, cluster, written.target));
      const int length = shape.position_embedding == PositionEmbedding::learned
                             ? std::min(4096, shape.max_position_embeddings)
                             : 4096;
      const Words question{"--model", model, "--cluster",    cluster,
                           "--gpus",  "16",  "--seq-length", std::to_string(length)};
      ask_training(question, length, written, read_back);
    }
  }
  fmt::print("{} launches read back\n", read_back);
  EXPECT_GT(read_back, 50U);
}

// The deployment of a plan, simulated alone and read back from its launch.
void ask_service(const Words& question, const Words& load, std::size_t& asked) {
  const TemporaryFolder folder;
  const std::string launch = folder.path("serve.sh");
  const auto planned = run_program(
      with(with(with({"serve"}, question), load),
           {"--mode", "aggregated", "--top", "1", "--format", "json", "--launch-out", launch}));
  if (planned.exit_code != 0) return;  // no deployment, or a model that nothing serves
  const Json choice = json_of(planned)["choices"][0];
  const Json& options = choice["deployment"]["pool"]["options"];
  Words words;
  const auto add = [&](const char* option, const Json& value) {
    words = with(words, {option, value.is_string() ? value.get<std::string>() : value.dump()});
  };
  const Json& layout = options["layout"];
  add("--pp", layout["pipeline_parallel_size"]);
  add("--ep", layout["expert_parallel_size"]);
  add("--dcp", layout["decode_context_parallel_size"]);
  add("--dp", layout["data_parallel_size"]);
  const bool within = json_of(planned)["engine"].get<std::string>().rfind("vllm", 0) != 0;
  const int tensor = layout["tensor_parallel_size"].get<int>();
  add("--tp", Json(within ? tensor * layout["data_parallel_size"].get<int>() : tensor));
  add("--replicas", choice["deployment"]["pool"]["replicas"]);
  for (const auto& [option, key] : {std::pair{"--max-num-seqs", "max_num_seqs"},
                                    {"--max-num-batched-tokens", "max_num_batched_tokens"},
                                    {"--max-model-len", "max_model_len"},
                                    {"--block-size", "block_size"}}) {
    add(option, options[key]);
  }
  SCOPED_TRACE(choice["deployment"]["name"].get<std::string>());
  const auto simulated = run_program(
      with(with(with({"serve", "simulate", "--format", "json"}, question), load), words));
  ASSERT_EQ(simulated.exit_code, 0) << simulated.err << testing::PrintToString(words);
  const auto reviewed = run_program(with(with({"review", launch, "--format", "json"},
                                              {"--cluster", question[3], "--engine", question[5]}),
                                         load));
  ASSERT_EQ(reviewed.exit_code, 0) << reviewed.err << content_of(launch);
  for (const char* time : {"ttft", "tpot"}) {
    const Json& mean = choice["simulated"][time]["mean_seconds"];
    if (choice["deployment"]["pool"]["replicas"] == 1) {
      EXPECT_EQ(json_of(simulated)["metrics"][time]["mean_seconds"], mean) << time;
    }
    EXPECT_EQ(json_of(reviewed)[std::string(time) + "_seconds"], mean)
        << time << content_of(launch);
  }
  ++asked;
}

TEST(ShippedAnswers, AServiceHasOneNumber) {
  const std::vector<std::string> clusters = app::config_names("clusters");
  std::size_t number = 0, asked = 0;
  for (const std::string& model : app::config_names("models")) {
    if (!has_kv_layout(app::load_model(model))) continue;
    for (const std::string& engine : app::config_names("engines")) {
      const std::size_t pair = number++;
      if (engine == "vllm-trial" || (!is_night() && pair % kServices != 5)) continue;
      const std::string& cluster = clusters[pair / kServices % clusters.size()];
      SCOPED_TRACE(fmt::format("{} on {} by {}", model, cluster, engine));
      ask_service({"--model", model, "--cluster", cluster, "--engine", engine},
                  {"--isl", "700", "--osl", "120", "--rate", "2"}, asked);
    }
  }
  fmt::print("{} services\n", asked);
  EXPECT_GT(asked, 20U);
}

}  // namespace
}  // namespace meshwright::test
