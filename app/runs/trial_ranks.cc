// SPDX-License-Identifier: Apache-2.0
#include "app/runs/trial_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "app/console/exit_code.h"
#include "app/files/output_file.h"

namespace meshwright::app {

int start_trial_ranks(const RankOptions& options, const TrialRanks& trial, const Call& call) {
  const int ranks =
      options.ranks > 0 ? options.ranks : std::min(trial.largest, devices_here(options));
  const auto begin = std::filesystem::file_time_type::clock::now();
  const auto outcome =
      start_ranks(options, ranks, rank_program(options, call.arguments), trial.time_limit);
  if (outcome.ok()) return kDone;
  return failed_job(
      outcome, "trial",
      written_since(trial.out, begin)
          ? fmt::format("the {}s measured before are in {}", trial.what_was_tried, trial.out)
          : fmt::format("no {} was measured", trial.what_was_tried));
}

}  // namespace meshwright::app
