// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/serving/step_account.h"

namespace meshwright::calibrate {

ServedTransfer& StepAccount::row_of(const Transfer& transfer) {
  for (ServedTransfer& row : transfers_) {
    if (row.counted.name == transfer.name && row.counted.group == transfer.group &&
        row.counted.collective == transfer.collective) {
      return row;
    }
  }
  ServedTransfer row;
  row.counted = transfer;
  row.counted.times_per_step = 0;
  row.counted.payload = {};
  transfers_.push_back(row);
  return transfers_.back();
}

bool StepAccount::add(const EngineStep& step, const Recorder& recorder) {
  // Calls and bytes of each row in this step, counted less said.
  struct Difference {
    double calls = 0;
    Bytes payload{};
  };
  std::vector<Difference> differences;
  const auto difference_of = [&](const ServedTransfer& row) -> Difference& {
    const auto at = static_cast<std::size_t>(&row - transfers_.data());
    if (at >= differences.size()) differences.resize(at + 1);
    return differences[at];
  };
  sent_ = {};
  const std::vector<Transfer>& counted = recorder.transfers();
  for (std::size_t i = 0; i < counted.size(); ++i) {
    const Transfer& one = counted[i];
    ServedTransfer& row = row_of(one);
    const double calls = row.counted.times_per_step + one.times_per_step;
    const Bytes payload = row.counted.payload_per_step() + one.payload_per_step();
    row.counted.times_per_step = calls;
    row.counted.payload = payload / calls;
    row.time += seconds(recorder.transfer_seconds()[i]);
    sent_ += one.sent_per_step();
    Difference& difference = difference_of(row);
    difference.calls += one.times_per_step;
    difference.payload += one.payload_per_step();
  }
  for (const ServingTransfer& said :
       step_volume(scenario_.model, scenario_.cluster, scenario_.engine, scenario_.options, step)) {
    ServedTransfer& row = row_of(said.transfer);
    const Bytes payload = said.transfer.payload_per_step() * width_;
    row.said_calls += said.transfer.times_per_step;
    row.said_payload += payload;
    Difference& difference = difference_of(row);
    difference.calls -= said.transfer.times_per_step;
    difference.payload -= payload;
  }
  for (const Difference& difference : differences) {
    if (difference.calls != 0.0 || difference.payload != bytes(0)) return false;
  }
  return true;
}

}  // namespace meshwright::calibrate
