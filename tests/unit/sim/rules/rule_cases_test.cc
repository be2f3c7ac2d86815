// SPDX-License-Identifier: Apache-2.0
// Layouts and the rules that they break: cases/*.txt. A case is words that differ from 64 sequences
// of 2,048 tokens of a model with 48 layers on one device:
//
//   tp=3 num_query_groups=6      fields of the layout, by both names; of the job, of the model
//   experts                      the model has experts
//   gpus=16 fast_domain=8        what the devices are; formats=fp16+fp32, block_scaling=no
//   lacks=fsdp                   a feature that the software does not have; framework.json is more
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "sim/base/text.h"
#include "sim/json/records.h"
#include "sim/rules/feature_rules.h"
#include "sim/rules/framework_rules.h"
#include "sim/rules/rules.h"
#include "tests/paths.h"
#include "tests/unit/cases.h"
#include "tests/unit/training_words.h"

namespace meshwright::test {
namespace {

struct Question {
  TrainingWords training{
      .model = Json::parse(R"({"num_layers": 48, "hidden_size": 6144, "ffn_hidden_size": 24576,
          "num_attention_heads": 64, "num_query_groups": 8, "kv_channels": 96, "vocab_size": 51200,
          "max_position_embeddings": 2048, "name": "the model"})"),
      .job = Json::parse(R"({"seq_length": 2048, "global_batch_size": 64})"),
      .experts = Json::parse(R"({"num_moe_experts": 8, "moe_router_topk": 2,
          "moe_ffn_hidden_size": 1536, "moe_shared_expert_intermediate_size": 0})"),
      .layout = ""};
  std::optional<Unsupported> lacks;
  Devices devices;
};

std::optional<Unsupported> feature(const std::string& name) {
  for (const auto& each : kUnsupportedNames) {
    if (each.name == name) return each.value;
  }
  ADD_FAILURE() << "no feature " << name;
  return {};
}

bool set(Devices& devices, const std::string& key, const std::string& value) {
  if (key == "gpus") {
    devices.gpus = std::stoi(value);
  } else if (key == "fast_domain") {
    devices.fast_domain = std::stoi(value);
  } else if (key == "block_scaling") {
    devices.block_scaling = value == "yes";
  } else if (key == "formats") {
    devices.formats = 0;
    for (const std::string_view name : split(value, '+'))
      devices.formats |= format_bit(job_from_json({{"precision", name}}, "").precision);
  } else {
    return false;
  }
  return true;
}

Question question_of(const std::string& text) {
  Question asked;
  asked.training.read(text, [&](const std::string& key, const std::string& value) {
    if (key == "lacks") asked.lacks = feature(value);
    return key == "lacks" || set(asked.devices, key, value);
  });
  return asked;
}

std::set<std::string> broken;      // rules that a case breaks
std::set<Unsupported> is_lacking;  // features that a case lacks

Answer answer_under(const Question& asked, const Devices& devices) {
  const Framework plain, &framework = devices.framework == nullptr ? plain : *devices.framework;
  const Model model = model_from_json(asked.training.model, "model.json");
  const Job job = job_from_json(asked.training.job, "job.json", "", framework.defaults.job);
  const Layout layout = layout_from_text(asked.training.layout, framework.defaults.layout);
  const auto violation = check_layout(model, job, layout, devices);
  if (!violation) return {{"error", {{"none", ""}}}};
  const std::string rule(rule_text(violation->rule).name);
  broken.insert(rule);
  return {{"error", {{rule + ":", describe(*violation, model, job, layout, devices)}}}};
}

// Shipped files that lack the feature say so with their own names.
void expect_shipped_to_refuse(const Question& asked) {
  const std::filesystem::path folder = std::string(MESHWRIGHT_SOURCE_DIR) + "/configs/frameworks";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path());
    const std::string name = entry.path().stem().string();
    const Framework framework = framework_from_json(Json::parse(in), name + ".json");
    if (!framework.limits.lacks(*asked.lacks) || asked.training.model.contains("moe")) continue;
    const Answer answer =
        answer_under(asked, {.framework = &framework, .lacks = framework.limits.bits()});
    EXPECT_NE(answer[0].items[0].second.find(framework.name), std::string::npos)
        << name << ": " << asked.training.layout;
  }
}

Answer breaks(const Asked& text) {
  Question asked = question_of(text.text);
  Framework framework;
  framework.name = "software-2030";
  if (text.beside.count("framework.json") > 0)
    framework = framework_from_json(Json::parse(text.beside.at("framework.json")), "");
  else if (!asked.lacks)
    return answer_under(asked, asked.devices);
  EXPECT_EQ(answer_under(asked, asked.devices)[0].items[0].first, "none")
      << "unknown software can do all: " << text.text;
  if (asked.lacks) {
    is_lacking.insert(*asked.lacks);
    framework.limits.reasons[static_cast<std::size_t>(*asked.lacks)] = "it came in 2031";
    expect_shipped_to_refuse(asked);
  }
  asked.devices.framework = &framework;
  asked.devices.lacks = framework.limits.bits();
  return answer_under(asked, asked.devices);
}

TEST(RuleCases, AreAsWritten) {
  for (const std::string& file : case_files("sim/rules/cases")) expect_cases(file, breaks);
  for (const RuleText& text : all_rules())
    EXPECT_TRUE(text.name == "memory_capacity" || broken.count(std::string(text.name)) > 0)
        << "no case breaks " << text.name;
  EXPECT_EQ(is_lacking.size(), kUnsupportedNames.size());
}

}  // namespace
}  // namespace meshwright::test
