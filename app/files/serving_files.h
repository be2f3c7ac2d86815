// SPDX-License-Identifier: Apache-2.0
// What serving reads beside the files of training: engines, and the rates of a cluster's device.
#pragma once

#include <string>

#include "reports/records/origin.h"
#include "sim/hardware/inference_rates.h"
#include "sim/serving/engine.h"

namespace meshwright::app {

// A cluster file, a measured profile or a name from configs/clusters, with "inference" of its
// device. Devices without it get rates that are fitted over all chips.
ServingCluster load_serving_cluster(const std::string& path, reports::Origin* origin = nullptr);

// An engine file, or a name from configs/engines such as vllm-0.32.
Engine load_engine(const std::string& path, reports::Origin* origin = nullptr);

// The shipped engine of that kind ("vllm") whose version is nearest to the first one in the text
// ("0.17.0", "lmsysorg/sglang:v0.5.12-cu13"). A text without a version: the newest of that date
// ("2026-01-31"), or of all. Empty: no such kind.
std::string nearest_engine(const std::string& kind, const std::string& version,
                           const std::string& date = "");

// The host's work of that version under the kernels of a step, or not: its host times and factors
// are those of the nearest shipped version that runs so. Unchanged: no version does.
Engine with_overlap(Engine engine, bool overlapped);

}  // namespace meshwright::app
