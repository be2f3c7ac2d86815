// SPDX-License-Identifier: Apache-2.0
#include "calibrate/bench/pair_bench.h"

#include "calibrate/bench/bench.h"
#include "calibrate/launch/rank_hosts.h"
#include "calibrate/measure/measurement.h"
#include "sim/base/statistics.h"

namespace meshwright::calibrate {
namespace {

constexpr int kWarmups = 2;
constexpr int kSamples = 9;
constexpr int kTrips = 4;  // of a sample

class Pinger {
 public:
  Pinger(Compute& compute, Communicator& world, Bytes message)
      : compute_(compute),
        world_(world),
        count_(static_cast<std::int64_t>(message.value()) / 4),
        in_(compute, static_cast<std::size_t>(count_) * sizeof(float)),
        out_(compute, static_cast<std::size_t>(count_) * sizeof(float)) {
    compute_.fill_zero(in_.data(), in_.bytes());
    compute_.synchronize();
  }

  // Seconds one way; a rank without a partner says 0.
  double median_time(int partner) {
    std::vector<double> samples;
    for (int i = 0; i < kWarmups + kSamples; ++i) {
      world_.barrier();
      const double both = device_timer(compute_).seconds_of([&] {
        for (int k = 0; partner >= 0 && k < kTrips; ++k) there_and_back(partner);
      });
      if (i >= kWarmups) samples.push_back(both / (2.0 * kTrips));
    }
    return partner < 0 ? 0.0 : median(std::move(samples));
  }

 private:
  void there_and_back(int partner) {
    const bool first = world_.rank() < partner;
    if (first) world_.send(in_.floats(), count_, partner);
    world_.receive(out_.floats(), count_, partner);
    if (!first) world_.send(in_.floats(), count_, partner);
    if (world_.calls_block()) {
      world_.wait_sends();
    } else {
      world_.start_sends();
    }
  }

  Compute& compute_;
  Communicator& world_;
  std::int64_t count_;
  DeviceArray in_, out_;
};

}  // namespace

std::vector<PairTime> measure_pairs(Compute& compute, Communicator& world,
                                    const std::vector<PairRound>& rounds, Bytes message) {
  Pinger pinger(compute, world, message);
  std::vector<PairTime> pairs;
  for (const PairRound& round : rounds) {
    const int mine = round.partner_of_rank[static_cast<std::size_t>(world.rank())];
    const std::vector<double> times = gathered(world, pinger.median_time(mine));
    for (std::size_t rank = 0; rank < times.size(); ++rank) {
      const int other = round.partner_of_rank[rank];
      if (other <= static_cast<int>(rank)) continue;
      pairs.push_back({static_cast<int>(rank), other, round.tier, seconds(times[rank])});
    }
  }
  return pairs;
}

}  // namespace meshwright::calibrate
