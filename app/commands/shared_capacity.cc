// SPDX-License-Identifier: Apache-2.0
#include "app/commands/shared_capacity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>

#include "app/commands/answers_text.h"
#include "app/console/call.h"
#include "app/console/exit_code.h"
#include "app/console/terminal.h"
#include "app/options/shared_capacity_question.h"
#include "reports/tables/shared_capacity_tables.h"
#include "reports/text/text.h"
#include "sim/base/number_text.h"
#include "sim/hardware/device_noun.h"

namespace meshwright::app {
namespace {

std::string price_note(const reports::SharedCapacity& capacity) {
  if (!capacity.prices) return "";
  return fmt::format("Prices: {} of {}{}.\n", capacity.prices->name, capacity.prices->date,
                     capacity.prices->example ? ", an example, not an offer" : "");
}

std::string basis_text(const reports::SharedCapacity& capacity) {
  return wrapped(fmt::format("  rules: {}.\n  assumed: {}.\n  not included: {}.\n",
                             fmt::join(capacity.rules, "; "), fmt::join(capacity.assumptions, "; "),
                             fmt::join(capacity.not_included, "; ")));
}

void print_shared(const reports::SharedCapacityFile& file) {
  const reports::SharedCapacity& capacity = file.shared_capacity;
  print("{}", wrapped(fmt::format("{} trained on {} tokens, and {} served by {}\n", file.model.name,
                                  reports::si_text(capacity.train_tokens), file.service.model,
                                  file.service.engine)));
  print_paragraph({capacity.headline, wrapped(capacity.verdict + "\n" + price_note(capacity)),
                   capacity.recommended ? Style::good : Style::warning});
  print_paragraph({fmt::format("sizes of the cluster; counts of {} are least to most of the hours",
                               device_noun(capacity.device_kind, 2)),
                   table_text(reports::shared_rows_table(capacity, false))});
  if (const reports::SharedRowFacts* front = capacity.front()) {
    print_paragraph({fmt::format("{} by hour on {} {} of {}", device_noun(capacity.device_kind, 2),
                                 reports::count_text(front->gpus),
                                 device_noun(capacity.device_kind, front->gpus), front->cluster),
                     table_text(reports::shared_hours_table(capacity))});
  }
  print_paragraph({"rests on", basis_text(capacity)});
  for (const std::string& note : file.notes) print_text(wrapped("note: " + note + "\n"));
}

void write_shared(const OutputOptions& output, const reports::SharedCapacityFile& file) {
  const std::string json = reports::shared_capacity_file_record().write(file).dump(2) + "\n";
  const bool shown = write_answer_file(output, json);
  if (output.format == Format::table) {
    print_shared(file);
  } else if (shown) {
    write_output(output.to_standard_output(),
                 {named("sizes", reports::shared_rows_table(file.shared_capacity, true)),
                  named("hours", reports::shared_hours_table(file.shared_capacity))},
                 json);
  }
}

}  // namespace

int run_shared_capacity(const SharedCapacityCall& call, reports::Origin& origin) {
  const SharedRequest made = shared_request_of(call.request, call.texts, origin);
  const auto begin = std::chrono::steady_clock::now();
  const planner::SharedAnswer answer =
      planner::shared_answer(made.question, [](std::size_t done, std::size_t total) {
        show_progress(fmt::format("capacity: {} of {} clusters", done, total));
      });
  show_progress("");
  const double elapsed =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  say("{} sizes in {} s.\n", answer.rows.size(), number_text(elapsed, 3));
  reports::SharedCapacityFile file = reports::shared_capacity_file_of(answer, origin);
  file.notes.insert(file.notes.end(), made.notes.begin(), made.notes.end());
  write_shared(call.output, file);
  if (!answer.recommended) return kGateFailed;
  if (call.output.out != "-") say_next({{"report", call.output.out}});
  return kDone;
}

}  // namespace meshwright::app
