// SPDX-License-Identifier: Apache-2.0
// The rows of the records of serving: rates of a device's inference kernels, engines, replicas.
#pragma once

#include "sim/hardware/inference_rates.h"
#include "sim/record/record.h"
#include "sim/serving/engine.h"
#include "sim/serving/estimate.h"
#include "sim/serving/serving_observation.h"

namespace meshwright {

// Requests, tokens and configurations.
inline constexpr IntRange kServingCount{0, 1'000'000'000};

const Record<InferenceRates>& inference_rates_record();
const Record<Engine>& engine_record();
const Record<ReplicaLayout>& replica_layout_record();
const Record<ReplicaOptions>& replica_options_record();
const Record<ReplicaMemory>& replica_memory_record();
const Record<StepEstimate>& step_estimate_record();
const Record<ServingEstimate>& serving_estimate_record();
const Record<ServingObservation>& serving_observation_record();

// The format of the published checkpoint, where a model file states it.
std::optional<WeightFormat> checkpoint_weights_from_json(const Json& json, const std::string& file);
Engine engine_from_json(const Json& json, const std::string& file, const std::string& pointer = "");
InferenceRates inference_rates_from_json(const Json& json, const std::string& file,
                                         const std::string& pointer = "");

}  // namespace meshwright
