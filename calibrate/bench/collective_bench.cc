// SPDX-License-Identifier: Apache-2.0
#include "calibrate/bench/collective_bench.h"

#include <fmt/format.h>

#include <algorithm>

#include "calibrate/bench/sample_data.h"
#include "sim/hardware/cluster.h"

namespace meshwright::calibrate {
namespace {

// Numbers that say where they come from: rank r holds r + 1 + (index mod 8), so sums are exact.
constexpr std::size_t kPattern = 8;
constexpr std::size_t kCheckedEntries = 4096;

class CollectiveBench : public Bench {
 public:
  CollectiveBench(Compute& compute, Communicator& group, Collective collective, Bytes payload)
      : compute_(compute),
        group_(group),
        collective_(collective),
        whole_(static_cast<std::int64_t>(payload.value()) / 4),
        part_(whole_ / group.size()),
        in_(compute, static_cast<std::size_t>(whole_) * sizeof(float)),
        out_(compute, static_cast<std::size_t>(whole_) * sizeof(float)) {}

  std::string check() override {
    std::vector<float> numbers(static_cast<std::size_t>(whole_));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = static_cast<float>(value(group_.rank(), i));
    }
    compute_.upload(in_.data(), numbers.data(), in_.bytes());
    compute_.fill_zero(out_.data(), out_.bytes());
    once();
    compute_.synchronize();
    std::string wrong = compare();
    // Sums of sums grow without limit; zeros stay zeros, and moving them takes as long.
    compute_.fill_zero(in_.data(), in_.bytes());
    compute_.synchronize();
    return wrong;
  }

  void run(int repetitions) override {
    for (int i = 0; i < repetitions; ++i) once();
    compute_.synchronize();
  }

  [[nodiscard]] double units() const override {
    return collective_ == Collective::send_recv ? 2.0 : 1.0;
  }

 private:
  static double value(int rank, std::size_t index) {
    return static_cast<double>(rank + 1) + static_cast<double>(index % kPattern);
  }

  void once() {
    float *in = in_.floats(), *out = out_.floats();
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
      group_.send(in_.floats(), whole_, other);
      group_.receive(out_.floats(), whole_, other);
    } else {
      group_.receive(out_.floats(), whole_, other);
      group_.send(in_.floats(), whole_, other);
    }
    group_.wait_sends();
  }

  // What this rank must hold at `index` of its result.
  [[nodiscard]] double expected(std::size_t index) const {
    const int n = group_.size(), me = group_.rank();
    const auto part = static_cast<std::size_t>(part_);
    const auto sum = [n](std::size_t i) {
      return n * (n + 1) / 2.0 + n * static_cast<double>(i % kPattern);
    };
    switch (collective_) {
      case Collective::all_reduce:
        return sum(index);
      case Collective::reduce_scatter:
        return sum(static_cast<std::size_t>(me) * part + index);
      case Collective::all_gather:
        return value(static_cast<int>(index / part), index % part);
      case Collective::all_to_all:
        return value(static_cast<int>(index / part),
                     static_cast<std::size_t>(me) * part + index % part);
      case Collective::broadcast:
        return value(0, index);
      case Collective::send_recv:
        return value(1 - me, index);
    }
    return 0.0;
  }

  [[nodiscard]] std::string compare() {
    const bool in_place =
        collective_ == Collective::all_reduce || collective_ == Collective::broadcast;
    const std::int64_t held = collective_ == Collective::reduce_scatter ? part_ : whole_;
    const std::int64_t valid =
        collective_ == Collective::all_gather || collective_ == Collective::all_to_all
            ? part_ * group_.size()
            : held;
    const auto count = static_cast<std::size_t>(valid);
    const std::vector<float> result =
        downloaded(compute_, in_place ? in_.floats() : out_.floats(), count);
    const std::size_t stride = std::max<std::size_t>(1, count / kCheckedEntries);
    for (std::size_t i = 0; i < count; i += stride) {
      const std::size_t at = count - 1 - i;
      if (result[at] == expected(at)) continue;
      return fmt::format("{} over {} ranks: rank {} has {} at {}, {} was expected",
                         name_of(collective_), group_.size(), group_.rank(), result[at], at,
                         expected(at));
    }
    return "";
  }

  Compute& compute_;
  Communicator& group_;
  Collective collective_;
  std::int64_t whole_, part_;
  DeviceArray in_, out_;
};

}  // namespace

std::unique_ptr<Bench> make_collective_bench(Compute& compute, Communicator& group,
                                             Collective collective, Bytes payload) {
  return std::make_unique<CollectiveBench>(compute, group, collective, payload);
}

}  // namespace meshwright::calibrate
