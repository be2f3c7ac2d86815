// SPDX-License-Identifier: Apache-2.0
#include "calibrate/bench/collective_bench.h"

#include <fmt/format.h>

#include <vector>

#include "calibrate/bench/sample_data.h"
#include "sim/hardware/cluster.h"

namespace meshwright::calibrate {
namespace {

// Numbers that say where they come from: rank r holds r + 1 + (index mod 8), so sums are exact.
constexpr std::size_t kPattern = 8, kBlock = 512 * kPattern;

class CollectiveBench : public Bench {
 public:
  CollectiveBench(Compute& compute, Communicator& group, Collective collective, Bytes payload,
                  bool cold)
      : Bench(compute),
        group_(group),
        collective_(collective),
        whole_(static_cast<std::int64_t>(payload.value()) / 4),
        part_(whole_ / group.size()),
        message_(static_cast<std::size_t>(whole_) * sizeof(float)),
        copies_(cold ? cold_copies(payload * 2.0, compute.describe()) : 1),
        in_(compute, copies_ * message_),
        out_(compute, copies_ * message_) {}

  std::string check() override {
    next_ = 0;
    fill(in_.floats(), group_.rank(), 0, whole_);
    compute_.fill_zero(out_.data(), out_.bytes());
    once();
    compute_.synchronize();
    std::string wrong = compare();
    // Sums of sums grow without limit; zeros stay zeros, and moving them takes as long.
    compute_.fill_zero(in_.data(), in_.bytes());
    compute_.fill_zero(out_.data(), out_.bytes());
    compute_.synchronize();
    return wrong;
  }

  void start(int repetitions) override {
    for (int i = 0; i < repetitions; ++i) {
      once();
      next_ = (next_ + 1) % copies_;
    }
  }

  [[nodiscard]] double units() const override {
    return collective_ == Collective::send_recv ? 2.0 : 1.0;
  }

 private:
  static double value(int rank, std::size_t index) {
    return static_cast<double>(rank + 1) + static_cast<double>(index % kPattern);
  }

  [[nodiscard]] float* message(const DeviceArray& messages) const {
    return messages.floats() + next_ * static_cast<std::size_t>(whole_);
  }

  void once() {
    float *in = message(in_), *out = message(out_);
    switch (collective_) {
      case Collective::all_reduce:
        return group_.all_reduce(in, whole_, Reduction::sum);
      case Collective::all_gather:
        return group_.all_gather(in, out, part_);
      case Collective::reduce_scatter:
        return group_.reduce_scatter(in, out, part_);
      case Collective::all_to_all:
        return group_.all_to_all(in, out, part_);
      case Collective::broadcast:
        return group_.broadcast(in, whole_, 0);
      case Collective::send_recv:
        return there_and_back();
    }
  }

  void there_and_back() {
    const int other = 1 - group_.rank();
    if (group_.rank() == 0) {
      group_.send(message(in_), whole_, other);
      group_.receive(message(out_), whole_, other);
    } else {
      group_.receive(message(out_), whole_, other);
      group_.send(message(in_), whole_, other);
    }
    // Where calls run on the device, the device's order says when each message goes.
    if (group_.calls_block()) {
      group_.wait_sends();
    } else {
      group_.start_sends();
    }
  }

  // Fills `to` with the values that `rank` has from its entry `first` on, on this device.
  void fill(float* to, int rank, std::int64_t first, std::int64_t count) {
    std::vector<float> period(kBlock);
    for (std::size_t i = 0; i < period.size(); ++i) {
      period[i] = static_cast<float>(value(rank, static_cast<std::size_t>(first) + i));
    }
    fill_repeated(compute_, to, static_cast<std::size_t>(count), period);
  }

  // The same of the sum over all ranks.
  void fill_sum(float* to, std::int64_t first, std::int64_t count) {
    const double n = group_.size();
    std::vector<float> period(kBlock);
    for (std::size_t i = 0; i < period.size(); ++i) {
      const std::size_t phase = (static_cast<std::size_t>(first) + i) % kPattern;
      period[i] = static_cast<float>(n * (n + 1.0) / 2.0 + n * static_cast<double>(phase));
    }
    fill_repeated(compute_, to, static_cast<std::size_t>(count), period);
  }

  // Writes this rank's expected result into memory that it no longer needs; returns its length.
  std::int64_t fill_expected(float* to) {
    const int n = group_.size(), me = group_.rank();
    switch (collective_) {
      case Collective::all_reduce:
        fill_sum(to, 0, whole_);
        return whole_;
      case Collective::reduce_scatter:
        fill_sum(to, me * part_, part_);
        return part_;
      case Collective::all_gather:
        for (int rank = 0; rank < n; ++rank) fill(to + rank * part_, rank, 0, part_);
        return n * part_;
      case Collective::all_to_all:
        for (int rank = 0; rank < n; ++rank) fill(to + rank * part_, rank, me * part_, part_);
        return n * part_;
      case Collective::broadcast:
        fill(to, 0, 0, whole_);
        return whole_;
      case Collective::send_recv:
        fill(to, 1 - me, 0, whole_);
        return whole_;
    }
    return 0;
  }

  // On the device: bringing a large message to the host takes longer than timing it.
  [[nodiscard]] std::string compare() {
    const bool in_place =
        collective_ == Collective::all_reduce || collective_ == Collective::broadcast;
    const float* result = (in_place ? in_ : out_).floats();
    float* expected = (in_place ? out_ : in_).floats();
    const std::int64_t count = fill_expected(expected);
    const std::int64_t wrong = compute_.num_different(result, expected, count);
    if (wrong == 0) return "";
    return fmt::format("{} over {} ranks: {} of rank {}'s {} numbers are not what was expected",
                       name_of(collective_), group_.size(), wrong, group_.rank(), count);
  }

  Communicator& group_;
  Collective collective_;
  std::int64_t whole_, part_;
  std::size_t message_;  // bytes
  std::size_t copies_;   // used in turn
  DeviceArray in_, out_;
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Bench> make_collective_bench(Compute& compute, Communicator& group,
                                             Collective collective, Bytes payload, bool cold) {
  return std::make_unique<CollectiveBench>(compute, group, collective, payload, cold);
}

}  // namespace meshwright::calibrate
