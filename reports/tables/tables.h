// SPDX-License-Identifier: Apache-2.0
// The tables that commands print and the report repeats.
#pragma once

#include <span>
#include <vector>

#include "planner/accuracy/picks.h"
#include "planner/accuracy/validation.h"
#include "planner/questions/scaling.h"
#include "planner/search/plan.h"
#include "reports/records/report.h"
#include "reports/tables/table.h"
#include "sim/step/estimate.h"
#include "sim/volume/volume.h"

namespace meshwright::reports {

// One row a layout, fastest first.
Table ranked_table(const planner::Plan& plan);
// The first `top` of them, for a screen: switches that all have alike are said once, in the title.
Table fastest_table(const planner::Plan& plan, int top);
// One row a GPU count: its best layout, what a GPU and a token cost there; days, cost and energy
// where the job says how many tokens, and the cluster price and power.
Table scaling_table(const std::vector<planner::ScalePoint>& points, const Job& job,
                    DeviceKind device);
// One row a rule.
Table rejections_table(const std::vector<RejectionRow>& rejections);
// One row a term that takes time of a step.
Table terms_table(std::span<const Term> terms, Seconds step);
// One row a pipeline stage, of devices with so much memory.
Table memory_table(const std::vector<StageHolds>& stages, Bytes capacity);
// One row a transfer of one stage, with the link it crosses.
Table volume_table(const StageVolume& volume, const Layout& layout, const Cluster& cluster);
// The three published orders beside this layout's exact bytes.
Table orders_table(const PublishedOrders& orders);
// One row a measured run: reported and predicted, and what our search would have picked.
Table picks_table(const planner::MeasuredSet& set, const std::vector<planner::Pick>& picks);
// One row a layout that was run.
Table validation_table(const planner::Validation& validation);
// The same for a screen of 80 columns: the words that all layouts share are in the title, and the
// executed layout is shown only where it differs. The host's speed is left to the other formats.
Table validation_screen_table(const planner::Validation& validation);

}  // namespace meshwright::reports
