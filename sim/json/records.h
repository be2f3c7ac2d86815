// SPDX-License-Identifier: Apache-2.0
// The records of sim as JSON and back. Inputs carry the unit in the key (memory_gib, latency_us);
// outputs are in base units (_bytes, _seconds). Reading refuses unknown keys.
#pragma once

#include <string>

#include "sim/base/job.h"
#include "sim/hardware/cluster.h"
#include "sim/layout/layout.h"
#include "sim/model/model.h"
#include "sim/record/json.h"
#include "sim/step/estimate.h"
#include "sim/step/observation.h"

namespace meshwright {

// `file` and `pointer` name the place in messages. All throw InputError.
Model model_from_json(const Json& json, const std::string& file, const std::string& pointer = "");
// Reads a job. Values that the file does not state are those of `defaults` (Framework::defaults).
Job job_from_json(const Json& json, const std::string& file, const std::string& pointer = "",
                  const Job& defaults = {});
Layout layout_from_json(const Json& json, const std::string& file, const std::string& pointer = "",
                        const Layout& defaults = {});
Device device_from_json(const Json& json, const std::string& file, const std::string& pointer = "");
Cluster cluster_from_json(const Json& json, const std::string& file,
                          const std::string& pointer = "");
Framework framework_from_json(const Json& json, const std::string& file,
                              const std::string& pointer = "");
Observation observation_from_json(const Json& json, const std::string& file,
                                  const std::string& pointer = "");

Json to_json(const Model& model);
Json to_json(const Job& job);
Json to_json(const Layout& layout);
Json to_json(const Device& device);
Json to_json(const Cluster& cluster);
Json to_json(const Framework& framework);
Json to_json(const Estimate& estimate);
Json to_json(const Observation& observation);

// "tp=8,pp=4,dp=16,sp,mbs=2,zero=1,recompute=selective" or the long field names. Throws InputError.
Layout layout_from_text(const std::string& text, const Layout& defaults = {});

}  // namespace meshwright
