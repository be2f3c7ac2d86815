// SPDX-License-Identifier: Apache-2.0
#include "calibrate/profile/merge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "calibrate/measure/subjects.h"
#include "calibrate/profile/device_spread.h"
#include "sim/base/error.h"
#include "sim/base/statistics.h"

namespace meshwright::calibrate {
namespace {

Summary merged(const std::vector<Summary>& all) {
  Summary result = all.front();
  std::vector<double> logs;
  result.count = 0;
  for (const Summary& s : all) {
    logs.push_back(std::log(s.median.value()));
    result.min = std::min(result.min, s.min);
    result.p10 = std::min(result.p10, s.p10);
    result.p90 = std::max(result.p90, s.p90);
    result.count += s.count;
    result.relative_spread = std::max(result.relative_spread, s.relative_spread);
  }
  if (all.size() == 1) return result;
  result.median = seconds(std::exp(mean(logs)));
  result.relative_spread = std::max(result.relative_spread, population_deviation(logs));
  return result;
}

// One thing, and every time of it.
struct TimesOfPoint {
  MeasuredPoint point;
  std::vector<Summary> all;
};

std::vector<TimesOfPoint> times_of(const std::vector<Profile>& profiles) {
  std::vector<TimesOfPoint> times;
  for (const Profile& profile : profiles) {
    for (const MeasuredPoint& p : profile.points) {
      const auto known = std::find_if(times.begin(), times.end(), [&](const TimesOfPoint& t) {
        return same_subject(t.point, p);
      });
      TimesOfPoint& t = known != times.end() ? *known : times.emplace_back(TimesOfPoint{p, {}});
      t.all.push_back(p.measurement.summary);
      t.point.measurement.noisy = t.point.measurement.noisy || p.measurement.noisy;
      t.point.state = combined({t.point.state, p.state});
    }
  }
  return times;
}

// Adds the ranks of another job on other hosts; their numbers continue.
void add_ranks(Profile& to, const Profile& from) {
  const auto first = static_cast<int>(to.ranks.size());
  for (RankSpeed rank : from.ranks) {
    rank.rank += first;
    to.ranks.push_back(rank);
  }
  for (Straggler straggler : from.stragglers) {
    straggler.rank += first;
    if (straggler.other >= 0) straggler.other += first;
    to.stragglers.push_back(straggler);
  }
}

// Without what points say.
Cluster emptied(Cluster cluster) {
  cluster.nics_per_node = 0;
  only_device(cluster).memory_bandwidth = {};
  only_device(cluster).sustained_clock_fraction = 1.0;
  only_device(cluster).gemm.clear();
  only_device(cluster).attention.clear();
  only_device(cluster).kernels.clear();
  for (Link* link : {&cluster.intra_node, &cluster.inter_node}) {
    Link fresh;
    fresh.name = link->name;
    *link = fresh;
  }
  return cluster;
}

void check_same_kind(const Profile& a, const Profile& b) {
  if (only_device(a.cluster).name != only_device(b.cluster).name) {
    throw InputError("merge", "",
                     fmt::format("the profiles are of different devices: \"{}\" and \"{}\"",
                                 only_device(a.cluster).name, only_device(b.cluster).name),
                     "a plan on a mixed cluster takes the slower device's profile");
  }
  if (a.onto != b.onto) {
    const auto words = [](const Profile& p) {
      return p.onto.empty() ? std::string("none") : fmt::format("\"{}\"", p.onto);
    };
    throw InputError("merge", "",
                     fmt::format("the profiles were measured onto different clusters: {} and {}",
                                 words(a), words(b)),
                     "calibrate each node with the same --onto");
  }
}

}  // namespace

void refit(Profile& profile) {
  // Measured onto a cluster: what its datasheets say stays, and each point replaces its older self.
  Cluster start =
      profile.onto.empty() ? emptied(std::move(profile.cluster)) : std::move(profile.cluster);
  Assembled assembled = assemble(profile.points, std::move(start));
  profile.cluster = std::move(assembled.cluster);
  profile.fits = std::move(assembled.fits);
  profile.inference = std::move(assembled.inference);
  profile.not_measured = still_missing(profile.not_measured, profile.points);
}

Profile merged(const std::vector<Profile>& profiles) {
  for (const Profile& p : profiles) check_same_kind(profiles.front(), p);
  Profile result = profiles.front();
  result.points.clear();
  for (TimesOfPoint& t : times_of(profiles)) {
    Measurement& m = t.point.measurement;
    const Seconds first = m.summary.median;
    m.summary = merged(t.all);
    for (Seconds* mean : {&m.mean, &m.rank_mean}) *mean *= m.summary.median / first;
    result.points.push_back(std::move(t.point));
  }
  std::vector<std::string> parts;
  for (const Profile& p : profiles) {
    parts.push_back(
        fmt::format("{} points of {} ({})", p.points.size(), p.machine.host, p.created));
    result.created = std::max(result.created, p.created);
    result.num_ranks = std::max(result.num_ranks, p.num_ranks);
    result.cluster.num_nodes = std::max(result.cluster.num_nodes, p.cluster.num_nodes);
    result.cluster.gpus_per_node = std::max(result.cluster.gpus_per_node, p.cluster.gpus_per_node);
    if (&p == &profiles.front()) continue;
    add_ranks(result, p);
    result.not_measured.insert(result.not_measured.end(), p.not_measured.begin(),
                               p.not_measured.end());
    result.dropped.insert(result.dropped.end(), p.dropped.begin(), p.dropped.end());
    result.notes.insert(result.notes.end(), p.notes.begin(), p.notes.end());
  }
  result.notes.push_back(fmt::format("merged: {}", fmt::join(parts, " and ")));
  if (const auto spread = spread_between_devices(profiles)) {
    result.notes.push_back(spread->sentence());
  }
  refit(result);
  return result;
}

}  // namespace meshwright::calibrate
