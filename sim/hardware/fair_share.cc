// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/fair_share.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <utility>

namespace meshwright {
namespace {

struct WireState {
  double left = 0.0;    // capacity that stopped streams do not use
  double active = 0.0;  // load of the streams that still grow
  int growing = 0;      // how many they are; decides, since sums of loads round
  std::vector<int> streams;
  [[nodiscard]] double full_at() const { return std::max(0.0, left) / active; }
};

std::vector<WireState> wire_states(std::span<const BytesPerSecond> wires,
                                   std::span<const Stream> streams) {
  std::vector<WireState> states(wires.size());
  for (std::size_t i = 0; i < wires.size(); ++i) states[i].left = wires[i].value();
  for (std::size_t s = 0; s < streams.size(); ++s) {
    for (const WireLoad& use : streams[s]) {
      WireState& state = states[static_cast<std::size_t>(use.wire)];
      state.active += use.load;
      ++state.growing;
      state.streams.push_back(static_cast<int>(s));
    }
  }
  return states;
}

}  // namespace

std::vector<BytesPerSecond> max_min_rates(std::span<const BytesPerSecond> wires,
                                          std::span<const Stream> streams) {
  constexpr double kGrowing = std::numeric_limits<double>::infinity();
  std::vector<WireState> states = wire_states(wires, streams);
  std::vector<double> rates(streams.size(), kGrowing);
  using Event = std::pair<double, int>;  // rate at which a wire is full
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  for (std::size_t w = 0; w < states.size(); ++w) {
    if (states[w].growing > 0) events.emplace(states[w].full_at(), static_cast<int>(w));
  }
  const auto stop = [&](int stream, double rate) {
    rates[static_cast<std::size_t>(stream)] = rate;
    for (const WireLoad& use : streams[static_cast<std::size_t>(stream)]) {
      WireState& state = states[static_cast<std::size_t>(use.wire)];
      state.left -= use.load * rate;
      state.active -= use.load;
      --state.growing;
    }
  };
  // A wire is full later, never earlier, when others' streams stop: an event that comes too early
  // is put back.
  while (!events.empty()) {
    const auto [rate, wire] = events.top();
    events.pop();
    const WireState& state = states[static_cast<std::size_t>(wire)];
    if (state.growing == 0) continue;
    if (state.full_at() > rate * (1.0 + 1e-12)) {
      events.emplace(state.full_at(), wire);
      continue;
    }
    for (const int stream : state.streams) {
      if (rates[static_cast<std::size_t>(stream)] == kGrowing) stop(stream, rate);
    }
  }
  std::vector<BytesPerSecond> result;
  result.reserve(rates.size());
  for (const double rate : rates) result.push_back(bytes_per_second(rate));
  return result;
}

}  // namespace meshwright
