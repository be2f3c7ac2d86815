// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/estimate.h"

#include <algorithm>
#include <cmath>

#include "sim/base/spread.h"
#include "sim/serving/replica_cost.h"

namespace meshwright {
namespace {

StepEstimate step_estimate(const ServingScenario& s, const ReplicaOptions& options,
                           const ReplicaCost& cost, const EngineStep& step) {
  StepEstimate found;
  found.step = step;
  found.time = step_time(cost, step);
  found.relative_spread = step_spread(cost, found.time);
  found.provenance = step_provenance(cost, found.time);
  found.term_spread = cost.spread;
  found.term_provenance = cost.provenance;
  // Times are log-normal around the prediction.
  const double factor = std::exp(kIntervalDeviations * found.relative_spread);
  found.low = found.time.total / factor;
  found.high = found.time.total * factor;
  found.transfers = step_volume(s.model, s.cluster, s.engine, options, step);
  return found;
}

}  // namespace

std::variant<ServingEstimate, ServingViolation> serving_estimate(const ServingScenario& s,
                                                                 const ServingBatch& batch) {
  const Device& device = only_device(s.cluster);
  ServingEstimate found;
  found.options = with_defaults(s.options, s.engine, device, s.model);
  const ServingRuleInput in{s.model, s.cluster, s.engine, found.options};
  if (const auto broken = check_replica(in)) return *broken;

  const double request = batch.input + batch.output;
  found.memory = replica_memory(s.model, device, s.engine, found.options);
  found.fits = !check_replica_memory(in, found.memory, request, s.options.max_model_len > 0);
  found.largest_batch =
      admitted_requests(found.memory, s.engine, found.options, batch.input, batch.output);

  const ReplicaCost cost = replica_cost(s.model, s.cluster, s.engine, found.options);
  const double budget =
      s.engine.chunked_prefill ? step_tokens(s.engine, found.options) : batch.input;
  const double first = std::min(batch.input, budget);
  found.prefill = step_estimate(s, found.options, cost, prefill_step(1, first));
  found.prefill_chunks = std::ceil(batch.input / budget);
  for (double done = 0; done < batch.input; done += budget) {
    const double tokens = std::min(budget, batch.input - done);
    found.prefill_time += step_time(cost, prefill_step(1, tokens, done)).total;
  }
  const double context = batch.input + batch.output / 2.0;
  const double stages = found.options.layout.pipeline_parallel_size;
  found.decode =
      step_estimate(s, found.options, cost, decode_step(batch.sequences / stages, context));
  const double interval = found.decode.time.total.value();
  found.tokens_per_second_per_user = batch.tokens_per_step / interval;
  found.tokens_per_second_per_gpu = batch.sequences * batch.tokens_per_step *
                                    found.options.layout.data_parallel_size / interval /
                                    num_gpus(found.options.layout);
  return found;
}

}  // namespace meshwright
