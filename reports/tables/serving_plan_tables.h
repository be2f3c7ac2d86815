// SPDX-License-Identifier: Apache-2.0
// The tables of serve and serve simulate.
#pragma once

#include "reports/records/serving_plan.h"
#include "reports/tables/table.h"

namespace meshwright::reports {

// One row a deployment, best first. Means beside a percentile are of the same simulation.
Table serving_choices_table(const ServingPlanFile& file);
// What the best deployments cost.
Table serving_money_table(const ServingPlanFile& file);
Table serving_pareto_table(const ServingPlanFile& file);
Table serving_rejections_table(const ServingPlanFile& file);
Table serving_explanation_table(const ServingPlanFile& file);
Table serving_what_ifs_table(const ServingPlanFile& file);
// What was learnt from, before and after. Times in ms, throughput in tokens per second.
Table serving_learning_table(const ServingPlanFile& file);

// One row a metric: mean and percentiles.
Table serving_metrics_table(const ServingSimulationFile& file);

}  // namespace meshwright::reports
