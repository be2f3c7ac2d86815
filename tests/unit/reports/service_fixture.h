// SPDX-License-Identifier: Apache-2.0
// A service plan as meshwright serve --format json writes it: Llama-3 8B on H100, found once.
#pragma once

#include "planner/serving/service_details.h"
#include "reports/records/serving_plan.h"
#include "reports/sections/service_text.h"
#include "tests/unit/sim/serving/shipped.h"

namespace meshwright::reports {

inline planner::ServingQuestion service_question() {
  planner::ServingQuestion q;
  q.scenario = {test::shipped_model("llama-3-8b"),
                test::shipped_cluster("h100-512"),
                test::shipped_engine("vllm-0.24"),
                {}};
  q.scenario.options.weights = usual_scheme(WeightFormat::bf16, q.scenario.model);
  q.cluster_name = "h100-512";
  q.load.kind = LoadKind::open_loop;
  q.load.request_rate = 100;
  q.load.num_requests = 100;
  q.load.lengths = {LengthKind::fixed, 1000, 200, 1.0, {}};
  q.limits = {seconds(2), milliseconds(40), {}};
  q.percentile = 90;
  q.space = planner::serving_space(q.scenario.model, q.scenario.cluster);
  q.prices = {"mine", "2026-11", "a test", "EUR", true, {{"h100-512", "", {2, 1, 3}}}};
  q.kept = 3;
  q.simulated = 3;
  return q;
}

inline ServingPlanFile service_file_of(const planner::ServingQuestion& q) {
  ServingPlanFile file;
  file.origin.command = "meshwright serve --model llama-3-8b --cluster h100-512";
  file.notes = {"A note."};
  file.model = q.scenario.model.name;
  file.cluster = q.cluster_name;
  file.device = only_device(q.scenario.cluster).name;
  file.engine = q.scenario.engine.name;
  file.scenario = q.scenario;
  file.load = q.load;
  file.limits = q.limits;
  file.percentile = q.percentile;
  file.currency = q.prices.currency;
  file.prices = ServicePrices{q.prices.name, q.prices.date, q.prices.example};
  file.plan = planner::serving_plan(q);
  if (file.plan.choices.size() > 1) {
    file.explanation = planner::serving_explanation(q, file.plan.choices[0], file.plan.choices[1]);
  }
  if (!file.plan.choices.empty()) {
    file.details = planner::service_details(q, file.plan.choices.front());
    file.launch = {{"Commands", "vLLM 0.24", "serve.sh", "vllm serve <model>\n", {"A note."}, ""},
                   {"Dynamo", "vLLM 0.24", "dynamo.yaml", "", {}, "it has no option for a size"}};
  }
  file.what_ifs = {{"as asked", 8, "8 x tp1", seconds(0.1), milliseconds(20), 1.5},
                   {"limits half as long", 0, "", {}, {}, {}}};
  add_service_sentences(file);
  return file;
}

inline const ServingPlanFile& sample_service() {
  static const ServingPlanFile file = service_file_of(service_question());
  return file;
}

}  // namespace meshwright::reports
