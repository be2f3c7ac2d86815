// SPDX-License-Identifier: Apache-2.0
// meshwright schema NAME: the JSON Schema of a file that the program reads.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "app/command.h"
#include "app/commands/commands.h"
#include "app/config_names.h"
#include "app/files.h"
#include "app/program.h"
#include "app/terminal.h"
#include "sim/base/error.h"
#include "sim/json/reader.h"

namespace meshwright::app {
namespace {

constexpr std::string_view kEnding = ".schema";

std::vector<std::string> schema_names() {
  std::vector<std::string> names = config_names("schema");
  std::erase_if(names, [](const std::string& name) { return !name.ends_with(kEnding); });
  for (std::string& name : names) name.resize(name.size() - kEnding.size());
  return names;
}

int run_schema(const std::string& name) {
  const std::vector<std::string> names = schema_names();
  if (name.empty()) {
    for (const std::string& each : names) print("{}\n", each);
    return kDone;
  }
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw InputError("schema", "",
                     fmt::format("must be one of {}, is \"{}\"", fmt::join(names, ", "), name),
                     nearest(name, names));
  }
  print_text(read_text_file(find_config(name + std::string(kEnding), "schema")));
  return kDone;
}

}  // namespace

void add_schema(Commands& commands) {
  auto name = std::make_shared<std::string>();
  Command& command =
      commands.add("schema", "JSON Schemas of what is read: model, cluster, job ...");
  command.options().add_option("name", *name, "Which; default: their names");
  command.runs([name](const Call&) { return run_schema(*name); });
}

}  // namespace meshwright::app
