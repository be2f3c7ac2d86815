// SPDX-License-Identifier: Apache-2.0
#include "calibrate/bench/overlap_bench.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <future>
#include <utility>
#include <vector>

#include "calibrate/bench/bench.h"
#include "calibrate/bench/gemm_bench.h"
#include "sim/base/error.h"

namespace meshwright::calibrate {
namespace {

constexpr int kMostCalls = 1000;

// What runs next to the products.
class Transfers {
 public:
  Transfers() = default;
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;
  virtual ~Transfers() = default;

  virtual void begin_beside() {}
  virtual void end_beside() {}
  virtual void start(int calls) = 0;
  virtual void wait() = 0;
  // start() returns when the transfers are over.
  [[nodiscard]] virtual bool blocks() const = 0;
};

class Collectives final : public Transfers {
 public:
  Collectives(Compute& compute, Communicator& group, Collective collective, Bytes amount)
      : group_(group),
        collective_(collective),
        count_(static_cast<std::int64_t>(amount.value()) / 4),
        message_(compute, static_cast<std::size_t>(count_) * sizeof(float)),
        result_(compute, static_cast<std::size_t>(count_) * sizeof(float)) {
    compute.fill_zero(message_.data(), message_.bytes());
    compute.synchronize();
  }
  void begin_beside() override { group_.run_beside_compute(true); }
  void end_beside() override { group_.run_beside_compute(false); }
  void start(int calls) override {
    for (int i = 0; i < calls; ++i) once();
  }
  void wait() override { group_.wait_beside_compute(); }
  [[nodiscard]] bool blocks() const override { return group_.calls_block(); }

 private:
  void once() {
    const std::int64_t part = count_ / group_.size();
    switch (collective_) {
      case Collective::all_gather:
        return group_.all_gather(message_.floats(), result_.floats(), part);
      case Collective::reduce_scatter:
        return group_.reduce_scatter(message_.floats(), result_.floats(), part);
      case Collective::all_to_all:
        return group_.all_to_all(message_.floats(), result_.floats(), part);
      default:
        return group_.all_reduce(message_.floats(), count_, Reduction::sum);
    }
  }

  Communicator& group_;
  Collective collective_;
  std::int64_t count_;
  DeviceArray message_, result_;
};

class Copies final : public Transfers {
 public:
  Copies(Compute& compute, HostDirection direction, Bytes amount)
      : compute_(compute),
        direction_(direction),
        host_(compute, static_cast<std::size_t>(amount.value())),
        device_(compute, host_.bytes()) {
    std::fill_n(static_cast<char*>(host_.data()), host_.bytes(), '\0');
    compute.fill_zero(device_.data(), device_.bytes());
    compute.synchronize();
  }
  void start(int calls) override {
    for (int i = 0; i < calls; ++i) {
      if (direction_ == HostDirection::to_device) {
        compute_.start_upload_beside(device_.data(), host_.data(), host_.bytes());
      } else {
        compute_.start_download_beside(host_.data(), device_.data(), host_.bytes());
      }
    }
  }
  void wait() override { compute_.wait_copies_beside(); }
  [[nodiscard]] bool blocks() const override { return false; }

 private:
  Compute& compute_;
  HostDirection direction_;
  HostArray host_;
  DeviceArray device_;
};

// Transfers are next to compute while this lives.
class Beside {
 public:
  explicit Beside(Transfers& transfers) : transfers_(transfers) { transfers_.begin_beside(); }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;
  ~Beside() {
    try {
      transfers_.end_beside();
    } catch (const SystemError&) {  // the error that brought us here says more
    }
  }

