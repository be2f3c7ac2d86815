// SPDX-License-Identifier: Apache-2.0
// One rank's account of one step: seconds by term, every transfer that it took part in, and, when
// asked for, the intervals that the seconds are made of.
//
// Exactly one term is being charged at any time; what nobody claims is `host`. So the terms of a
// rank add up to its step, and its intervals follow each other without gaps or overlaps. Where one
// term ends and the next begins is a mark of the device (Compute::mark): nobody waits for it before
// the step's end, when the seconds are read.
#pragma once

#include <array>
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
  // Sets the micro-batch and chunk of the following intervals.
  void work_on(int micro_batch, int chunk) {
    micro_batch_ = micro_batch;
    chunk_ = chunk;
  }

  void begin_step();
  void end_step();
  // Charges `kind` with what the device does of what is asked from now on; returns what was charged
  // before.
  TermKind switch_to(TermKind kind, std::string_view name = {});
  // Charges the last `seconds` of the stretch before the last switch to `kind`, with the name
  // `name`. A shorter stretch is charged whole.
  void move_last(TermKind kind, double seconds, std::string_view name);
  // One call of a transfer, of no time.
  void count(const Transfer& call);
  // One call, whose time is the stretch that ended with the last switch.
  void count_last(const Transfer& call);
  // Adds FLOPs of GEMMs to the term that is being charged.
  void count_flops(double flops);
  // Waits until the device has done what was asked of it.
  void wait_for_device() { compute_.synchronize(); }

  // The functions below describe the last finished step.
  [[nodiscard]] const Terms& terms() const { return terms_; }
  [[nodiscard]] double step_seconds() const;
  [[nodiscard]] Flops flops(TermKind kind) const {
    return meshwright::flops(flops_[static_cast<std::size_t>(kind)]);
  }
  [[nodiscard]] const std::vector<Transfer>& transfers() const { return transfers_; }
  // Seconds of all calls of a step, waits for other ranks included; same order as transfers().
  [[nodiscard]] const std::vector<double>& transfer_seconds() const { return transfer_seconds_; }
  [[nodiscard]] const std::vector<RecordedInterval>& intervals() const { return intervals_; }

 private:
  static constexpr std::size_t kNoTransfer = static_cast<std::size_t>(-1);

  // From its mark to the next one's.
  struct Stretch {
    TermKind kind = TermKind::host;
    std::string_view name;
    int micro_batch = -1, chunk = 0;
    Compute::Mark begin = 0;
    double flops = 0.0;
    std::size_t transfer = kNoTransfer;
    TermKind moved_to = TermKind::host;
    double moved_seconds = 0.0;  // at most
    std::string_view moved_name;
  };

  void begin_stretch(TermKind kind, std::string_view name);
  [[nodiscard]] Stretch& ended_last() { return stretches_[stretches_.size() - 2]; }
  std::size_t row_of(const Transfer& call);
  void begin_waiting_for(const Stretch& stretch) const;
  // `begin`: of the stretch, since the step's.
  void charge(const Stretch& stretch, double begin, double seconds);
  void keep_interval(const Stretch& stretch, TermKind kind, std::string_view name, double begin,
                     double end);

  Compute& compute_;
  Terms terms_{};
  Terms flops_{};
  std::vector<Stretch> stretches_;  // the last one is being charged
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
