// SPDX-License-Identifier: Apache-2.0
// meshwright model: the shipped models, and what one of them or a file is.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "app/commands/commands.h"
#include "app/console/exit_code.h"
#include "app/console/terminal.h"
#include "app/files/files.h"
#include "app/files/output_file.h"
#include "app/options/command.h"
#include "app/options/output.h"
#include "reports/records/listings.h"
#include "sim/base/number_text.h"
#include "sim/base/text.h"
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

std::string model_summary(const reports::ModelView& view) {
  const planner::ModelDescription& d = view.description;
  std::string text = fmt::format("{}: {} parameters", view.model.name, count_text(d.parameters));
  if (d.active_parameters != d.parameters) {
    text += fmt::format(", {} of them active for a token", count_text(d.active_parameters));
  }
  if (d.mtp_parameters > 0) {
    text += fmt::format("; multi-token prediction has {} more", count_text(d.mtp_parameters));
  }
  text += fmt::format(".\n{} layers of hidden size {}.\n", view.model.num_layers,
                      count_text(view.model.hidden_size));
  std::string cache;
  const auto keeps = [&](Bytes size, const char* of) {
    if (size > bytes(0))
      append_to_list(cache, "; ", fmt::format("{} bytes {}", number_text(size.value(), 12), of));
  };
  keeps(d.cache_per_token, "a token");
  keeps(d.window_cache_per_token, "a token within the window");
  keeps(d.state_per_sequence, "of states a sequence");
  if (!cache.empty()) text += fmt::format("Its cache in 16 bits takes {}.\n", cache);
  return text;
}

std::vector<reports::Table> model_tables(const reports::ModelView& view) {
  const planner::ModelDescription& d = view.description;
  reports::Table parts{
      "parameters by part",
      {{"part", "part", ""}, {"parameters", "parameters", ""}, {"share_percent", "share", "%", 3}},
      {}};
  for (const planner::ModelPart& part : d.parts) {
    const auto count = static_cast<double>(part.parameters);
    parts.rows.push_back({part.name, count, 100.0 * count / static_cast<double>(d.parameters)});
  }
  reports::Table layers{
      "layers by kind", {{"layers", "layers", ""}, {"mixer", "mixer", ""}, {"mlp", "MLP", ""}}, {}};
  for (const planner::AlikeLayers& kind : d.kinds) {
    layers.rows.push_back({static_cast<double>(kind.layers), kind.mixer, kind.mlp});
  }
  reports::Table flops{
      "forward FLOPs of a token, by the length of its sequence (mean; causal attention counts "
      "half)",
      {{"seq_length", "length", ""}, {"forward_gflop", "per token", "GFLOP", 4}},
      {}};
  for (const planner::TokenFlops& one : d.flops) {
    flops.rows.push_back({static_cast<double>(one.seq_length), one.forward.value() / 1e9});
  }
  return {named("parts", std::move(parts)), named("layers", std::move(layers)),
          named("flops", std::move(flops))};
}

int show_model(const std::string& model, const OutputOptions& output, const Call& call) {
  reports::ModelView view{call.origin(), {}, {}};
  view.model = load_model(model, &view.origin);
  view.description = planner::describe(view.model);
  const std::vector<reports::Table> tables = model_tables(view);
  if (output.format == Format::table) {
    write_file_atomically(output.out,
                          wrapped(model_summary(view)) + "\n" + tables_text(tables, Format::table));
  } else {
    write_output(output, tables, reports::model_view_record().write(view).dump(2) + "\n");
  }
  say_next({{"plan", "--model", model, "--cluster", "h100-8"}});
  return kDone;
}

}  // namespace

void add_model(Commands& commands) {
  auto output = std::make_shared<OutputOptions>();
  Command& command = commands.add("model", "The shipped models, and what a model is");
  command.options().require_subcommand(1);
  Command& list_command =
      commands.add_below(command, "list", "List the shipped models and their parameters");
  add_output_options(list_command, *output);
  list_command.runs([output](const Call& call) { return list_models(*output, call); });
  auto model = std::make_shared<std::string>();
  auto shown = std::make_shared<OutputOptions>();
  Command& show_command = commands.add_below(
      command, "show",
      "Parameters by part, layers by kind, bytes of the cache and FLOPs of a model");
  show_command
      .reads("model", *model,
             "Model: a file, a Hugging Face config.json, or a name from configs/models", "models")
      ->required();
  add_output_options(show_command, *shown);
  show_command.runs([model, shown](const Call& call) { return show_model(*model, *shown, call); });
}

}  // namespace meshwright::app
