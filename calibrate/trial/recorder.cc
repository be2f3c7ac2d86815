// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/recorder.h"

#include <numeric>

namespace meshwright::calibrate {
namespace {

std::size_t index(TermKind kind) { return static_cast<std::size_t>(kind); }

bool same_kind(const Transfer& a, const Transfer& b) {
  return a.name == b.name && a.group == b.group && a.collective == b.collective &&
         a.phase == b.phase && a.payload == b.payload;
}

}  // namespace

void Recorder::begin_step() {
  compute_.synchronize();
  terms_.fill(0.0);
  flops_.fill(0.0);
  transfers_.clear();
  current_ = TermKind::host;
  since_ = Clock::now();
}

void Recorder::end_step() { switch_to(TermKind::host); }

TermKind Recorder::switch_to(TermKind kind) {
  compute_.synchronize();
  const auto now = Clock::now();
  terms_[index(current_)] += std::chrono::duration<double>(now - since_).count();
  since_ = now;
  const TermKind before = current_;
  current_ = kind;
  return before;
}

void Recorder::move(TermKind from, TermKind to, double seconds) {
  terms_[index(from)] -= seconds;
  terms_[index(to)] += seconds;
}

void Recorder::count(const Transfer& call) {
  for (Transfer& t : transfers_) {
    if (!same_kind(t, call)) continue;
    t.times_per_step += 1.0;
    return;
  }
  transfers_.push_back(call);
  transfers_.back().times_per_step = 1.0;
}

double Recorder::step_seconds() const { return std::accumulate(terms_.begin(), terms_.end(), 0.0); }

}  // namespace meshwright::calibrate
