// SPDX-License-Identifier: Apache-2.0
#include "calibrate/profile/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibrate/measure/subjects.h"
#include "sim/base/error.h"

namespace meshwright::calibrate {
namespace {

Summary merged(const Summary& a, const Summary& b) {
  const double x = a.median.value(), y = b.median.value();
  return {.median = seconds(std::sqrt(x * y)),
          .min = std::min(a.min, b.min),
          .p10 = std::min(a.p10, b.p10),
          .p90 = std::max(a.p90, b.p90),
          .count = a.count + b.count,
          .relative_spread =
              std::max({a.relative_spread, b.relative_spread, std::abs(std::log(x / y)) / 2.0})};
}

void add(std::vector<MeasuredPoint>& points, const MeasuredPoint& point) {
  const auto same = std::find_if(points.begin(), points.end(),
                                 [&](const MeasuredPoint& p) { return same_subject(p, point); });
  if (same == points.end()) {
    points.push_back(point);
    return;
  }
  Measurement& m = same->measurement;
  m.summary = merged(m.summary, point.measurement.summary);
  m.noisy = m.noisy || point.measurement.noisy;
}

// Of another job on other hosts; ranks count on.
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
  cluster.device.gemm.clear();
  cluster.device.kernels.clear();
  for (Link* link : {&cluster.intra_node, &cluster.inter_node}) {
    Link fresh;
    fresh.name = link->name;
    *link = fresh;
  }
  return cluster;
}

}  // namespace

void refit(Profile& profile) {
  Assembled assembled = assemble(profile.points, emptied(std::move(profile.cluster)));
  profile.cluster = std::move(assembled.cluster);
  profile.fits = std::move(assembled.fits);
  profile.not_measured = still_missing(profile.not_measured, profile.points);
}

Profile merged(const Profile& a, const Profile& b) {
  if (a.cluster.device.name != b.cluster.device.name) {
    throw InputError("merge", "",
                     fmt::format("the profiles are of different devices: \"{}\" and \"{}\"",
                                 a.cluster.device.name, b.cluster.device.name),
                     "a plan on a mixed cluster takes the slower device's profile");
  }
  Profile result = a;
  result.created = std::max(a.created, b.created);
  for (const MeasuredPoint& point : b.points) add(result.points, point);
  add_ranks(result, b);
  result.not_measured.insert(result.not_measured.end(), b.not_measured.begin(),
                             b.not_measured.end());
  for (const std::string& note : b.notes) result.notes.push_back(note);
  result.notes.push_back(fmt::format("merged: {} points of {} ({}) and {} points of {} ({})",
                                     a.points.size(), a.machine.host, a.created, b.points.size(),
                                     b.machine.host, b.created));
  result.cluster.num_nodes = std::max(a.cluster.num_nodes, b.cluster.num_nodes);
  result.cluster.gpus_per_node = std::max(a.cluster.gpus_per_node, b.cluster.gpus_per_node);
  refit(result);
  return result;
}

}  // namespace meshwright::calibrate