 private:
  Transfers& transfers_;
};

struct Times {
  Seconds product_alone, transfer_alone, product_beside, transfer_beside;
};

void keep(MeasuredPoint& point, const Times& t) {
  if (auto* messages = std::get_if<timed::Overlap>(&point.subject)) {
    messages->product_alone = t.product_alone;
    messages->collective_alone = t.transfer_alone;
    messages->product_beside = t.product_beside;
    messages->collective_beside = t.transfer_beside;
  }
  if (auto* copies = std::get_if<timed::CopyOverlap>(&point.subject)) {
    copies->product_alone = t.product_alone;
    copies->copy_alone = t.transfer_alone;
    copies->product_beside = t.product_beside;
    copies->copy_beside = t.transfer_beside;
  }
}

class ProductsBeside final : public OverlapBench {
 public:
  ProductsBeside(Compute& compute, Communicator& world, const Product& product,
                 std::unique_ptr<Transfers> transfers)
      : world_(world),
        product_(make_gemm_bench(compute, product.variant, product.precision)),
        transfers_(std::move(transfers)) {}

  std::string check() override { return product_->check(); }

  MeasuredPoint measured(MeasuredPoint point, const MeasureOptions& options) override {
    const Beside beside(*transfers_);
    const auto time = [&](const std::function<void(int)>& run) {
      return measure(world_, host_timer(steady_clock_seconds), run, options);
    };
    const Seconds product = time([this](int n) { product_->run(n); }).summary.median;
    const Seconds transfer = time([this](int n) { move(n); }).summary.median;
    // The same numbers on all ranks: times are the slowest rank's.
    calls_ = overlap_calls(product, transfer, options.shortest_sample);
    point.measurement = time([this](int n) {
      for (int i = 0; i < n; ++i) run_both();
    });
    keep(point, {.product_alone = product * calls_.products,
                 .transfer_alone = transfer * calls_.transfers,
                 .product_beside = summarise(product_ends_).median,
                 .transfer_beside = summarise(transfer_ends_).median});
    return point;
  }

 private:
  void move(int calls) {
    transfers_->start(calls);
    transfers_->wait();
  }

  void run_both() {
    const double start = steady_clock_seconds();
    const auto multiply = [&] {
      product_->run(calls_.products);
      product_ends_.push_back(steady_clock_seconds() - start);
    };
    if (transfers_->blocks()) {
      // Messages stay on this thread: MPI was told that only the main thread calls it.
      std::future<void> product = std::async(std::launch::async, multiply);
      move(calls_.transfers);
      transfer_ends_.push_back(steady_clock_seconds() - start);
      product.get();
    } else {
      transfers_->start(calls_.transfers);
      multiply();
      transfers_->wait();
      transfer_ends_.push_back(steady_clock_seconds() - start);
    }
  }

  Communicator& world_;
  std::unique_ptr<Bench> product_;
  std::unique_ptr<Transfers> transfers_;
  OverlapCalls calls_;  // when together
  std::vector<double> product_ends_, transfer_ends_;
};

}  // namespace

OverlapCalls overlap_calls(Seconds product, Seconds transfer, double shortest_sample) {
  const double longest = std::max({product.value(), transfer.value(), shortest_sample});
  const auto calls = [&](Seconds one) {
    return std::clamp(static_cast<int>(std::lround(longest / std::max(1e-9, one.value()))), 1,
                      kMostCalls);
  };
  return {.products = calls(product), .transfers = calls(transfer)};
}

std::unique_ptr<OverlapBench> make_overlap_bench(Compute& compute, Communicator& world,
                                                 Communicator& group, const MeasuredPoint& point) {
  const auto& task = std::get<timed::Overlap>(point.subject);
  return std::make_unique<ProductsBeside>(
      compute, world, task.product,
      std::make_unique<Collectives>(compute, group, task.call.collective, point.amount));
}

std::unique_ptr<OverlapBench> make_copy_overlap_bench(Compute& compute, Communicator& world,
                                                      const MeasuredPoint& point) {
  const auto& task = std::get<timed::CopyOverlap>(point.subject);
  return std::make_unique<ProductsBeside>(
      compute, world, task.product,
      std::make_unique<Copies>(compute, task.direction, point.amount));
}

}  // namespace meshwright::calibrate
