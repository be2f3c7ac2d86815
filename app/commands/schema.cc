// SPDX-License-Identifier: Apache-2.0
// meshwright schema NAME: the JSON Schema of a file that the program reads or writes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <memory>

#include "app/commands/commands.h"
#include "app/console/exit_code.h"
#include "app/console/terminal.h"
#include "app/options/command.h"
#include "calibrate/profile/profile_json.h"
#include "planner/accuracy/accuracy_list.h"
#include "planner/accuracy/measured_set_json.h"
#include "planner/capacity/options_json.h"
#include "reports/records/backtest.h"
#include "reports/records/capacity.h"
#include "reports/records/cluster_view.h"
#include "reports/records/comparison.h"
#include "reports/records/estimate_answer.h"
#include "reports/records/listings.h"
#include "reports/records/plan_diff.h"
#include "reports/records/plan_file.h"
#include "reports/records/report.h"
#include "reports/records/review.h"
#include "reports/records/serving_answer.h"
#include "reports/records/trials.h"
#include "reports/records/validation.h"
#include "reports/records/volume_answer.h"
#include "reports/trace/trace.h"
#include "sim/base/error.h"
#include "sim/json/input_records.h"
#include "sim/json/serving_records.h"
#include "sim/record/reader.h"

namespace meshwright::app {
namespace {

struct FileKind {
  std::string_view name, about;
  Json (*schema)(std::string_view title);
};

template <auto kRecord>
Json schema_of(std::string_view title) {
  return kRecord().schema(title);
}

// A job file may ask for a capacity plan, which sim does not know.
Json job_schema(std::string_view title) {
  Json schema = job_record().schema(title);
  schema["properties"]["capacity"] = planner::capacity_record().schema();
  return schema;
}

constexpr std::array kFileKinds{
    FileKind{"accuracy", "Sets of measured runs and the errors that they may have",
             schema_of<planner::accuracy_list_record>},
    FileKind{"cluster", "Nodes, their devices and links", schema_of<cluster_record>},
    FileKind{"device", "What one device can do", schema_of<device_record>},
    FileKind{"engine", "What an inference engine's version does by default",
             schema_of<engine_record>},
    FileKind{"framework", "What a training framework costs and cannot do",
             schema_of<framework_record>},
    FileKind{"job", "Lengths, batch, number formats, training length", job_schema},
    FileKind{"layout", "How a model is cut over devices", schema_of<layout_record>},
    FileKind{"measurements", "Measured runs", schema_of<planner::measured_set_record>},
    FileKind{"model", "A transformer's sizes", schema_of<model_record>},
    FileKind{"prices", "Of a GPU hour and of energy", schema_of<planner::prices_record>},
    FileKind{"profile", "What calibrate measured", schema_of<calibrate::profile_record>},
    FileKind{"backtest", "What backtest --format json prints",
             schema_of<reports::backtest_file_record>},
    FileKind{"capacity", "What capacity writes", schema_of<reports::capacity_file_record>},
    FileKind{"cluster_list", "What cluster list --format json prints",
             schema_of<reports::cluster_list_record>},
    FileKind{"cluster_view", "What cluster show --format json prints",
             schema_of<reports::cluster_view_record>},
    FileKind{"comparison", "What report --compare writes beside its page",
             schema_of<reports::comparison_record>},
    FileKind{"diff", "What diff --format json prints", schema_of<reports::diff_file_record>},
    FileKind{"estimate", "What estimate --format json prints",
             schema_of<reports::estimate_answer_record>},
    FileKind{"model_list", "What model list --format json prints",
             schema_of<reports::model_list_record>},
    FileKind{"picks", "What backtest --picks --format json prints",
             schema_of<reports::picks_file_record>},
    FileKind{"plan", "What plan writes", schema_of<reports::plan_file_record>},
    FileKind{"report", "What report writes beside its page", schema_of<reports::report_record>},
    FileKind{"review", "What review --format json prints", schema_of<reports::review_record>},
    FileKind{"serve_estimate", "What serve estimate --format json prints",
             schema_of<reports::serving_answer_record>},
    FileKind{"trace", "What estimate --trace and trial --trace write", reports::trace_schema},
    FileKind{"trials", "What trial writes", schema_of<reports::trials_record>},
    FileKind{"validation", "What validate writes", schema_of<reports::validation_file_record>},
    FileKind{"volume", "What volume --format json prints",
             schema_of<reports::volume_answer_record>}};

int run_schema(const std::string& name) {
  std::vector<std::string> names;
  for (const FileKind& kind : kFileKinds) {
    if (name == kind.name) {
      print_text(kind.schema(fmt::format("meshwright {}", name)).dump(1) + "\n");
      return kDone;
    }
    names.emplace_back(kind.name);
  }
  if (!name.empty()) {
    throw InputError("schema", "",
                     fmt::format("must be one of {}, is \"{}\"", fmt::join(names, ", "), name),
                     nearest(name, names));
  }
  for (const FileKind& kind : kFileKinds) print("{:<12} {}\n", kind.name, kind.about);
  return kDone;
}

}  // namespace

void add_schema(Commands& commands) {
  auto name = std::make_shared<std::string>();
  Command& command =
      commands.add("schema", "JSON Schemas of what is read and written: model, plan, report ...");
  command.options().add_option("name", *name, "Which; default: a list of all");
  command.runs([name](const Call&) { return run_schema(*name); });
}

}  // namespace meshwright::app
