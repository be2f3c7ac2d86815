// SPDX-License-Identifier: Apache-2.0
#include "calibrate/measure/measurement.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "calibrate/measure/core_wait.h"
#include "sim/base/error.h"
#include "sim/base/statistics.h"

namespace meshwright::calibrate {
namespace {

constexpr double kLeastSample = 1e-6;  // seconds, so that any warm-up ends

// The device begins at the end of this at the latest, also while an error is on its way.
class HeldDevice {
 public:
  explicit HeldDevice(Compute& compute) : compute_(compute) { compute_.hold(); }
  HeldDevice(const HeldDevice&) = delete;
  HeldDevice& operator=(const HeldDevice&) = delete;
  ~HeldDevice() { compute_.let_go(); }

 private:
  Compute& compute_;
};

class Attempt {
 public:
  Attempt(Communicator& ranks, const Timer& timer, const std::function<void(int)>& run,
          const MeasureOptions& options)
      : ranks_(ranks), timer_(timer), run_(run), options_(options) {}

  Measurement measure() {
    Measurement result;
    result.repetitions = warm_up();
    const double start = timer_.clock();
    std::vector<double> samples;
    own_.clear();
    while (result.stopped == StopReason::go_on) {
      samples.push_back(sample(result.repetitions) / result.repetitions);
      result.stopped = decide(samples, timer_.clock() - start);
    }
    result.mean = seconds(mean(samples));
    result.rank_mean = seconds(mean(own_)) / result.repetitions;  // this rank's
    result.summary = summarise(samples);
    result.own_median = summarise(own_).median / result.repetitions;
    return result;
  }

 private:
  double sample(int repetitions) {
    ranks_.barrier();
    const double waited = waits();
    const double taken = timer_.seconds_of([&] { run_(repetitions); });
    own_.push_back(without_wait(taken, waits() - waited));
    return ranks_.host_max(own_.back());
  }

  [[nodiscard]] double waits() const { return options_.core_waits ? options_.core_waits() : 0.0; }

  // The last warm-up says how often a short piece of work has to be repeated: the same number on
  // all ranks, since host_max gives all of them the same time. A call alone takes longer than one
  // of many, so a first guess that falls short is corrected once.
  int warm_up() {
    double once = 0.0;
    for (int i = 0; i < std::max(1, options_.warmup); ++i) once = sample(1);
    int repetitions = repetitions_for(once);
    if (repetitions > 1) {
      once = sample(repetitions) / repetitions;
      repetitions = std::max(repetitions, repetitions_for(once));
    }
    for (double spent = 0.0; spent < options_.warmup_seconds;) {
      spent += std::max(sample(repetitions), kLeastSample);
    }
    return repetitions;
  }

  [[nodiscard]] int repetitions_for(double once) const {
    const double wanted = std::ceil(options_.shortest_sample / std::max(once, 1e-9));
    return static_cast<int>(std::clamp(wanted, 1.0, 1.0 * options_.most_repetitions));
  }

  StopReason decide(const std::vector<double>& samples, double elapsed) {
    StopReason reason = StopReason::go_on;
    if (ranks_.rank() == 0) reason = stop_reason(options_.stop, samples, elapsed);
    ranks_.host_broadcast(&reason, sizeof reason, 0);
    return reason;
  }

  Communicator& ranks_;
  const Timer& timer_;
  const std::function<void(int)>& run_;
  const MeasureOptions& options_;
  std::vector<double> own_;
};

}  // namespace

Summary summarise(const std::vector<double>& samples) {
  invariant(!samples.empty(), "a summary of no samples");
  const double middle = median(samples);
  const double p10 = interpolated_quantile(samples, 0.1);
  const double p90 = interpolated_quantile(samples, 0.9);
  return {.median = seconds(middle),
          .min = seconds(*std::min_element(samples.begin(), samples.end())),
          .p10 = seconds(p10),
          .p90 = seconds(p90),
          .count = static_cast<int>(samples.size()),
          .relative_spread = middle > 0.0 ? (p90 - p10) / (kDecilesApart * middle) : 0.0};
}

void scale(Measurement& m, double factor) {
  for (Seconds* time :
       {&m.summary.median, &m.summary.min, &m.summary.p10, &m.summary.p90, &m.mean, &m.rank_mean}) {
    *time *= factor;
  }
}

double steady_clock_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Timer host_timer(Clock clock) {
  auto seconds_of = [clock](const std::function<void()>& work) {
    const double start = clock();
    work();
    return clock() - start;
  };
  return {std::move(clock), std::move(seconds_of)};
}

Timer device_timer(Compute& compute) {
  return {steady_clock_seconds, [&compute](const std::function<void()>& work) {
            compute.forget_marks();
            const Compute::Mark begin = compute.mark();
            work();
            return compute.seconds_between(begin, compute.mark());
          }};
}

Timer held_device_timer(Compute& compute, Communicator& ranks) {
  const int expired = compute.expired_holds();
  return {steady_clock_seconds, [&compute, &ranks, expired](const std::function<void()>& work) {
            compute.forget_marks();
            std::optional<HeldDevice> held;
            if (compute.expired_holds() == expired) held.emplace(compute);
            const Compute::Mark begin = compute.mark();
            work();
            const Compute::Mark end = compute.mark();
            ranks.host_barrier();
            held.reset();
            return compute.seconds_between(begin, end);
          }};
}

Timer queueing_timer(Compute& compute, Clock clock) {
  auto seconds_of = [&compute, clock](const std::function<void()>& work) {
    compute.synchronize();
    const double start = clock();
    work();
    const double taken = clock() - start;
    compute.synchronize();
    return taken;
  };
  return {std::move(clock), std::move(seconds_of)};
}

Measurement measure(Communicator& ranks, const Timer& timer, const std::function<void(int)>& run,
                    const MeasureOptions& options) {
  Attempt attempt(ranks, timer, run, options);
  Measurement first = attempt.measure();
  if (first.summary.relative_spread <= options.noisy_above) return first;
  Measurement second = attempt.measure();
  Measurement& calmer =
      second.summary.relative_spread < first.summary.relative_spread ? second : first;
  // A step does not choose the calmer moment.
  const double share = first.calls() / (first.calls() + second.calls());
  calmer.mean = first.mean * share + second.mean * (1.0 - share);
  calmer.rank_mean = first.rank_mean * share + second.rank_mean * (1.0 - share);
  calmer.repeated = true;
  calmer.noisy = calmer.summary.relative_spread > options.noisy_above;
  return calmer;
}

}  // namespace meshwright::calibrate
