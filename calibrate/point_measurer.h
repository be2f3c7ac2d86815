// SPDX-License-Identifier: Apache-2.0
// One point of a calibration, measured by all ranks together: its bench on the group that it is of,
// the check of its result, its samples, and the state of the devices at work.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "calibrate/bench/bench.h"
#include "calibrate/measure/group_shapes.h"
#include "calibrate/measure/rank_times.h"

namespace meshwright::calibrate {

// How long a point may take, and how well its median has to be known to be done before.
struct Patience {
  double seconds = 0.5;
  double target_error = 0.01;
};

class PointMeasurer {
 public:
  // Options of each point; all outlive it.
  PointMeasurer(Compute& compute, Communicator& world, const MeasureOptions& options,
                const std::vector<GroupShape>& shapes)
      : compute_(compute),
        world_(world),
        options_(options),
        shapes_(shapes),
        is_gpu_(compute.describe().device_kind() == DeviceKind::gpu),
        groups_(shapes.size()),
        is_made_(shapes.size()) {}

  // Collective. Each rank's own time goes to `rank_times`. Empty, on
  // all ranks, where one of them has not the memory. Throws SystemError where a result is wrong.
  std::optional<MeasuredPoint> measured(const MeasuredPoint& task, Patience patience,
                                        RankTimes& rank_times);

 private:
  [[nodiscard]] Communicator* group_of(std::size_t shape);
  [[nodiscard]] std::size_t shape_of(const MeasuredPoint& point) const;
  [[nodiscard]] std::unique_ptr<Bench> bench_for(const MeasuredPoint& task);
  [[nodiscard]] MeasureOptions limited(Patience patience) const;
  [[nodiscard]] MeasureOptions options_for(const MeasuredPoint& task, Patience patience) const;
  [[nodiscard]] DeviceState state_at_work(Bench* bench, int repetitions);
  [[nodiscard]] MeasuredPoint measured_overlap(const MeasuredPoint& task, Patience patience);
  [[nodiscard]] bool have_memory_for(const MeasuredPoint& task, std::unique_ptr<Bench>& bench);
  void check(Bench* bench);

  Compute& compute_;
  Communicator& world_;
  const MeasureOptions& options_;
  const std::vector<GroupShape>& shapes_;
  bool is_gpu_;
  std::vector<std::unique_ptr<Communicator>> groups_;
  std::vector<bool> is_made_;
};

}  // namespace meshwright::calibrate
