// SPDX-License-Identifier: Apache-2.0
// Times something that all ranks do together: the slowest rank counts, every rank takes the same
// number of samples (rank 0 decides), and noise is kept beside the median.
//
// relative_spread = (p90 - p10) / (2.563 * median): the standard deviation of a normal sample,
// without its outliers.
#pragma once

#include <functional>
#include <vector>

#include "calibrate/backends/communicator.h"
#include "calibrate/backends/compute.h"
#include "calibrate/measure/stopping.h"
#include "sim/base/units.h"

namespace meshwright::calibrate {

struct Summary {
  Seconds median, min, p10, p90;
  int count = 0;  // number of samples
  double relative_spread = 0.0;
  bool operator==(const Summary&) const = default;
};

// Percentiles by linear interpolation between the sorted samples. At least one sample.
Summary summarise(const std::vector<double>& samples);

using Clock = std::function<double()>;  // seconds, never backwards
double steady_clock_seconds();

// Clocks of a piece of work: its own time on this rank, and the elapsed time.
struct Timer {
  Clock clock = steady_clock_seconds;
  // Seconds of the work; it need not be over when `work` returns, but when this does.
  std::function<double(const std::function<void()>& work)> seconds_of;
};
Timer host_timer(Clock clock);  // for work that is over when its call returns
// Times by marks on the device, without the host's way to it and back.
Timer device_timer(Compute& compute);
// The same of work that the device begins when all of it is in its queue, on all `ranks` at once:
// short kernels are then timed at the device's pace, not at the rate at which the host launches
// them (as nvbench's blocking kernel does). `work` must not wait for the device, and has at most
// kMostHeldCalls calls. After a hold that expired this timer holds no more.
Timer held_device_timer(Compute& compute, Communicator& ranks);
// The host's own time until the work is in the queue.
Timer queueing_timer(Compute& compute, Clock clock = steady_clock_seconds);

// A call is up to some seven launches, and CUDA queues about 1,024 of them: a host that has to wait
// for a held device would wait until the hold expires.
inline constexpr int kMostHeldCalls = 128;

struct MeasureOptions {
  StopOptions stop{};
  int warmup = 2;                  // calls before the first sample
  double warmup_seconds = 0.0;     // and at least as long, samples of full length without a pause
  double shortest_sample = 50e-6;  // seconds; what is shorter is repeated within a sample
  int most_repetitions = 10'000;   // within a sample
  double noisy_above = 0.15;       // relative spread that is measured again, and flagged
  // Seconds that this thread waited for its core since it began (core_wait.h). What it waits in a
  // sample is left out. None: samples are of the elapsed time.
  Clock core_waits{};
};

struct Measurement {
  Summary summary;
  StopReason stopped = StopReason::go_on;
  int repetitions = 1;    // within a sample
  bool repeated = false;  // the first attempt was noisy; the calmer one is kept
  bool noisy = false;     // both were
  Seconds own_median;     // this rank's time, where `summary` has the slowest rank's
  // Means over the samples, which include rare disturbances as a training step does: of each
  // sample's slowest rank, and of this rank's own time. A calibrated point has that of the slowest
  // rank.
  Seconds mean, rank_mean;
  [[nodiscard]] double calls() const { return 1.0 * summary.count * repetitions; }
  bool operator==(const Measurement&) const = default;
};

// All its times; a spread is relative.
void scale(Measurement& m, double factor);

// run(n) does the work n times, in a way that `timer` can time. Collective over `ranks`: they leave
// a barrier before each sample, and none is inside.
Measurement measure(Communicator& ranks, const Timer& timer, const std::function<void(int)>& run,
                    const MeasureOptions& options);

}  // namespace meshwright::calibrate
