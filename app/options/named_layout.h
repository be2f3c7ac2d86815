// SPDX-License-Identifier: Apache-2.0
// Which layout of a plan a user means: "3" (its rank), a file, text as the tables print it
// ("tp8 pp4 dp16 mbs2 sp"), or sizes ("tp=8,pp=4"). Sizes without dp leave the rest open: the
// fastest layout with them is meant.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/search/search.h"
#include "reports/records/plan_file.h"

namespace meshwright::app {

struct NamedLayout {
  std::optional<Layout> layout;  // nothing: no layout with these sizes runs
  std::string note;  // fields that the text leaves open, or the layout's number; empty: as typed
  std::vector<planner::Rejection> rejections;  // then: of the search over what was open
  std::optional<std::size_t> rank;             // place in the plan
};

// Throws InputError for text that is no layout and a rank that the plan does not have.
NamedLayout named_layout(const reports::PlanFile& plan, const std::string& text);

}  // namespace meshwright::app
