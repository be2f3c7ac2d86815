// SPDX-License-Identifier: Apache-2.0
#include "calibrate/measure/rank_times.h"

#include <utility>

#include "sim/base/statistics.h"

namespace meshwright::calibrate {
namespace {

double median_or_zero(const std::vector<double>& values) {
  return values.empty() ? 0.0 : median(values);
}

}  // namespace

RankTimes::RankTimes(std::vector<std::string> host_of_rank, std::vector<int> local_numbers)
    : hosts_(std::move(host_of_rank)),
      local_(std::move(local_numbers)),
      gemm_(hosts_.size()),
      memory_(hosts_.size()) {}

void RankTimes::add(const MeasuredPoint& point, const std::vector<double>& own) {
  const bool is_memory = point.is<timed::Kernel>() || point.is<timed::MemoryCopy>();
  if (!point.is<timed::Gemm>() && !is_memory) return;
  const double middle = median_or_zero(own);
  if (middle <= 0.0) return;
  Ratios& ratios = is_memory ? memory_ : gemm_;
  for (std::size_t rank = 0; rank < own.size(); ++rank) {
    ratios[rank].push_back(own[rank] / middle);
  }
}

std::vector<RankSpeed> RankTimes::speeds() const {
  std::vector<RankSpeed> speeds;
  for (std::size_t rank = 0; rank < hosts_.size(); ++rank) {
    speeds.push_back({.rank = static_cast<int>(rank),
                      .local_rank = local_[rank],
                      .host = hosts_[rank],
                      .gemm = median_or_zero(gemm_[rank]),
                      .memory = median_or_zero(memory_[rank])});
  }
  return speeds;
}

}  // namespace meshwright::calibrate
