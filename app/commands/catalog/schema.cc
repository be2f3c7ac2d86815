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
#include "planner/shared_cluster/service_options_json.h"
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
#include "reports/records/serving_backtest.h"
#include "reports/records/serving_plan.h"
#include "reports/records/serving_review.h"
#include "reports/records/serving_trace.h"
#include "reports/records/serving_trials.h"
#include "reports/records/shared_capacity.h"
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

// A job file may ask for a capacity plan and hold a service, which sim does not know.
Json job_schema(std::string_view title) {
  Json schema = job_record().schema(title);
  schema["properties"]["capacity"] = planner::capacity_record().schema();
  schema["properties"]["service"] = planner::service_record().schema();
  return schema;
}

constexpr std::array kFileKinds{
    FileKind{"accuracy", "List of data sets with error limits",
             schema_of<planner::accuracy_list_record>},
    FileKind{"cluster", "Nodes, their devices and links", schema_of<cluster_record>},
    FileKind{"device", "Rates and sizes of one device", schema_of<device_record>},
    FileKind{"engine", "Defaults and limits of an inference engine's version",
             schema_of<engine_record>},
    FileKind{"framework", "Costs and unsupported features of training software",
             schema_of<framework_record>},
    FileKind{"job", "Lengths, batch, number formats, training length", job_schema},
    FileKind{"layout", "Parallel layout of a training step", schema_of<layout_record>},
    FileKind{"measurements", "Measured runs", schema_of<planner::measured_set_record>},
    FileKind{"model", "Sizes of a transformer", schema_of<model_record>},
    FileKind{"prices", "Prices of GPU-hours and energy", schema_of<planner::prices_record>},
    FileKind{"profile", "Output of calibrate", schema_of<calibrate::profile_record>},
    FileKind{"backtest", "Output of backtest --format json",
             schema_of<reports::backtest_file_record>},
    FileKind{"capacity", "Output of capacity", schema_of<reports::capacity_file_record>},
    FileKind{"cluster_list", "Output of cluster list --format json",
             schema_of<reports::cluster_list_record>},
    FileKind{"cluster_view", "Output of cluster show --format json",
             schema_of<reports::cluster_view_record>},
    FileKind{"comparison", "JSON report of report --compare",
             schema_of<reports::comparison_record>},
    FileKind{"diff", "Output of diff --format json", schema_of<reports::diff_file_record>},
    FileKind{"estimate", "Output of estimate --format json",
             schema_of<reports::estimate_answer_record>},
    FileKind{"model_list", "Output of model list --format json",
             schema_of<reports::model_list_record>},
    FileKind{"model_view", "Output of model show --format json",
             schema_of<reports::model_view_record>},
    FileKind{"picks", "Output of backtest --picks --format json",
             schema_of<reports::picks_file_record>},
    FileKind{"plan", "What plan writes", schema_of<reports::plan_file_record>},
    FileKind{"report", "JSON report of report", schema_of<reports::report_record>},
    FileKind{"review", "Output of review --format json", schema_of<reports::review_record>},
    FileKind{"serve_estimate", "Output of serve estimate --format json",
             schema_of<reports::serving_answer_record>},
    FileKind{"serve_backtest", "Output of serve backtest --format json",
             schema_of<reports::serving_backtest_record>},
    FileKind{"serve_plan", "Output of serve --format json",
             schema_of<reports::serving_plan_record>},
    FileKind{"serve_review", "Output of review and serve read --format json, of a service",
             schema_of<reports::serving_review_record>},
    FileKind{"serve_simulation", "Output of serve simulate --format json",
             schema_of<reports::serving_simulation_record>},
    FileKind{"serve_trace", "Output of serve simulate --trace",
             schema_of<reports::serving_trace_record>},
    FileKind{"serve_trials", "What trial writes of a service",
             schema_of<reports::serving_trials_record>},
    FileKind{"serve_validation", "Output of validate of a service",
             schema_of<reports::serving_validation_record>},
    FileKind{"shared_capacity", "Output of capacity for a job with a service",
             schema_of<reports::shared_capacity_file_record>},
    FileKind{"trace", "Output of estimate --trace and trial --trace", reports::trace_schema},
    FileKind{"trials", "What trial writes", schema_of<reports::trials_record>},
    FileKind{"validation", "Output of validate", schema_of<reports::validation_file_record>},
    FileKind{"volume", "Output of volume --format json", schema_of<reports::volume_answer_record>}};

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
                     fmt::format("must be one of {} (got \"{}\")", fmt::join(names, ", "), name),
                     did_you_mean(name, names));
  }
  for (const FileKind& kind : kFileKinds) print("{:<12} {}\n", kind.name, kind.about);
  return kDone;
}

}  // namespace

void add_schema(Commands& commands) {
  auto name = std::make_shared<std::string>();
  Command& command = commands.add("schema", "Print the JSON Schema of an input or output file");
  command.options().add_option("name", *name, "Schema to print. Default: list all names");
  command.runs([name](const Call&) { return run_schema(*name); });
}

}  // namespace meshwright::app
