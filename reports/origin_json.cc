// SPDX-License-Identifier: Apache-2.0
#include "reports/origin_json.h"

#include <fmt/format.h>

#include "sim/record/reader.h"

namespace meshwright::reports {

Json artefact(std::string_view schema, const Origin& origin) {
  Json inputs = Json::array();
  for (const InputFile& input : origin.inputs) {
    inputs.push_back({{"name", input.name}, {"file", input.file}, {"sha256", input.sha256}});
  }
  return {{"schema", schema},
          {"tool_version", origin.tool_version},
          {"command", origin.command},
          {"inputs", std::move(inputs)}};
}

Origin origin_from_json(const Json& json, const std::string& file) {
  ObjectReader reader(json, file);
  Origin origin{.tool_version = reader.optional_string("tool_version", ""),
                .command = reader.optional_string("command", ""),
                .inputs = {}};
  if (!reader.has("inputs")) return origin;
  const Json& inputs = reader.required_array("inputs");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ObjectReader input(inputs[i], file, fmt::format("/inputs/{}", i));
    origin.inputs.push_back({.name = input.required_string("name"),
                             .file = input.required_string("file"),
                             .sha256 = input.required_string("sha256")});
  }
  return origin;
}

void require_schema(const Json& json, const std::string& file, std::string_view schema) {
  ObjectReader reader(json, file);
  const std::string found = reader.optional_string("schema", "");
  if (found == schema) return;
  reader.fail("schema", fmt::format("must be \"{}\", is \"{}\"", schema, found));
}

}  // namespace meshwright::reports
