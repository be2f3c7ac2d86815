// SPDX-License-Identifier: Apache-2.0
#include "reports/records/capacity.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string_view>

#include "app/commands/capacity_text.h"
#include "app/commands/commands.h"
#include "app/commands/shared_capacity.h"
#include "app/console/exit_code.h"
#include "app/console/terminal.h"
#include "app/options/capacity_options.h"
#include "app/options/command.h"
#include "app/options/output.h"
#include "planner/capacity/capacity_answer.h"
#include "reports/tables/capacity_tables.h"
#include "reports/text/text.h"
#include "sim/layout/short_name.h"

namespace meshwright::app {
namespace {

struct CapacityOptions {
  CapacityTexts texts;
  OutputOptions output;
};

void write_answer(const CapacityOptions& options, const planner::CapacityQuestion& question,
                  const reports::CapacityFile& file) {
  const std::string json = reports::capacity_file_record().write(file).dump(2) + "\n";
  const DeviceKind kind = question.device_kind();
  const bool shown = write_answer_file(options.output, json);
  if (options.output.format == Format::table) {
    const std::string tokens = question.train_tokens
                                   ? reports::si_text(*question.train_tokens) + " tokens"
                                   : "no training length";
    print("{}",
          wrapped(fmt::format("{}, {}, {} tokens per sequence, {}\n", question.model.name, tokens,
                              reports::count_text(question.clusters.front().job.seq_length),
                              name_of(question.clusters.front().job.precision))));
    print_capacity(file.capacity, kind);
    print_capacity_basis(file.capacity, kind);
    for (const std::string& note : file.notes) print_text(wrapped("note: " + note + "\n"));
  } else if (shown) {
    write_output(options.output.to_standard_output(),
                 {reports::capacity_table(file.capacity, kind, true)}, json);
  }
}

// The plan of a row, or the estimate of the layout that was named for it: its own GPUs, batch and
// sequence length, and all else as it was asked.
Call next_of(const CapacityOptions& options, const planner::CapacityQuestion& question,
             const planner::CapacityRow& row, const Call& call) {
  constexpr std::array<std::string_view, 5> kOfTheGrid{"--cluster", "--gpus", "--global-batch-size",
                                                       "--layout", "--seq-length"};
  constexpr std::array<std::string_view, 6> kOfCapacity{
      "--max-gpus", "--fixed-gpus", "--fixed-batch", "--rows-only", "--out", "--format"};
  const bool named = !question.layouts.empty();
  const auto is_in = [](const auto& names, const std::string& option) {
    return std::find(names.begin(), names.end(), option) != names.end();
  };
  Call next = call.as(named ? "estimate" : "plan", [&](const std::string& option) {
    if (is_in(kOfTheGrid, option) || is_in(kOfCapacity, option)) return false;
    return !named || is_input_option(option);
  });
  if (options.texts.inputs.model.empty()) next = next.with({"--model", question.model_file});
  const int batch = row.scheduled ? row.global_batch_size : row.asked_batch_size;
  next = next.with({"--cluster", question.clusters[row.cluster_case].file, "--gpus",
                    std::to_string(row.gpus), "--global-batch-size", std::to_string(batch),
                    "--seq-length", std::to_string(row.seq_length)});
  return named ? next.with({"--layout", short_name(row.main_phase().estimate.layout)}) : next;
}

int run_capacity(const CapacityOptions& options, const Call& call) {
  reports::Origin origin = call.origin();
  const CapacityRequest request = capacity_request_of(options.texts, origin);
  if (request.service) {
    return run_shared_capacity({request, options.texts, options.output}, origin);
  }
  const planner::CapacityQuestion& question = request.question;
  const auto begin = std::chrono::steady_clock::now();
  const planner::CapacityAnswer answer = planner::capacity_answer(
      question, !options.texts.rows_only, [](std::size_t done, std::size_t total) {
        show_progress(fmt::format("capacity: {} of {} searches", done, total));
      });
  show_progress("");
  const double elapsed =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  say("{} rows in {} s.\n", answer.rows.size(), number_text(elapsed, 3));
  write_answer(options, question,
               reports::capacity_file_of(answer, origin, capacity_command(call)));
  if (!answer.recommendation.cheapest) return kGateFailed;
  const planner::CapacityRow& row = *answer.front();
  say_next(next_of(options, question, row, call));
  return kDone;
}

}  // namespace

void add_capacity(Commands& commands) {
  auto options = std::make_shared<CapacityOptions>();
  Command& command = commands.add(
      "capacity", "Compare clusters, GPU counts and batches by days, cost, energy and goodput");
  add_capacity_options(command, options->texts);
  add_output_options(command, options->output);
  command.runs([options](const Call& call) { return run_capacity(*options, call); });
}

}  // namespace meshwright::app
