// SPDX-License-Identifier: Apache-2.0
// meshwright schema NAME: the JSON Schema of a file that the program reads.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <memory>

#include "app/command.h"
#include "app/commands/commands.h"
#include "app/program.h"
#include "app/terminal.h"
#include "calibrate/profile/profile_json.h"
#include "planner/capacity/options_json.h"
#include "sim/base/error.h"
#include "sim/json/input_records.h"
#include "sim/record/reader.h"

namespace meshwright::app {
namespace {

struct FileKind {
  const char* name;
  Json (*schema)();
};

// A job file may ask for a capacity plan, which sim does not know.
Json job_schema() {
  Json schema = job_record().schema("meshwright job");
  schema["properties"]["capacity"] = planner::capacity_record().schema();
  return schema;
}

constexpr std::array kFileKinds{
    FileKind{"cluster", [] { return cluster_record().schema("meshwright cluster"); }},
    FileKind{"device", [] { return device_record().schema("meshwright device"); }},
    FileKind{"framework", [] { return framework_record().schema("meshwright framework"); }},
    FileKind{"job", job_schema},
    FileKind{"layout", [] { return layout_record().schema("meshwright layout"); }},
    FileKind{"model", [] { return model_record().schema("meshwright model"); }},
    FileKind{"prices", [] { return planner::prices_record().schema("meshwright prices"); }},
    FileKind{"profile", [] { return calibrate::profile_record().schema("meshwright profile"); }}};

int run_schema(const std::string& name) {
  std::vector<std::string> names;
  for (const FileKind& kind : kFileKinds) {
    if (name == kind.name) {
      print_text(kind.schema().dump(1) + "\n");
      return kDone;
    }
    names.emplace_back(kind.name);
  }
  if (!name.empty()) {
    throw InputError("schema", "",
                     fmt::format("must be one of {}, is \"{}\"", fmt::join(names, ", "), name),
                     nearest(name, names));
  }
  for (const std::string& each : names) print("{}\n", each);
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
