// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/load.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace meshwright {
namespace {

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): the same numbers on every platform.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  // Above 0, below 1.
  double uniform() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    z ^= z >> 31U;
    return (static_cast<double>(z >> 11U) + 0.5) * 0x1.0p-53;
  }
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }
  // Gamma with mean 1 (Marsaglia and Tsang, TOMS 2000).
  double gamma(double shape) {
    if (shape == 1.0) return -std::log(uniform());
    if (shape < 1.0) {
      const double larger = gamma(shape + 1.0) * (shape + 1.0);
      return larger * std::pow(uniform(), 1.0 / shape) / shape;
    }
    const double d = shape - 1.0 / 3.0, c = 1.0 / std::sqrt(9.0 * d);
    for (;;) {
      const double x = normal(), v = std::pow(1.0 + c * x, 3.0);
      if (v > 0.0 && std::log(uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) {
        return d * v / shape;
      }
    }
  }
  int between(int low, int high) {
    return low + static_cast<int>(std::floor(uniform() * (high - low + 1)));
  }

 private:
  std::uint64_t state_;
};

int least_of(int most, double share) {
  return std::max(1, static_cast<int>(std::lround(most * share)));
}

double mean_of(const RequestLengths& lengths, int most, int RequestLength::*side) {
  switch (lengths.kind) {
    case LengthKind::fixed:
      return most;
    case LengthKind::uniform:
      return (most + least_of(most, lengths.least_share)) / 2.0;
    case LengthKind::list:
      break;
  }
  double sum = 0;
  for (const RequestLength& one : lengths.list) sum += one.*side;
  return lengths.list.empty() ? 0.0 : sum / static_cast<double>(lengths.list.size());
}

}  // namespace

double mean_input(const RequestLengths& lengths) {
  return mean_of(lengths, lengths.input, &RequestLength::input);
}
double mean_output(const RequestLengths& lengths) {
  return mean_of(lengths, lengths.output, &RequestLength::output);
}

double mean_context(const RequestLengths& lengths) {
  return mean_input(lengths) + mean_output(lengths) / 2.0;
}

double longest_request(const RequestLengths& lengths) {
  if (lengths.kind != LengthKind::list) return lengths.input + lengths.output;
  int most = 0;
  for (const RequestLength& one : lengths.list) most = std::max(most, one.input + one.output);
  return most;
}

int simulated_requests(const ServingLoad& load) {
  if (load.kind == LoadKind::arrivals) return static_cast<int>(load.arrivals.size());
  if (load.num_requests > 0) return load.num_requests;
  const bool closed = load.kind == LoadKind::closed_loop;
  return closed ? std::max(10, static_cast<int>(10.0 * load.concurrency)) : 1000;
}

std::vector<ServingRequest> requests_of(const ServingLoad& load) {
  Random random(load.seed);
  std::vector<ServingRequest> requests(static_cast<std::size_t>(simulated_requests(load)));
  const RequestLengths& lengths = load.lengths;
  Seconds now;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    ServingRequest& one = requests[i];
    switch (lengths.kind) {
      case LengthKind::fixed:
        one.input = lengths.input;
        one.output = lengths.output;
        break;
      case LengthKind::uniform:
        one.input = random.between(least_of(lengths.input, lengths.least_share), lengths.input);
        one.output = random.between(least_of(lengths.output, lengths.least_share), lengths.output);
        break;
      case LengthKind::list: {
        const RequestLength& length = lengths.list[i % lengths.list.size()];
        one = {{}, length.input, length.output, length.priority, length.prompt};
      } break;
    }
    if (load.kind == LoadKind::open_loop) {
      if (i > 0) now += seconds(random.gamma(load.burstiness) / load.request_rate);
      one.arrival = now;
    }
    if (load.kind == LoadKind::arrivals) one.arrival = load.arrivals[i];
  }
  return requests;
}

double computed_input(double input, double hit_rate, int block_size) {
  if (hit_rate <= 0.0) return input;
  const double cached = std::min(input * hit_rate, input - 1.0);
  return input - std::floor(cached / block_size) * block_size;
}

}  // namespace meshwright
