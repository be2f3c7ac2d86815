// SPDX-License-Identifier: Apache-2.0
// What is run of a layout on fewer ranks, and what no trial runs: cases/*.txt. A case is words that
// differ from 64 sequences of 1,024 tokens of a GPT with 24 layers in fp32:
//
//   tp2 pp4 dp8 ranks=4          fields of the layout, the job and the model; ranks that are there,
//                                as many as the layout has by default
//   experts                      the model has experts
//   calls_block=false            of the network, as sends_alone
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "calibrate/trial/trial.h"
#include "sim/json/records.h"
#include "sim/layout/short_name.h"
#include "tests/paths.h"
#include "tests/unit/cases.h"
#include "tests/unit/training_words.h"

namespace meshwright::calibrate {
namespace {

const char* const kJob =
    R"({"seq_length": 1024, "global_batch_size": 64, "precision": "fp32",
        "attention_kernel": "unfused"})";

test::Answer run_of(const test::Asked& asked) {
  test::TrainingWords words{
      .model = Json::parse(R"({"num_layers": 24, "hidden_size": 1024, "ffn_hidden_size": 4096,
          "num_attention_heads": 16, "kv_channels": 64, "vocab_size": 50257,
          "max_position_embeddings": 1024})"),
      .job = Json::parse(kJob),
      .experts = Json::parse(
          R"({"num_moe_experts": 64, "moe_router_topk": 6, "moe_ffn_hidden_size": 512})"),
      .layout = ""};
  int ranks = 0;
  NetworkTraits network;
  words.read(asked.text, [&](const std::string& key, const std::string& value) {
    if (key == "ranks") ranks = std::stoi(value);
    if (key == "calls_block") network.calls_block = value == "true";
    if (key == "sends_alone") network.sends_alone = value == "true";
    return key == "ranks" || key == "calls_block" || key == "sends_alone";
  });
  const Model model = model_from_json(words.model, "model.json");
  const Job job = job_from_json(words.job, "job.json");
  const Layout layout = layout_from_text(words.layout);
  const RunnableLayout run =
      runnable_layout(model, job, layout, ranks > 0 ? ranks : world_size(layout), network);
  test::Part runs{"runs", {{"", run.layout == layout ? "it whole" : short_name(run.layout)}}};
  runs.items.emplace_back("layers", fmt::format("{}", run.num_layers));
  runs.items.emplace_back("sequences", fmt::format("{}", run.global_batch_size));
  if (model.moe) runs.items.emplace_back("experts", fmt::format("{}", run.num_moe_experts));
  test::Part not_run{"not run", {}}, unsupported{"unsupported", {}};
  for (const std::string& one : run.not_run) not_run.items.emplace_back(one, "");
  const std::string why = trial_unsupported(model, job, layout);
  if (!why.empty()) unsupported.items.emplace_back(why, "");
  return {runs, not_run, unsupported};
}

TEST(RunnableLayout, IsAsWritten) {
  for (const std::string& file : test::case_files("calibrate/trial/cases"))
    test::expect_cases(file, run_of);
}

TEST(TrialUnsupported, PublishedExpertModelsAreSupportedAsTheyAre) {
  for (const std::string name : {"deepseek-v3", "glm-4.5"}) {
    std::ifstream file(std::string(MESHWRIGHT_SOURCE_DIR) + "/configs/models/" + name + ".json");
    const Model model = model_from_json(Json::parse(file), name);
    EXPECT_EQ(model.mtp_num_layers, 1);
    EXPECT_EQ(trial_unsupported(model, job_from_json(Json::parse(kJob), ""), {}), "");
  }
}

}  // namespace
}  // namespace meshwright::calibrate
