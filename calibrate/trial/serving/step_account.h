// SPDX-License-Identifier: Apache-2.0
// What a rank counted in its steps against the ledger of sim/serving/step_volume.h: of its pipeline
// stage, where there are several.
#pragma once

#include <vector>

#include "calibrate/backends/communicator.h"
#include "calibrate/trial/ranks/recorder.h"
#include "sim/serving/estimate.h"
#include "sim/serving/serving_observation.h"

namespace meshwright::calibrate {

class StepAccount {
 public:
  // The ledger has the format that the device serves in; a trial may run `precision` instead.
  StepAccount(const ServingScenario& scenario, Precision precision, int stage)
      : scenario_(scenario),
        width_(bytes_per_element(precision) / served_bytes(only_device(scenario.cluster))),
        stage_(stage) {}

  // Adds the pass that the recorder finished last. Returns whether each call is the ledger's.
  bool add(const EngineStep& pass, const Recorder& recorder);
  // Bytes that this rank sent in the step that was added last.
  [[nodiscard]] Bytes sent() const { return sent_; }
  [[nodiscard]] const std::vector<ServedTransfer>& transfers() const { return transfers_; }
  // Adds the rows of the same tensor rank of the other stages; collective over the replica's ranks.
  // The steps: those of the run, of which each is as said if it is so on every rank, and sent what
  // that tensor rank sent on all stages.
  void join_stages(Communicator& ranks, std::vector<ObservedServingStep>& steps);

 private:
  ServedTransfer& row_of(const Transfer& transfer);
  void join_transfers(Communicator& stages);

  const ServingScenario& scenario_;
  double width_;
  int stage_;
  Bytes sent_{};
  std::vector<ServedTransfer> transfers_;
};

}  // namespace meshwright::calibrate
