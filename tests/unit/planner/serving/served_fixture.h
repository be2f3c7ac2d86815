// SPDX-License-Identifier: Apache-2.0
// A service that was run, made from its prediction: Llama-3 8B on H100, 16 requests of 8 users.
#pragma once

#include "planner/serving/serving_validation.h"
#include "sim/serving/scheduler.h"
#include "tests/unit/sim/serving/shipped.h"

namespace meshwright::planner {

inline ServingScenario llama_on_h100() {
  ServingScenario s{test::shipped_model("llama-3-8b"),
                    test::shipped_cluster("h100-8"),
                    test::shipped_engine("vllm-0.24"),
                    {}};
  s.options = with_defaults(s.options, s.engine, only_device(s.cluster), s.model);
  return s;
}

inline ServingLoad eight_users() {
  ServingLoad load;
  load.concurrency = 8;
  load.num_requests = 16;
  load.lengths.input = 200;
  load.lengths.output = 20;
  return load;
}

// As if the machine had taken `factor` of the predicted time for everything.
inline ServingObservation as_predicted(const ServingScenario& s, const ServingLoad& load,
                                       double factor) {
  ServingObservation o;
  o.options = s.options;
  o.ranks = 1;
  o.kv_blocks = 200;
  ServingReplica replica =
      serving_replica(s.model, s.cluster, s.engine, o.options, load.acceptance);
  replica.rule.overlapped = false;
  replica.rule.request = replica.rule.input_token = {};
  replica.memory.kv_cache = replica.memory.sequence.full_token * (200.0 * o.options.block_size);
  o.run = simulate_serving(replica, 1, load).value();
  for (RequestTiming& t : o.run.requests) {
    t.arrival = t.arrival * factor;
    t.first_token = t.first_token * factor;
    t.end = t.end * factor;
  }
  o.run.duration = o.run.duration * factor;
  for (int i = 0; i < static_cast<int>(o.run.requests.size()); ++i) o.requests.push_back(i);
  for (const EngineStep& step : {decode_step(8, 210), prefill_step(2, 200)}) {
    ObservedServingStep made;
    made.step = step;
    made.time = step_duration(replica, step, step).duration * factor;
    o.steps.push_back(made);
  }
  return o;
}

}  // namespace meshwright::planner
