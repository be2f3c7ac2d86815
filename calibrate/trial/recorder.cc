// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/recorder.h"

#include <algorithm>
#include <numeric>

#include "calibrate/launch/rank_progress.h"

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
  transfer_seconds_.clear();
  intervals_.clear();
  work_on(-1, 0);
  current_ = TermKind::host;
  name_ = {};
  begin_ = since_ = Clock::now();
}

void Recorder::end_step() { switch_to(TermKind::host); }

void Recorder::keep_interval(Clock::time_point end) {
  if (!keeps_intervals_ || end == since_) return;
  intervals_.push_back(
      {current_, name_, micro_batch_, chunk_, since_begin(since_), since_begin(end)});
}

TermKind Recorder::switch_to(TermKind kind, std::string_view name) {
  compute_.synchronize();
  const auto now = Clock::now();
  terms_[index(current_)] += std::chrono::duration<double>(now - since_).count();
  keep_interval(now);
  since_ = now;
  name_ = name;
  const TermKind before = current_;
  current_ = kind;
  return before;
}

void Recorder::move(TermKind from, TermKind to, double seconds, std::string_view name) {
  terms_[index(from)] -= seconds;
  terms_[index(to)] += seconds;
  if (!keeps_intervals_ || intervals_.empty() || seconds <= 0.0) return;
  RecordedInterval moved = intervals_.back();
  moved.kind = to;
  moved.name = name;
  moved.begin = std::max(moved.begin, moved.end - seconds);
  intervals_.back().end = moved.begin;
  if (intervals_.back().begin == moved.begin) intervals_.pop_back();
  intervals_.push_back(moved);
}

void Recorder::count(const Transfer& call, double seconds) {
  std::size_t at = 0;
  while (at < transfers_.size() && !same_kind(transfers_[at], call)) ++at;
  if (at == transfers_.size()) {
    transfers_.push_back(call);
    transfers_.back().times_per_step = 0.0;
    transfer_seconds_.push_back(0.0);
  }
  transfers_[at].times_per_step += 1.0;
  transfer_seconds_[at] += seconds;
}

void Recorder::count_flops(double flops) {
  begin_operation({.name = "product", .slow = slow_product(meshwright::flops(flops))});
  flops_[index(current_)] += flops;
}

double Recorder::step_seconds() const { return std::accumulate(terms_.begin(), terms_.end(), 0.0); }

}  // namespace meshwright::calibrate
