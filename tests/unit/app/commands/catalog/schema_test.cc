// SPDX-License-Identifier: Apache-2.0
// What is shipped obeys the schemas that the program prints, and these agree with the readers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "app/files/files.h"
#include "calibrate/profile/profile_json.h"
#include "planner/capacity/options_json.h"
#include "sim/json/input_records.h"
#include "tests/paths.h"
#include "tests/unit/app/run_program.h"
#include "tests/unit/schema_check.h"

namespace meshwright::test {
namespace {

using app::load_cluster;
using app::load_framework;
using app::load_job;
using app::load_model;

using testing::HasSubstr;

bool obeys(const Json& schema, const Json& json) { return complaint_of(schema, json).empty(); }

Json printed(const std::string& name) {
  const ProgramResult result = run_program({"schema", name});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return Json::parse(result.out);
}

Json document_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return Json::parse(file);
}

struct Kind {
  const char *schema, *folder;
};
constexpr Kind kKinds[] = {{"model", "models"},         {"cluster", "clusters"},
                           {"device", "hardware"},      {"job", "jobs"},
                           {"framework", "frameworks"}, {"prices", "prices"},
                           {"accuracy", "accuracy"},    {"measurements", "datasets"}};

// A Hugging Face model, or the map of a table's columns.
bool has_no_schema(const Json& json) {
  return json.contains("model_type") || json.contains("columns");
}

TEST(Schema, EveryShippedFileObeysItsOwn) {
  for (const Kind& kind : kKinds) {
    const Json schema = printed(kind.schema);
    for (const auto& entry : std::filesystem::directory_iterator(config(kind.folder))) {
      if (entry.path().extension() != ".json") continue;
      const Json json = document_of(entry.path());
      if (has_no_schema(json)) continue;
      EXPECT_TRUE(obeys(schema, json)) << entry.path();
      Json more = json;
      more["a_key_of_tomorrow"] = 1;
      EXPECT_FALSE(obeys(schema, more)) << entry.path();
    }
  }
}

TEST(Schema, AProfileObeysItsOwn) {
  const Json schema = printed("profile");
  Json profile =
      document_of(std::string(MESHWRIGHT_SOURCE_DIR) + "/tests/hostile/data/profile.json");
  EXPECT_TRUE(obeys(schema, profile));
  profile["measurements"][0]["kind"] = "guess";
  EXPECT_FALSE(obeys(schema, profile));
}

struct Answer {
  std::string schema;
  std::vector<std::string> call;
  int exit_code = 0;
};

TEST(Schema, AnAnswerObeysItsOwn) {
  const auto launch = [](const std::string& name) {
    return std::string(MESHWRIGHT_SOURCE_DIR) + "/tests/unit/app/launches/" + name;
  };
  const std::vector<Answer> answers{
      {"model_list", {"model", "list"}},
      {"model_view", {"model", "show", "deepseek-v3"}},
      {"cluster_list", {"cluster", "list"}},
      {"cluster_view", {"cluster", "show", "h100-512", "--group", "tensor=8,pipeline=4"}},
      {"volume", {"volume", "--model", "deepseek-v3", "--layout", "tp=8,ep=8,etp=1,dp=8,mbs=1,sp"}},
      {"estimate",
       {"estimate", "--model", "llama-3-8b", "--cluster", "h100-8", "--layout", "tp=8,mbs=1"}},
      {"estimate",
       {"estimate", "--model", "llama-3-70b", "--cluster", "h100-8", "--layout", "tp=8,mbs=1"},
       1},
      {"review",
       {"review", "--from", launch("gpt3-175b.sh"), "--log", launch("gpt3-175b.log"), "--cluster",
        "hgx-h100-400g"}},
      {"review",
       {"review", "--from", launch("finetune.sh"), "--model", "gpt3-175b", "--gpus", "8",
        "--cluster", "l40s-8"},
       1}};
  for (const Answer& answer : answers) {
    std::vector<std::string> call = answer.call;
    call.insert(call.end(), {"--format", "json"});
    const ProgramResult result = run_program(call);
    ASSERT_EQ(result.exit_code, answer.exit_code) << answer.schema << ": " << result.err;
    const Json schema = printed(answer.schema);
    Json json = Json::parse(result.out);
    EXPECT_EQ(complaint_of(schema, json), "") << answer.schema;
    json["a_key_of_tomorrow"] = 1;
    EXPECT_FALSE(obeys(schema, json)) << answer.schema;
  }
}

// Every number whose description calls it a share, or whose key does, ends at the whole.
int check_fractions(const Json& schema, const std::string& place) {
  int found = 0;
  if (schema.is_object() && schema.contains("properties")) {
    for (const auto& [key, value] : schema["properties"].items()) {
      const Json& number = value.contains("anyOf") ? value["anyOf"][0] : value;
      const bool is_number = number.value("type", Json()) == "number";
      const std::string about = value.value("description", std::string());
      const bool names_share = key.ends_with("_fraction") || key.ends_with("_share") ||
                               key.ends_with("efficiency") || key.ends_with("quantization") ||
                               key.ends_with("goodput") || key.ends_with("utilization");
      const bool is_share = names_share || about.starts_with("Share ");
      if (!is_number || !is_share) continue;
      ++found;
      // Reduction in the switch: bus bandwidth counts what the link carries once as two.
      const double most = key == "sharp_bandwidth_fraction" ? 2.0 : 1.0;
      EXPECT_LE(number.value("maximum", 1e300), most) << place << "/" << key;
    }
  }
  if (schema.is_structured()) {
    for (const auto& [key, value] : schema.items())
      found += check_fractions(value, place + "/" + key);
  }
  return found;
}

TEST(Schema, EveryFractionEndsAtTheWhole) {
  for (const Kind& kind : kKinds) check_fractions(printed(kind.schema), kind.schema);
  EXPECT_GE(check_fractions(printed("cluster"), "cluster"), 12);
  EXPECT_GE(check_fractions(printed("job"), "job"), 6);
}

TEST(Schema, AFractionAboveTheWholeIsNamedWithItsPlace) {
  const TemporaryFolder folder;
  Json cluster = document_of(config("clusters/h100-8.json"));
  cluster["inter_node"]["bandwidth_fraction"] = 2.0;
  const std::string file = folder.write("c.json", cluster.dump());
  const ProgramResult result = run_program({"cluster", "show", file});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err,
              HasSubstr("/inter_node/bandwidth_fraction: must be a number from 0 to 1"));
}

