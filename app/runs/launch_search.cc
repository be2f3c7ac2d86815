// SPDX-License-Identifier: Apache-2.0
#include "app/runs/launch_search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "interop/write_launch/launch_changes.h"
#include "interop/write_launch/launch_target.h"
#include "sim/base/error.h"
#include "sim/record/reader.h"

namespace meshwright::app {

const interop::LaunchTarget& require_launch_target(const std::string& name) {
  if (const interop::LaunchTarget* target = interop::launch_target(name)) return *target;
  std::vector<std::string> names;
  for (const interop::LaunchTarget& target : interop::launch_targets()) {
    names.emplace_back(target.name);
  }
  throw InputError("--target", "",
                   fmt::format("must be one of {} (got \"{}\")", fmt::join(names, ", "), name),
                   did_you_mean(name, names));
}

planner::SearchTarget search_target(const std::string& name, const Scenario& scenario) {
  if (interop::launch_target(name) == nullptr) return {};  // nothing is written for it: no bounds
  // Kept as long as the search is.
  const auto asked = std::make_shared<const Scenario>(scenario);
  return {name, [name, asked](const Layout& layout) {
            return interop::refusal_for(name, {*asked, layout});
          }};
}

planner::SearchTarget search_target(const interop::LaunchRecord& launch, const Scenario& scenario) {
  planner::SearchTarget target = search_target(interop::words_of_layout(launch), scenario);
  if (!target.refusal || interop::has_place_for_ranks(launch)) return target;
  target.refusal = [of_launcher = target.refusal](const Layout& layout) -> std::string {
    const bool ranks = layout.tensor_parallel_size > 1 || layout.context_parallel_size > 1;
    return ranks ? "its launch has no place for tensor or context ranks" : of_launcher(layout);
  };
  return target;
}

}  // namespace meshwright::app
