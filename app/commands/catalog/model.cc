// SPDX-License-Identifier: Apache-2.0
// meshwright model: the shipped models.
#include <CLI/CLI.hpp>
#include <memory>

#include "app/commands/commands.h"
#include "app/console/exit_code.h"
#include "app/console/terminal.h"
#include "app/files/files.h"
#include "app/options/command.h"
#include "app/options/output.h"
#include "reports/records/listings.h"
#include "sim/block/parameters.h"

namespace meshwright::app {
namespace {

int list_models(const OutputOptions& output, const Call& call) {
  reports::Table table{"",
                       {{"model", "model", ""},
                        {"name", "name", ""},
                        {"billion_parameters", "parameters", "10^9"},
                        {"num_layers", "layers", ""},
                        {"hidden_size", "hidden size", ""},
                        {"num_attention_heads", "heads", ""}},
                       {}};
  reports::ModelList list{call.origin(), {}};
  for (const std::string& file : config_names("models")) {
    const Model& m = list.models.emplace_back(reports::ListedModel{file, load_model(file)}).model;
    table.rows.push_back({file, m.name, static_cast<double>(total_parameters(m)) / 1e9,
                          static_cast<double>(m.num_layers), static_cast<double>(m.hidden_size),
                          static_cast<double>(m.num_attention_heads)});
  }
  write_output(output, {table}, reports::model_list_record().write(list).dump(2) + "\n");
  say_next({{"plan", "--model", "llama-3-8b", "--cluster", "h100-8"}});
  return kDone;
}

}  // namespace

void add_model(Commands& commands) {
  auto output = std::make_shared<OutputOptions>();
  Command& command = commands.add("model", "List the shipped models");
  command.options().require_subcommand(1);
  Command& list_command =
      commands.add_below(command, "list", "List the shipped models and their parameters");
  add_output_options(list_command, *output);
  list_command.runs([output](const Call& call) { return list_models(*output, call); });
}

}  // namespace meshwright::app
