// SPDX-License-Identifier: Apache-2.0
// A communicator whose calls run one after the other, in the order in which they were made, as
// NCCL's on one stream: a call that waits for another rank keeps all later ones waiting.
//
// Put there alone, a send would keep its rank from the receive that the other side may be waiting
// for, and two neighbours that send to each other would never end. So a send is only noted. It
// starts together with the next receive, as one group, or before whatever else is called next.
// Sends and receives that may have to go together must be calls of one communicator.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "calibrate/backends/communicator.h"

namespace meshwright::calibrate {

class QueuedCommunicator : public Communicator {
 public:
  void send(ConstNumbers data, std::int64_t count, int to) final {
    noted_.push_back({.from_here = data, .to_here = {}, .count = count, .peer = to});
  }
  void receive(Numbers data, std::int64_t count, int from) final {
    noted_.push_back({.from_here = {}, .to_here = data, .count = count, .peer = from});
    start_noted();
  }
  void start_sends() final { start_noted(); }
  void exchange(std::span<const Message> messages) final {
    start_noted();
    start(messages);
  }
  [[nodiscard]] bool sends_alone() const final { return false; }

 protected:
  // Puts the messages into the queue as one group: none waits for another.
  virtual void start(std::span<const Message> group) = 0;
  // Before every other call.
  void start_noted() {
    if (noted_.empty()) return;
    const std::vector<Message> group = std::move(noted_);
    noted_.clear();
    start(group);
  }

 private:
  std::vector<Message> noted_;
};

}  // namespace meshwright::calibrate
