// SPDX-License-Identifier: Apache-2.0
#include "app/options/refit_options.h"

#include <fmt/format.h>

#include "app/console/terminal.h"
#include "app/files/files.h"
#include "app/files/output_file.h"
#include "sim/base/error.h"
#include "sim/base/number_text.h"
#include "sim/json/records.h"
#include "sim/record/reader.h"

namespace meshwright::app {
namespace {

std::vector<std::string> known_scalars() {
  std::vector<std::string> known;
  for (const FrameworkScalar scalar : planner::all_framework_scalars()) {
    known.emplace_back(name_of(scalar));
  }
  return known;
}

}  // namespace

std::string framework_scalar_list() { return fmt::format("{}", fmt::join(known_scalars(), ", ")); }

std::vector<FrameworkScalar> framework_scalars_named(const std::vector<std::string>& names) {
  if (names.size() > planner::kMostFittedScalars) {
    throw InputError("--fit", "",
                     fmt::format("must name at most {} scalars, names {}",
                                 planner::kMostFittedScalars, names.size()));
  }
  std::vector<FrameworkScalar> scalars;
  for (const std::string& name : names) {
    const std::size_t before = scalars.size();
    for (const FrameworkScalar scalar : planner::all_framework_scalars()) {
      if (name_of(scalar) == name) scalars.push_back(scalar);
    }
    if (scalars.size() > before) continue;
    throw InputError(
        "--fit", "",
        fmt::format("must name some of {} (got \"{}\")", framework_scalar_list(), name),
        did_you_mean(name, known_scalars()));
  }
  return scalars;
}

void print_refit(const planner::Refit& refit, const std::string& learnt_from) {
  say("fitted on {} runs of {}; residual spread {:.1f} % (1 sigma)\n", refit.runs, learnt_from,
      100.0 * refit.residual_spread);
  for (const planner::FittedScalar& scalar : refit.scalars) {
    say("  {:24} {} -> {} ({:+.1f} %, ± {:.0f} %, {:.0f} % determined by the runs)\n",
        name_of(scalar.scalar), number_text(scalar.before), number_text(scalar.after),
        scalar.before > 0 ? 100.0 * (scalar.after / scalar.before - 1.0) : 100.0,
        100.0 * scalar.relative_standard_error, 100.0 * scalar.learnt);
  }
}

void write_refitted(Cluster cluster, const planner::Refit& refit, double spread,
                    const std::string& learnt_from, const std::string& path) {
  std::vector<std::string_view> names;
  for (const planner::FittedScalar& scalar : refit.scalars) names.push_back(name_of(scalar.scalar));
  if (!cluster.fit_holds()) cluster.fit = {};
  cluster.framework = refit.framework;
  cluster.framework.name = "fitted";
  cluster.framework_assumed = false;
  cluster.fit.framework = cluster.framework.name;
  cluster.fit.source = fmt::format("{} runs of {}", refit.runs, learnt_from);
  cluster.fit.relative_spread = spread;
  cluster.fit.learnt_runs = refit.runs;
  cluster.framework.source =
      fmt::format("{} runs of {}: {}", refit.runs, learnt_from, fmt::join(names, ", "));
  write_file_atomically(path, to_json(cluster).dump(2) + "\n");
}

}  // namespace meshwright::app
