// SPDX-License-Identifier: Apache-2.0
// Which ranks and links are slower than their peers: a job runs at the pace of the slowest.
//
// Modified z-score of log times: (x - median) / (1.4826 MAD), outliers above 3.5 (Iglewicz and
// Hoaglin, How to Detect and Handle Outliers, 1993, 3.3); MAD is the median distance to the median.
// MAD is at least 1 %, the best repeatability of any machine. An outlier is also at least 5 %
// slower, so that equal ranks, even thousands, are not reported.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/base/units.h"
#include "sim/hardware/cluster.h"

namespace meshwright::calibrate {

// One z-score a value; positive is slower. Fewer than three values have none: all 0.
std::vector<double> slowness_scores(std::span<const double> times);

// Time of a rank over the median rank's: 1 is like the others. 0: not measured.
struct RankSpeed {
  int rank = 0;
  int local_rank = 0;
  std::string host;
  double gemm = 0.0;     // median over products
  double memory = 0.0;   // median over kernels and copies
  double network = 0.0;  // median over its links, each against the links of its tier
  bool operator==(const RankSpeed&) const = default;
};

// A message there and back between two ranks.
struct PairTime {
  int rank = 0, other = 0;
  Tier tier = Tier::intra_node;
  Seconds time;
};

struct Straggler {
  std::string what;  // "gemm", "memory", "network", "link"
  int rank = 0;
  int other = -1;              // the other end of a link
  double relative_time = 1.0;  // over the median
  double score = 0.0;          // modified z-score; reported above 3.5
  std::string sentence{};
  bool operator==(const Straggler&) const = default;
};

// Fills `network` of each rank from the links it has, and names who is slow. A link is named unless
// one of its ends already is.
std::vector<Straggler> find_stragglers(std::vector<RankSpeed>& ranks,
                                       const std::vector<PairTime>& pairs);

}  // namespace meshwright::calibrate
