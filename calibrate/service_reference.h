// SPDX-License-Identifier: Apache-2.0
// Tells how fast a host is between the services of a trial, by whole steps of a service whose times
// the profile has.
#pragma once

#include <memory>
#include <vector>

#include "calibrate/backends/communicator.h"
#include "calibrate/backends/compute.h"
#include "calibrate/measure/points.h"
#include "sim/model/model.h"
#include "sim/serving/engine.h"
#include "sim/serving/step.h"

namespace meshwright::calibrate {

struct HostTimes {
  double all = 1.0;  // median over all steps
  HostTimeRatios of_kind{};
};

class ServiceReference {
 public:
  ServiceReference() = default;
  ServiceReference(const ServiceReference&) = delete;
  ServiceReference& operator=(const ServiceReference&) = delete;
  virtual ~ServiceReference() = default;
  // Times of the host's steps now over their times in the profile. Collective.
  virtual HostTimes times() = 0;
};

// The model's steps on this many tensor ranks and stages, else on one rank. `points`: of a profile
// of this device, measured by as many ranks as `world` has. Null where they have none of these
// steps. Collective.
std::unique_ptr<ServiceReference> start_service_reference(const std::vector<MeasuredPoint>& points,
                                                          const Model& model, const Engine& engine,
                                                          int tensor_parallel_size,
                                                          int pipeline_parallel_size,
                                                          Compute& compute, Communicator& world);

}  // namespace meshwright::calibrate