// Every key that the reader of "capacity" knows, once; one more is none.
TEST(Schema, CapacityIsDescribedInFull) {
  const Json schema = printed("job");
  Json job = Json::parse(R"({"capacity": {
    "model": "m", "clusters": ["c"], "gpus": [8], "global_batch_sizes": [64], "prices": "p",
    "failures": {"per_thousand_node_days": {"value": 4, "low": 2, "high": 6, "basis": "measured",
                 "source": "s"}, "detection_seconds": 1, "restart_seconds": 1, "repair_days": 1,
                 "spares_target": 0.9, "independent_replicas": 2, "catch_up_seconds": 1},
    "checkpoint": {"asynchronous": true, "pause_seconds": 1, "storage_gb_per_s_per_node": 1,
                   "with_16_bit_weights": true, "persist_seconds": 1, "load_seconds": 1,
                   "interval_seconds": 1},
    "power": {"kilowatts_per_gpu": 1, "node_over_devices": 1, "share_of_rating": 1, "pue": 1,
              "kg_co2_per_kwh": 1},
    "limits": {"deadline_days": 1, "budget": 1, "max_megawatts": 1, "max_gpus": 8},
    "schedule": [{"until_tokens": 1e9, "global_batch_size": 8, "seq_length": 64},
                 {"global_batch_size": 16, "seq_length": 64}],
    "evaluation_share": 0.01}})");
  EXPECT_TRUE(obeys(schema, job));
  EXPECT_NO_THROW(planner::capacity_section(job, "job.json"));
  for (const char* part :
       {"/capacity", "/capacity/failures", "/capacity/checkpoint", "/capacity/power",
        "/capacity/limits", "/capacity/schedule/0", "/capacity/failures/per_thousand_node_days"}) {
    Json more = job;
    more[Json::json_pointer(part)]["a_key_of_tomorrow"] = 1;
    EXPECT_FALSE(obeys(schema, more)) << part;
    EXPECT_ANY_THROW(planner::capacity_section(more, "job.json")) << part;
  }
}

// Pointers of all values below `json`.
std::vector<Json::json_pointer> places(const Json& json) {
  std::vector<Json::json_pointer> found;
  const Json flat = json.flatten();
  for (const auto& item : flat.items()) found.emplace_back(item.key());
  return found;
}

// A value that the schema refuses is refused by the reader, too: an editor that follows the schema
// never forbids what the program reads. (The reader knows rules between keys, which no schema has.)
template <typename T>
void expect_schema_allows_what_is_read(const Record<T>& record, const T& shipped) {
  const Json good = record.write(shipped);
  const nlohmann::json schema = record.schema("a record");
  ASSERT_TRUE(obeys(schema, good));
  const std::vector<Json> tokens{true, "", "8", Json::array(), Json::object(), -1, 0, 0.5, 3, 1e13};
  int read = 0, refused = 0;
  std::size_t turn = 0;
  for (const Json::json_pointer& place : places(good)) {
    for (std::size_t i = 0; i < tokens.size(); i += 2) {
      Json changed = good;
      changed[place] = tokens[(i + turn) % tokens.size()];
      bool is_read = true;
      try {
        static_cast<void>(record.read(changed, "changed.json"));
      } catch (const InputError&) {
        is_read = false;
      }
      (is_read ? read : refused) += 1;
      EXPECT_TRUE(!is_read || obeys(schema, changed)) << place << " " << changed[place];
    }
    ++turn;
  }
  EXPECT_GT(read, 0);
  EXPECT_GT(refused, read);
}

TEST(Schema, WhatIsReadIsAllowedByTheSchema) {
  expect_schema_allows_what_is_read(model_record(), load_model("deepseek-v3"));
  expect_schema_allows_what_is_read(job_record(), load_job("llama-3-405b"));
  expect_schema_allows_what_is_read(layout_record(), Layout{});
  const Cluster cluster = load_cluster("h100-512");
  expect_schema_allows_what_is_read(link_record(), cluster.inter_node);
  expect_schema_allows_what_is_read(device_record(), cluster.device);
  expect_schema_allows_what_is_read(framework_record(), load_framework("megatron-core-2026"));
}

TEST(Schema, EveryListedNameIsASchema) {
  std::istringstream list(run_program({"schema"}).out);
  int found = 0;
  for (std::string line; std::getline(list, line); ++found) {
    const std::string name = line.substr(0, line.find(' '));
    const Json schema = printed(name);
    EXPECT_EQ(schema["title"], "meshwright " + name);
    EXPECT_FALSE(schema["properties"].empty()) << name;
  }
  EXPECT_GE(found, 17);
}

TEST(Schema, NamesAreListedAndNearOnesSuggested) {
  EXPECT_THAT(run_program({"schema"}).out, HasSubstr("\nlayout "));
  const ProgramResult wrong = run_program({"schema", "modle"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("model"));
}

}  // namespace
}  // namespace meshwright::test
