// SPDX-License-Identifier: Apache-2.0
// One rank's account of one step: seconds by term, and every transfer that it took part in.
//
// Exactly one term is being charged at any time; what nobody claims is `host`. So the terms of a
// rank add up to its step.
#pragma once

#include <array>
#include <chrono>
#include <vector>

#include "calibrate/backends/compute.h"
#include "sim/estimate.h"

namespace meshwright::calibrate {

class Recorder {
 public:
  using Terms = std::array<double, kNumTerms>;  // seconds, by TermKind

  explicit Recorder(Compute& compute) : compute_(compute) {}

  void begin_step();
  void end_step();
  // Charges `kind` from now on, once the device has done what was asked of it; returns what was
  // charged before.
  TermKind switch_to(TermKind kind);
  // Takes seconds already charged from one term and charges another.
  void move(TermKind from, TermKind to, double seconds);
  void count(const Transfer& call);
  // Of products, charged to the term that is being charged.
  void count_flops(double flops) { flops_[static_cast<std::size_t>(current_)] += flops; }

  [[nodiscard]] const Terms& terms() const { return terms_; }
  [[nodiscard]] double step_seconds() const;
  [[nodiscard]] Flops flops(TermKind kind) const {
    return meshwright::flops(flops_[static_cast<std::size_t>(kind)]);
  }
  [[nodiscard]] const std::vector<Transfer>& transfers() const { return transfers_; }

 private:
  using Clock = std::chrono::steady_clock;

  Compute& compute_;
  Terms terms_{};
  Terms flops_{};
  TermKind current_ = TermKind::host;
  Clock::time_point since_ = Clock::now();
  std::vector<Transfer> transfers_;
};

// Charges a term for as long as it lives.
class TermScope {
 public:
  TermScope(Recorder& recorder, TermKind kind)
      : recorder_(recorder), before_(recorder.switch_to(kind)) {}
  TermScope(const TermScope&) = delete;
  TermScope& operator=(const TermScope&) = delete;
  ~TermScope() { recorder_.switch_to(before_); }

 private:
  Recorder& recorder_;
  TermKind before_;
};

}  // namespace meshwright::calibrate
