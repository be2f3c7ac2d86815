// SPDX-License-Identifier: Apache-2.0
#include "calibrate/measure/stragglers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "sim/base/statistics.h"
#include "sim/hardware/cluster.h"

namespace meshwright::calibrate {
namespace {

constexpr double kOutlier = 3.5;
constexpr double kSlowerByAtLeast = 1.05;
constexpr double kLeastDeviation = 0.01;
constexpr std::size_t kFewestRanks = 3;

// Times over their median.
std::vector<double> relative(const std::vector<double>& times) {
  std::vector<double> result;
  if (times.empty()) return result;
  const double middle = median(times);
  for (const double t : times) result.push_back(middle > 0.0 ? t / middle : 0.0);
  return result;
}

bool is_slow(double relative_time, double score) {
  return score > kOutlier && relative_time > kSlowerByAtLeast;
}

std::string who(const RankSpeed& rank) {
  return fmt::format("rank {} (number {} on {})", rank.rank, rank.local_rank, rank.host);
}

struct Resource {
  const char* name;
  double RankSpeed::*time;
  const char* hint;
};
constexpr Resource kResources[] = {
    {"gemm", &RankSpeed::gemm, "its clock may be capped, or its core or GPU shared"},
    {"memory", &RankSpeed::memory, "its memory may be shared or of another kind"},
    {"network", &RankSpeed::network, "all its links are: look at its NIC, port or cable"}};

class Finder {
 public:
  Finder(std::vector<RankSpeed>& ranks, const std::vector<PairTime>& pairs)
      : ranks_(ranks), pairs_(pairs), relative_pairs_(pairs.size()) {}

  std::vector<Straggler> find() {
    compare_pairs();
    for (const Resource& resource : kResources) name_ranks(resource);
    for (const Tier tier : {Tier::intra_node, Tier::inter_node}) name_links(tier);
    return std::move(found_);
  }

 private:
  [[nodiscard]] std::vector<std::size_t> pairs_of(Tier tier) const {
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      if (pairs_[i].tier == tier) result.push_back(i);
    }
    return result;
  }

  void compare_pairs() {
    for (const Tier tier : {Tier::intra_node, Tier::inter_node}) {
      const std::vector<std::size_t> members = pairs_of(tier);
      std::vector<double> times;
      for (const std::size_t i : members) times.push_back(pairs_[i].time.value());
      const std::vector<double> ratios = relative(times);
      for (std::size_t k = 0; k < members.size(); ++k) relative_pairs_[members[k]] = ratios[k];
    }
    for (RankSpeed& rank : ranks_) {
      std::vector<double> own;
      for (std::size_t i = 0; i < pairs_.size(); ++i) {
        if (pairs_[i].rank == rank.rank || pairs_[i].other == rank.rank) {
          own.push_back(relative_pairs_[i]);
        }
      }
      rank.network = own.empty() ? 0.0 : median(std::move(own));
    }
  }

  void name_ranks(const Resource& resource) {
    std::vector<double> times;
    for (const RankSpeed& rank : ranks_) times.push_back(rank.*resource.time);
    if (std::any_of(times.begin(), times.end(), [](double t) { return t <= 0.0; })) return;
    const std::vector<double> scores = slowness_scores(times), ratios = relative(times);
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      if (!is_slow(ratios[i], scores[i])) continue;
      if (resource.time == &RankSpeed::network) slow_ends_.insert(ranks_[i].rank);
      found_.push_back({.what = resource.name,
                        .rank = ranks_[i].rank,
                        .relative_time = ratios[i],
                        .score = scores[i],
                        .sentence = fmt::format(
                            "{} is slow: {} takes {:.2f} times the median rank's time, z-score "
                            "{:.1f}; {}",
                            who(ranks_[i]), resource.name, ratios[i], scores[i], resource.hint)});
    }
  }

  void name_links(Tier tier) {
    const std::vector<std::size_t> members = pairs_of(tier);
    std::vector<double> times;
    for (const std::size_t i : members) times.push_back(pairs_[i].time.value());
    const std::vector<double> scores = slowness_scores(times);
    for (std::size_t k = 0; k < members.size(); ++k) {
      const PairTime& pair = pairs_[members[k]];
      const double ratio = relative_pairs_[members[k]];
      const bool explained = slow_ends_.contains(pair.rank) || slow_ends_.contains(pair.other);
      if (explained || !is_slow(ratio, scores[k])) continue;
      found_.push_back(
          {.what = "link",
           .rank = pair.rank,
           .other = pair.other,
           .relative_time = ratio,
           .score = scores[k],
           .sentence = fmt::format(
               "the {} link between {} and {} is slow: {:.2f} times the median link's time, "
               "z-score {:.1f}",
               name_of(tier), who(of(pair.rank)), who(of(pair.other)), ratio, scores[k])});
    }
  }

  [[nodiscard]] const RankSpeed& of(int rank) const {
    return *std::find_if(ranks_.begin(), ranks_.end(),
                         [rank](const RankSpeed& r) { return r.rank == rank; });
  }

  std::vector<RankSpeed>& ranks_;
  const std::vector<PairTime>& pairs_;
  std::vector<double> relative_pairs_;
  std::set<int> slow_ends_;
  std::vector<Straggler> found_;
};

}  // namespace

std::vector<double> slowness_scores(std::span<const double> times) {
  std::vector<double> scores(times.size(), 0.0);
  if (times.size() < kFewestRanks) return scores;
  std::vector<double> logs;
  for (const double t : times) logs.push_back(std::log(t));
  const double middle = median(logs);
  std::vector<double> distances;
  for (const double x : logs) distances.push_back(std::abs(x - middle));
  const double deviation =
      std::max(kDeviationOfMedianDistance * median(distances), kLeastDeviation);
  for (std::size_t i = 0; i < logs.size(); ++i) scores[i] = (logs[i] - middle) / deviation;
  return scores;
}

std::vector<Straggler> find_stragglers(std::vector<RankSpeed>& ranks,
                                       const std::vector<PairTime>& pairs) {
  return Finder(ranks, pairs).find();
}

}  // namespace meshwright::calibrate
