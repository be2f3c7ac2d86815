// SPDX-License-Identifier: Apache-2.0
// What is shipped obeys the schemas that are shipped, and the program prints them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "tests/unit/app/run_program.h"

namespace meshwright::test {
namespace {

using testing::HasSubstr;

bool obeys(const nlohmann::json& schema_text, const nlohmann::json& json) {
  valijson::Schema schema;
  valijson::SchemaParser(valijson::SchemaParser::kDraft7)
      .populateSchema(valijson::adapters::NlohmannJsonAdapter(schema_text), schema);
  valijson::Validator validator;
  return validator.validate(schema, valijson::adapters::NlohmannJsonAdapter(json), nullptr);
}

nlohmann::json printed(const std::string& name) {
  const ProgramResult result = run_program({"schema", name});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return nlohmann::json::parse(result.out);
}

nlohmann::json file_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

struct Kind {
  const char *schema, *folder;
};
constexpr Kind kKinds[] = {{"model", "models"},
                           {"cluster", "clusters"},
                           {"device", "hardware"},
                           {"job", "jobs"},
                           {"framework", "frameworks"}};

TEST(Schema, EveryShippedFileObeysItsOwn) {
  for (const Kind& kind : kKinds) {
    const nlohmann::json schema = printed(kind.schema);
    for (const auto& entry : std::filesystem::directory_iterator(config(kind.folder))) {
      if (entry.path().extension() != ".json") continue;
      const nlohmann::json json = file_json(entry.path());
      if (json.contains("model_type")) continue;  // Hugging Face's
      EXPECT_TRUE(obeys(schema, json)) << entry.path();
      nlohmann::json more = json;
      more["a_key_of_tomorrow"] = 1;
      EXPECT_FALSE(obeys(schema, more)) << entry.path();
    }
  }
}

TEST(Schema, NamesAreListedAndNearOnesSuggested) {
  EXPECT_THAT(run_program({"schema"}).out, HasSubstr("layout\n"));
  const ProgramResult wrong = run_program({"schema", "modle"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("model"));
}

}  // namespace
}  // namespace meshwright::test
