// SPDX-License-Identifier: Apache-2.0
#include "calibrate/bench/overlap_bench.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <vector>

#include "calibrate/bench/bench.h"
#include "calibrate/bench/gemm_bench.h"
#include "sim/base/error.h"

namespace meshwright::calibrate {
namespace {

constexpr int kMostCalls = 1000;

class Overlap {
 public:
  Overlap(Compute& compute, Communicator& world, Communicator& group, const timed::Overlap& task,
          Bytes amount)
      : compute_(compute),
        world_(world),
        group_(group),
        collective_(task.call.collective),
        product_(make_gemm_bench(compute, task.product.variant, task.product.precision)),
        count_(static_cast<std::int64_t>(amount.value()) / 4),
        message_(compute, static_cast<std::size_t>(count_) * sizeof(float)),
        result_(compute, static_cast<std::size_t>(count_) * sizeof(float)) {
    const std::string wrong = product_->check();
    if (!wrong.empty()) throw SystemError("wrong result: " + wrong);
    compute_.fill_zero(message_.data(), message_.bytes());
    compute_.synchronize();
    group_.run_beside_compute(true);
  }
  Overlap(const Overlap&) = delete;
  Overlap& operator=(const Overlap&) = delete;
  ~Overlap() {
    try {
      group_.run_beside_compute(false);
    } catch (const SystemError&) {  // the error that brought us here says more
    }
  }

  MeasuredPoint measured(MeasuredPoint point, const MeasureOptions& options) {
    const auto time = [&](const std::function<void(int)>& run) {
      return measure(world_, host_timer(steady_clock_seconds), run, options);
    };
    const Seconds product = time([this](int n) { product_->run(n); }).summary.median;
    const Seconds collective = time([this](int n) { communicate(n); }).summary.median;
    // The same numbers on all ranks: times are the slowest rank's.
    const OverlapCalls calls = overlap_calls(product, collective, options.shortest_sample);
    products_ = calls.products;
    calls_ = calls.collectives;
    point.measurement = time([this](int n) {
      for (int i = 0; i < n; ++i) run_both();
    });
    auto& times = std::get<timed::Overlap>(point.subject);
    times.product_alone = product * products_;
    times.collective_alone = collective * calls_;
    times.product_beside = summarise(product_ends_).median;
    times.collective_beside = summarise(collective_ends_).median;
    return point;
  }

 private:
  void start_collective() {
    const std::int64_t part = count_ / group_.size();
    switch (collective_) {
      case Collective::all_gather:
        return group_.all_gather(message_.floats(), result_.floats(), part);
      case Collective::reduce_scatter:
        return group_.reduce_scatter(message_.floats(), result_.floats(), part);
      default:
        return group_.all_reduce(message_.floats(), count_, Reduction::sum);
    }
  }

  void start_collectives(int calls) {
    for (int i = 0; i < calls; ++i) start_collective();
  }

  void communicate(int calls) {
    start_collectives(calls);
    group_.wait_beside_compute();
  }

  void run_both() {
    const double start = steady_clock_seconds();
    const auto multiply = [&] {
      product_->run(products_);
      product_ends_.push_back(steady_clock_seconds() - start);
    };
    if (group_.calls_block()) {
      // Messages stay on this thread: MPI was told that only the main thread calls it.
      std::future<void> product = std::async(std::launch::async, multiply);
      communicate(calls_);
      collective_ends_.push_back(steady_clock_seconds() - start);
      product.get();
    } else {
      start_collectives(calls_);
      multiply();
      group_.wait_beside_compute();
      collective_ends_.push_back(steady_clock_seconds() - start);
    }
  }

  Compute& compute_;
  Communicator& world_;
  Communicator& group_;
  Collective collective_;
  std::unique_ptr<Bench> product_;
  std::int64_t count_;
  DeviceArray message_, result_;
  int products_ = 1, calls_ = 1;  // of each, when together
  std::vector<double> product_ends_, collective_ends_;
};

}  // namespace

OverlapCalls overlap_calls(Seconds product, Seconds collective, double shortest_sample) {
  const double longest = std::max({product.value(), collective.value(), shortest_sample});
  const auto calls = [&](Seconds one) {
    return std::clamp(static_cast<int>(std::lround(longest / std::max(1e-9, one.value()))), 1,
                      kMostCalls);
  };
  return {.products = calls(product), .collectives = calls(collective)};
}

MeasuredPoint measure_overlap(Compute& compute, Communicator& world, Communicator& group,
                              MeasuredPoint point, const MeasureOptions& options) {
  Overlap overlap(compute, world, group, std::get<timed::Overlap>(point.subject), point.amount);
  return overlap.measured(std::move(point), options);
}

}  // namespace meshwright::calibrate
