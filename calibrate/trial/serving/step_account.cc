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

bool StepAccount::add(const EngineStep& pass, const Recorder& recorder) {
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
  for (const ServingTransfer& said : stage_step_volume(
           scenario_.model, scenario_.cluster, scenario_.engine, scenario_.options, pass, stage_)) {
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

void StepAccount::join_stages(Communicator& ranks, std::vector<ObservedServingStep>& steps) {
  const int tensor = scenario_.options.layout.tensor_parallel_size;
  const auto stages = ranks.split(ranks.rank() % tensor, ranks.rank());
  struct Said {
    double sent = 0, unlike = 0;
  };
  std::vector<Said> own(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    own[i] = {steps[i].sent.value(), steps[i].bytes_as_said ? 0.0 : 1.0};
  }
  if (!own.empty()) {
    std::vector<Said> all(own.size() * static_cast<std::size_t>(ranks.size()));
    ranks.host_gather(own.data(), all.data(), own.size() * sizeof(Said));
    for (std::size_t i = 0; i < steps.size(); ++i) {
      steps[i].sent = {};
      for (int rank = 0; rank < ranks.size(); ++rank) {
        const Said& said = all[static_cast<std::size_t>(rank) * own.size() + i];
        if (said.unlike != 0.0) steps[i].bytes_as_said = false;
        if (rank % tensor == ranks.rank() % tensor) steps[i].sent += bytes(said.sent);
      }
    }
  }
  join_transfers(*stages);
}

// Stages have rows of the same names, and their own: each row travels as the place of its name
// among those of a pass over all stages. A row that the ledger does not know stays on its stage:
// its steps are not as said.
void StepAccount::join_transfers(Communicator& stages) {
  const EngineStep any = decode_step(1, 1) + prefill_step(1, 1);
  const std::vector<ServingTransfer> known =
      step_volume(scenario_.model, scenario_.cluster, scenario_.engine, scenario_.options, any);
  struct Counted {
    double calls = 0, payload = 0, said_calls = 0, said_payload = 0, time = 0;
  };
  std::vector<Counted> own(known.size());
  for (std::size_t i = 0; i < known.size(); ++i) {
    const ServedTransfer& row = row_of(known[i].transfer);
    own[i] = {row.counted.times_per_step, row.counted.payload_per_step().value(), row.said_calls,
              row.said_payload.value(), row.time.value()};
  }
  if (own.empty()) return;
  std::vector<Counted> all(own.size() * static_cast<std::size_t>(stages.size()));
  stages.host_gather(own.data(), all.data(), own.size() * sizeof(Counted));
  for (std::size_t i = 0; i < known.size(); ++i) {
    Counted sum;
    for (std::size_t stage = 0; stage < static_cast<std::size_t>(stages.size()); ++stage) {
      const Counted& one = all[stage * own.size() + i];
      sum.calls += one.calls;
      sum.payload += one.payload;
      sum.said_calls += one.said_calls;
      sum.said_payload += one.said_payload;
      sum.time += one.time;
    }
    ServedTransfer& row = row_of(known[i].transfer);
    row.counted.times_per_step = sum.calls;
    row.counted.payload = sum.calls > 0 ? bytes(sum.payload / sum.calls) : bytes(0);
    row.said_calls = sum.said_calls;
    row.said_payload = bytes(sum.said_payload);
    row.time = seconds(sum.time);
  }
}

}  // namespace meshwright::calibrate
