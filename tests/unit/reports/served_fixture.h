// SPDX-License-Identifier: Apache-2.0
// The sample service with trials: one deployment took 1.25 times its prediction, another took what
// was predicted, and a third did not run.
#pragma once

#include "tests/unit/planner/serving/served_fixture.h"
#include "tests/unit/reports/service_fixture.h"

namespace meshwright::reports {

inline ServingPlanFile served_service() {
  const ServingScenario scenario = planner::llama_on_h100();
  const ServingLoad load = planner::eight_users();
  ServingObservation slow = planner::as_predicted(scenario, load, 1.25);
  slow.device = "cpu";
  slow.not_run = {"bf16 (fp32 was run)"};
  slow.host_time_ratio = 1.5;
  ServingScenario wide = scenario;
  wide.options.layout.tensor_parallel_size = 2;
  ServingObservation exact = planner::as_predicted(wide, load, 1.0);
  exact.device = "cpu";
  exact.ranks = 2;
  exact.host_time_ratio = 1.0;
  ServingObservation failed;
  failed.failure = "no room";
  ServingPlanFile file = sample_service();
  file.validation =
      ServingValidationPart{planner::validate_serving(scenario, load, {slow, exact, failed}), ""};
  add_service_sentences(file);
  return file;
}

}  // namespace meshwright::reports
