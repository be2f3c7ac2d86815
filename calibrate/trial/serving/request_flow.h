// SPDX-License-Identifier: Apache-2.0
// How requests come into a replica and leave it, where they do not just come from the load: those
// of a prefill and of a decode pool pass from one to the other.
//
// Every rank of a replica makes the same calls in the same order, and gets the same answers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "calibrate/trial/serving/paged_cache.h"
#include "sim/base/units.h"

namespace meshwright::calibrate {

class RequestFlow {
 public:
  RequestFlow() = default;
  RequestFlow(const RequestFlow&) = delete;
  RequestFlow& operator=(const RequestFlow&) = delete;
  virtual ~RequestFlow() = default;

  struct Arrival {
    int request = 0;                            // of the load
    Seconds arrival{};                          // of the request at the service
    std::optional<std::int32_t> first_token{};  // its prompt was computed by another replica
  };
  // A request whose answer, or share of the work, is done here.
  struct Departure {
    int request = 0;
    Seconds arrival{}, when{};
    std::int32_t last_token = 0;
    std::int64_t cached = 0;  // positions
    const BlockTable* blocks = nullptr;
  };

  // Before the clock of a run begins: all replicas leave together.
  virtual void begin() = 0;
  // This replica computes prompts and their first tokens, and no more.
  [[nodiscard]] virtual bool computes_prompts_only() const = 0;
  // Those that came since the last call.
  virtual std::vector<Arrival> arrivals(Seconds now) = 0;
  // There is room for the prompt's cache; it may set out. The table stays where it is until then.
  virtual void fetch(int request, std::int64_t positions, const BlockTable& blocks,
                     Seconds now) = 0;
  // Requests whose cache is in its blocks since the last call, in the order in which they set out.
  virtual std::vector<int> landed() = 0;
  virtual void leave(const Departure& departure) = 0;
  // Nothing will come any more, of what arrivals() said last.
  [[nodiscard]] virtual bool is_over() const = 0;
};

}  // namespace meshwright::calibrate
