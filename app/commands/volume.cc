// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "app/commands/commands.h"
#include "app/console/exit_code.h"
#include "app/console/terminal.h"
#include "app/files/files.h"
#include "app/files/output_file.h"
#include "app/options/command.h"
#include "app/options/inputs.h"
#include "app/options/output.h"
#include "app/options/question.h"
#include "reports/records/volume_answer.h"
#include "reports/tables/tables.h"
#include "sim/base/error.h"
#include "sim/layout/short_name.h"
#include "sim/rules/rules.h"

namespace meshwright::app {
namespace {

struct VolumeOptions {
  InputOptions inputs;
  OutputOptions output;
  std::string layout;
  int stage = -1;  // the busiest
};

// Table of the ledger. The link of a group depends on the cluster, which may be missing.
reports::Table ledger(const StageVolume& stage, const Layout& layout, const Inputs& inputs) {
  reports::Table table = reports::volume_table(stage, layout, inputs.cluster);
  if (inputs.has_cluster) return table;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    if (table.columns[column].key != "tier") continue;
    for (auto& row : table.rows) row[column] = {};
  }
  return table;
}

std::string verdict(const PublishedOrders& orders) {
  const bool holds = orders.tensor_exceeds_data && orders.data_exceeds_pipeline;
  return fmt::format(
      "The rule of thumb TP > DP > PP {} here: TP {} DP, DP {} PP, in bytes that one "
      "rank sends per step.\n",
      holds ? "holds" : "does not hold",
      orders.tensor_exceeds_data ? ">" : "<=", orders.data_exceeds_pipeline ? ">" : "<=");
}

int run_volume(const VolumeOptions& options, const Call& call) {
  reports::Origin origin = call.origin();
  Inputs inputs = load_inputs(options.inputs, &origin);
  const Layout layout = layout_on(inputs, options.inputs, options.layout);
  const Model& model = inputs.model;
  const Job& job = inputs.job;
  Devices devices;
  if (inputs.has_cluster) devices.formats = formats_of(only_device(inputs.cluster));
  if (const auto violation = check_layout(model, job, layout, devices)) {
    throw InputError(layout_source(options.layout), "",
                     describe(*violation, model, job, layout, devices),
                     std::string(rule_text(violation->rule).remedy));
  }
  const Volume all = volume(model, job_under(job, inputs.cluster.framework), layout);
  if (options.stage >= static_cast<int>(all.stages.size())) {
    throw InputError("--stage", "",
                     fmt::format("must be 0 to {} (got {})", all.stages.size() - 1, options.stage));
  }
  const StageVolume& stage =
      options.stage < 0 ? all.busiest() : all.stages[static_cast<std::size_t>(options.stage)];
  const PublishedOrders orders = published_orders(model, job, layout);
  const std::vector<reports::Table> tables{named("transfers", ledger(stage, layout, inputs)),
                                           named("orders", reports::orders_table(orders))};
  if (options.output.format == Format::json) {
    const reports::VolumeAnswer answer{origin, model, job, inputs.defaults, layout, all, orders};
    write_file_atomically(options.output.out,
                          reports::volume_answer_record().write(answer).dump(2) + "\n");
  } else if (options.output.format == Format::table) {
    const std::string head = fmt::format(
        "{} with {}: bytes that one rank of stage {} (of {}) sends in a step of {} x "
        "{} tokens.\n\n",
        model.name, short_name(layout), stage.stage, all.stages.size(), job.global_batch_size,
        job.seq_length);
    write_file_atomically(options.output.out, wrapped(question_text(inputs) + head) +
                                                  tables_text(tables, Format::table) + "\n" +
                                                  wrapped(verdict(orders)));
  } else {
    write_output(options.output, tables, "");
  }
  if (!inputs.has_cluster) {
    say("With --cluster NAME, meshwright estimate predicts the time of this layout.\n");
    say_next({{"cluster", "list"}});
  } else {
    CostTable table(inputs);
    const Evaluation evaluation = evaluate(table, layout, MemoryLimit::reported);
    if (!evaluation.violation) say_next(call.as("estimate", is_input_option));
  }
  return kDone;
}

}  // namespace

void add_volume(Commands& commands) {
  auto options = std::make_shared<VolumeOptions>();
  Command& command =
      commands.add("volume",
                   "Print every collective of one layout with its bytes, compared with published "
                   "orders of magnitude");
  add_input_options(command, options->inputs, false);
  command
      .reads("--layout", options->layout,
             "Layout: a file, or text such as tp=8,pp=4,dp=2,mbs=1,sp,zero=1,recompute=full")
      ->required();
  command.options().add_option("--stage", options->stage,
                               "Pipeline stage to show. Default: the stage that sends the most");
  add_output_options(command, options->output);
  command.runs([options](const Call& call) { return run_volume(*options, call); });
}

}  // namespace meshwright::app
