// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/ranks/recorder.h"

#include <algorithm>
#include <numeric>

#include "calibrate/launch/rank_progress.h"

namespace meshwright::calibrate {
namespace {

std::size_t record_index(TermKind kind) { return static_cast<std::size_t>(kind); }

bool same_kind(const Transfer& a, const Transfer& b) {
  return a.name == b.name && a.group == b.group && a.collective == b.collective &&
         a.phase == b.phase && a.payload == b.payload;
}

}  // namespace

void Recorder::begin_step() {
  compute_.synchronize();
  compute_.forget_marks();
  terms_.fill(0.0);
  flops_.fill(0.0);
  transfers_.clear();
  transfer_seconds_.clear();
  intervals_.clear();
  stretches_.clear();
  work_on(-1, 0);
  begin_stretch(TermKind::host, {});
}

void Recorder::end_step() {
  begin_stretch(TermKind::host, {});
  double begin = 0.0;
  for (std::size_t i = 0; i + 1 < stretches_.size(); ++i) {
    const Stretch& stretch = stretches_[i];
    begin_waiting_for(stretch);
    const double seconds = compute_.seconds_between(stretch.begin, stretches_[i + 1].begin);
    charge(stretch, begin, seconds);
    begin += seconds;
  }
  stretches_.clear();
}

// The watch over ranks sees the device go on, stretch by stretch.
void Recorder::begin_waiting_for(const Stretch& stretch) const {
  const bool transfer = stretch.transfer != kNoTransfer;
  const Bytes payload = transfer ? transfers_[stretch.transfer].payload : Bytes{};
  begin_operation({.name = transfer ? "transfer on the device" : "work on the device",
                   .amount = payload,
                   .slow = slow_product(meshwright::flops(stretch.flops)) + slow_transfer(payload),
                   .waits = transfer});
}

void Recorder::charge(const Stretch& stretch, double begin, double seconds) {
  const double moved = std::min(seconds, stretch.moved_seconds);
  terms_[record_index(stretch.kind)] += seconds - moved;
  terms_[record_index(stretch.moved_to)] += moved;
  flops_[record_index(stretch.kind)] += stretch.flops;
  if (stretch.transfer != kNoTransfer) transfer_seconds_[stretch.transfer] += seconds;
  const double end = begin + seconds;
  keep_interval(stretch, stretch.kind, stretch.name, begin, end - moved);
  keep_interval(stretch, stretch.moved_to, stretch.moved_name, end - moved, end);
}

void Recorder::keep_interval(const Stretch& stretch, TermKind kind, std::string_view name,
                             double begin, double end) {
  if (!keeps_intervals_ || end <= begin) return;
  intervals_.push_back({kind, name, stretch.micro_batch, stretch.chunk, begin, end});
}

void Recorder::begin_stretch(TermKind kind, std::string_view name) {
  Stretch stretch;
  stretch.kind = kind;
  stretch.name = name;
  stretch.micro_batch = micro_batch_;
  stretch.chunk = chunk_;
  stretch.begin = compute_.mark();
  stretches_.push_back(stretch);
}

TermKind Recorder::switch_to(TermKind kind, std::string_view name) {
  const TermKind before = stretches_.empty() ? TermKind::host : stretches_.back().kind;
  if (!stretches_.empty()) begin_stretch(kind, name);
  return before;
}

void Recorder::move_last(TermKind kind, double seconds, std::string_view name) {
  if (stretches_.size() < 2) return;
  ended_last().moved_to = kind;
  ended_last().moved_seconds = seconds;
  ended_last().moved_name = name;
}

std::size_t Recorder::row_of(const Transfer& call) {
  std::size_t at = 0;
  while (at < transfers_.size() && !same_kind(transfers_[at], call)) ++at;
  if (at == transfers_.size()) {
    transfers_.push_back(call);
    transfers_.back().times_per_step = 0.0;
    transfer_seconds_.push_back(0.0);
  }
  return at;
}

void Recorder::count(const Transfer& call) { transfers_[row_of(call)].times_per_step += 1.0; }

void Recorder::count_last(const Transfer& call) {
  count(call);
  if (stretches_.size() >= 2) ended_last().transfer = row_of(call);
}

void Recorder::count_flops(double flops) {
  begin_operation({.name = "product", .slow = slow_product(meshwright::flops(flops))});
  if (!stretches_.empty()) stretches_.back().flops += flops;
}

double Recorder::step_seconds() const { return std::accumulate(terms_.begin(), terms_.end(), 0.0); }

}  // namespace meshwright::calibrate
