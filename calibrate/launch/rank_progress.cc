// SPDX-License-Identifier: Apache-2.0
#include "calibrate/launch/rank_progress.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "calibrate/launch/allowances.h"
#include "calibrate/launch/launch.h"
#include "calibrate/launch/rank_failure.h"
#include "calibrate/launch/rank_hosts.h"
#include "calibrate/launch/rank_report.h"

namespace meshwright::calibrate {
namespace {

constexpr double kLongestInterval = 1.0;   // seconds between reports
constexpr double kReportsPerTimeout = 10;  // or this many, where that is more often

// Written by the main thread, read by the reporting one. A report may mix two operations that
// follow each other; the next one is right again.
struct Current {
  std::atomic<std::uint64_t> count{0};
  std::atomic<const char*> name{"start"};
  std::atomic<double> amount{0.0}, slow{0.0};
  std::atomic<bool> waits{false}, is_over{false};
  std::atomic<int> waits_for_others{0};
  std::atomic<DeviceKind> device{DeviceKind::cpu};
};
Current current;

std::string transfer_text(double bytes) {
  constexpr std::array kUnits{"bytes", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024.0 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024.0;
  return fmt::format("{:.3g} {}", bytes, kUnits[unit]);
}

std::string operation_text() {
  const double amount = current.amount;
  return fmt::format("{} {}{}", current.is_over ? "after" : "in", current.name.load(),
                     amount > 0.0 ? " of " + transfer_text(amount) : "");
}

void print_line(const std::string& line) {
  const std::string text = line + "\n";
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) return;  // nobody reads any more
}

class Reporter {
 public:
  Reporter(const RankPlace& place, Seconds timeout, bool started_by_us)
      : rank_(place.rank),
        timeout_(timeout.value()),
        started_by_us_(started_by_us),
        host_(host_name()) {}

  void run() {
    const std::chrono::duration<double> interval(
        std::min(kLongestInterval, timeout_ / kReportsPerTimeout));
    for (;; std::this_thread::sleep_for(interval)) {
      if (started_by_us_) {
        report();
      } else {
        end_if_stuck();
      }
    }
  }

 private:
  void report() const {
    print_line(report_line({.rank = rank_,
                            .host = host_,
                            .operations = current.count,
                            .waits = current.waits,
                            .slow_seconds = current.slow,
                            .operation = operation_text()}));
  }

  void end_if_stuck() {
    const auto now = std::chrono::steady_clock::now();
    if (current.count != count_ || (current.waits && current.waits_for_others > 0)) {
      count_ = current.count;
      since_ = now;
    }
    const Seconds longest =
        longest_alone(seconds(timeout_), seconds(current.slow), current.waits, current.device);
    if (std::chrono::duration<double>(now - since_).count() < longest.value()) return;
    print_line(rank_failure_line(rank_, host_,
                                 fmt::format("no progress for {:.0f} s; last operation: {}",
                                             longest.value(), operation_text())));
    _exit(kSystemFailure);
  }

  int rank_;
  double timeout_;
  bool started_by_us_;
  std::string host_;
  std::uint64_t count_ = 0;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

}  // namespace

void begin_operation(const Operation& operation) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  current.name.store(operation.name, kRelaxed);
  current.amount.store(operation.amount.value(), kRelaxed);
  current.slow.store(operation.slow.value(), kRelaxed);
  current.waits.store(operation.waits, kRelaxed);
  current.is_over.store(operation.is_over, kRelaxed);
  current.count.fetch_add(1, std::memory_order_release);
}

WaitForOthers::WaitForOthers() { current.waits_for_others.fetch_add(1); }

WaitForOthers::~WaitForOthers() { current.waits_for_others.fetch_sub(1); }

void watch_device(DeviceKind kind) { current.device.store(kind, std::memory_order_relaxed); }

Seconds slow_product(Flops flops) { return slow_product(flops, current.device); }

Seconds slow_transfer(Bytes bytes) { return slow_transfer(bytes, current.device); }

void report_progress(const RankPlace& place, Seconds timeout) {
  const bool ours = started_by_us(process_environment());
  if (ours) {
    // Even a stopped rank goes when mpirun does.
    const pid_t parent = getppid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(kSystemFailure);
  }
  // Signals are the main thread's.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([place, timeout, ours] { Reporter(place, timeout, ours).run(); }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace meshwright::calibrate
