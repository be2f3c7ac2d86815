// SPDX-License-Identifier: Apache-2.0
#include "calibrate/launch/rank_watch.h"

#include <fmt/format.h>

#include <algorithm>

namespace meshwright::calibrate {

RankWatch::RankWatch(int ranks, Seconds timeout, double now)
    : ranks_(static_cast<std::size_t>(ranks)), timeout_(timeout.value()) {
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    ranks_[i].report.rank = static_cast<int>(i);
    ranks_[i].report.operation = "none";
    ranks_[i].heard = ranks_[i].moved = now;
  }
}

bool RankWatch::read_line(std::string_view line, double now) {
  const std::optional<RankReport> report = report_from_line(line);
  if (!report) return false;
  const auto index = static_cast<std::size_t>(report->rank);
  if (index >= ranks_.size()) return true;
  Rank& rank = ranks_[index];
  if (rank.report.operations != report->operations) rank.moved = now;
  rank.heard = now;
  rank.report = *report;
  return true;
}

bool RankWatch::is_silent(const Rank& rank, double now) const {
  return now - rank.heard > timeout_;
}

bool RankWatch::has_not_moved(const Rank& rank, double now) const {
  return now - rank.moved > timeout_ + rank.report.slow_seconds;
}

const RankWatch::Rank* RankWatch::rank_at_fault(double now) const {
  const auto longest_silent = std::min_element(
      ranks_.begin(), ranks_.end(), [](const Rank& a, const Rank& b) { return a.heard < b.heard; });
  if (is_silent(*longest_silent, now)) return &*longest_silent;
  const auto hanging = std::find_if(ranks_.begin(), ranks_.end(), [&](const Rank& r) {
    return !r.report.waits && has_not_moved(r, now);
  });
  if (hanging != ranks_.end()) return &*hanging;
  const bool all_wait = std::all_of(ranks_.begin(), ranks_.end(), [&](const Rank& r) {
    return r.report.waits && has_not_moved(r, now);
  });
  if (!all_wait) return nullptr;
  // Reports come several times within a timeout: one that is overdue gives a stopped rank away.
  if (now - longest_silent->heard > timeout_ / 3.0) return &*longest_silent;
  return &*std::min_element(ranks_.begin(), ranks_.end(), [](const Rank& a, const Rank& b) {
    return a.report.operations < b.report.operations;
  });
}

// A stopped rank cannot report its last second, but the ranks that wait for it can.
std::string RankWatch::who_waits() const {
  const auto waiting =
      std::find_if(ranks_.begin(), ranks_.end(), [](const Rank& r) { return r.report.waits; });
  if (waiting == ranks_.end()) return "";
  return fmt::format("; rank {} waits {}", waiting->report.rank, waiting->report.operation);
}

std::optional<RankFailure> RankWatch::stuck(double now) const {
  const Rank* rank = rank_at_fault(now);
  if (rank == nullptr) return std::nullopt;
  const RankReport& r = rank->report;
  RankFailure failure{.rank = r.rank, .host = r.host, .cause = ""};
  if (now - rank->heard > timeout_ / 3.0) {
    failure.cause = fmt::format(
        "has not been heard of for {:.0f} s (its process is stopped, or its host is gone); last "
        "operation: {}{}",
        now - rank->heard, r.operation, who_waits());
  } else {
    failure.cause = fmt::format("no progress for {:.0f} s; last operation: {}{}", now - rank->moved,
                                r.operation, r.waits ? "; all ranks wait for each other" : "");
  }
  return failure;
}

}  // namespace meshwright::calibrate
