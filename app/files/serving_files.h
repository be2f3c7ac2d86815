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

// An engine file, or a name from configs/engines such as vllm-0.24.
Engine load_engine(const std::string& path);

}  // namespace meshwright::app
