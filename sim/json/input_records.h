// SPDX-License-Identifier: Apache-2.0
// The rows of the records that sim reads from files: keys, units, ranges and what they mean.
// Reading, writing and schemas follow from them (record.h).
#pragma once

#include "sim/base/job.h"
#include "sim/hardware/cluster.h"
#include "sim/layout/layout.h"
#include "sim/model/model.h"
#include "sim/record/record.h"

namespace meshwright {

// Names of the factors on times of a framework or machine.
inline constexpr NumberRange kTimeFactor{0.1, 10.0};

const Record<Model>& model_record();
const Record<Job>& job_record();
const Record<Layout>& layout_record();
const Record<Device>& device_record();
const Record<Link>& link_record();
const Record<Cluster>& cluster_record();
const Record<Framework>& framework_record();
// Reasons why features are missing, by name.
const Kind<FeatureLimits>& limits_kind();

}  // namespace meshwright
