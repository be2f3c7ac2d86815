// SPDX-License-Identifier: Apache-2.0
// One rank's account of one step: seconds by term, every transfer that it took part in, and, when
// asked for, the intervals that the seconds are made of.
//
// Exactly one term is being charged at any time; what nobody claims is `host`. So the terms of a
// rank add up to its step, and its intervals follow each other without gaps or overlaps.
#pragma once

#include <array>
#include <chrono>
#include <string_view>
#include <vector>

#include "calibrate/backends/compute.h"
#include "sim/step/estimate.h"

namespace meshwright::calibrate {

// Seconds since the step's begin, which all ranks leave a barrier for.
struct RecordedInterval {
  TermKind kind = TermKind::host;
  std::string_view name;  // the transfer's; empty: the term says all
  int micro_batch = -1;   // -1: none
  int chunk = 0;          // of this stage
  double begin = 0.0, end = 0.0;
};

class Recorder {
 public:
  using Terms = std::array<double, kNumTerms>;  // seconds, by TermKind

  explicit Recorder(Compute& compute) : compute_(compute) {}

  void keep_intervals(bool keep) { keeps_intervals_ = keep; }
  // What the intervals from now on belong to.
  void work_on(int micro_batch, int chunk) {
    micro_batch_ = micro_batch;
    chunk_ = chunk;
  }

  void begin_step();
  void end_step();
  // Charges `kind` from now on, once the device has done what was asked of it; returns what was
  // charged before.
  TermKind switch_to(TermKind kind, std::string_view name = {});
  // Of the seconds charged last, takes so many from one term and charges another.
  void move(TermKind from, TermKind to, double seconds, std::string_view name);
  // One call of a transfer, and its seconds.
  void count(const Transfer& call, double seconds);
  // Of products, charged to the term that is being charged.
  void count_flops(double flops);

  [[nodiscard]] const Terms& terms() const { return terms_; }
  [[nodiscard]] double seconds_of(TermKind kind) const {
    return terms_[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] double step_seconds() const;
  [[nodiscard]] Flops flops(TermKind kind) const {
    return meshwright::flops(flops_[static_cast<std::size_t>(kind)]);
  }
  [[nodiscard]] const std::vector<Transfer>& transfers() const { return transfers_; }
  // Of all calls of a step, waiting for the other ranks included; beside transfers().
  [[nodiscard]] const std::vector<double>& transfer_seconds() const { return transfer_seconds_; }
  [[nodiscard]] const std::vector<RecordedInterval>& intervals() const { return intervals_; }

 private:
  using Clock = std::chrono::steady_clock;

  void keep_interval(Clock::time_point end);
  [[nodiscard]] double since_begin(Clock::time_point t) const {
    return std::chrono::duration<double>(t - begin_).count();
  }

  Compute& compute_;
  Terms terms_{};
  Terms flops_{};
  TermKind current_ = TermKind::host;
  std::string_view name_;
  Clock::time_point begin_ = Clock::now(), since_ = begin_;
  std::vector<Transfer> transfers_;
  std::vector<double> transfer_seconds_;
  bool keeps_intervals_ = false;
  int micro_batch_ = -1, chunk_ = 0;
  std::vector<RecordedInterval> intervals_;
};

// Charges a term for as long as it lives.
class TermScope {
 public:
  TermScope(Recorder& recorder, TermKind kind, std::string_view name = {})
      : recorder_(recorder), before_(recorder.switch_to(kind, name)) {}
  TermScope(const TermScope&) = delete;
  TermScope& operator=(const TermScope&) = delete;
  ~TermScope() { recorder_.switch_to(before_); }

 private:
  Recorder& recorder_;
  TermKind before_;
};

}  // namespace meshwright::calibrate
