// SPDX-License-Identifier: Apache-2.0
// What a rank counted in its steps against the ledger of sim/serving/step_volume.h.
#pragma once

#include <vector>

#include "calibrate/trial/ranks/recorder.h"
#include "sim/serving/estimate.h"
#include "sim/serving/serving_observation.h"

namespace meshwright::calibrate {

class StepAccount {
 public:
  // The ledger has activations of two bytes; these have those of `precision`.
  StepAccount(const ServingScenario& scenario, Precision precision)
      : scenario_(scenario), width_(bytes_per_element(precision) / 2.0) {}

  // Adds the step that the recorder finished last. Returns whether each call is the ledger's.
  bool add(const EngineStep& step, const Recorder& recorder);
  // Bytes that this rank sent in the step that was added last.
  [[nodiscard]] Bytes sent() const { return sent_; }
  [[nodiscard]] const std::vector<ServedTransfer>& transfers() const { return transfers_; }

 private:
  ServedTransfer& row_of(const Transfer& transfer);

  const ServingScenario& scenario_;
  double width_;
  Bytes sent_{};
  std::vector<ServedTransfer> transfers_;
};

}  // namespace meshwright::calibrate
