// SPDX-License-Identifier: Apache-2.0
// A world of one rank.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "calibrate/backends/communicator.h"

namespace meshwright::calibrate {

// One rank alone: every collective is the identity.
class Alone : public Communicator {
 public:
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 1; }
  [[nodiscard]] std::string host() const override { return "here"; }
  [[nodiscard]] std::unique_ptr<Communicator> split(int, int) override {
    return std::make_unique<Alone>();
  }
  void barrier() override {}
  void all_reduce(Numbers, std::int64_t, Reduction) override {}
  void all_gather(ConstNumbers, Numbers, std::int64_t) override {}
  void reduce_scatter(ConstNumbers, Numbers, std::int64_t) override {}
  void all_to_all(ConstNumbers, Numbers, std::int64_t) override {}
  void all_to_all_v(ConstNumbers, const std::vector<std::int64_t>&, Numbers,
                    const std::vector<std::int64_t>&) override {}
  void broadcast(Numbers, std::int64_t, int) override {}
  void send(ConstNumbers, std::int64_t, int) override {}
  void receive(Numbers, std::int64_t, int) override {}
  void wait_sends() override {}
  void host_broadcast(void*, std::size_t, int) override {}
  double host_max(double value) override { return std::max(value, slowest_); }
  void host_gather(const void* in, void* out, std::size_t bytes) override {
    std::memcpy(out, in, bytes);
  }
  [[noreturn]] void abort(int) override { throw std::logic_error("aborted"); }

  // What another rank would have needed; nothing of its own by default.
  double slowest_ = std::numeric_limits<double>::lowest();
};

}  // namespace meshwright::calibrate
