// SPDX-License-Identifier: Apache-2.0
// One point of a calibration, measured by all ranks together: its bench on the group that it is of,
// the check of its result, its samples, and the state of the devices at work.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "calibrate/bench/bench.h"
#include "calibrate/measure/group_shapes.h"
#include "calibrate/measure/measurement.h"
#include "calibrate/measure/rank_times.h"

namespace meshwright::calibrate {

// How long a point may take, and how well its median has to be known to be done before.
struct Patience {
  double seconds = 0.5;
  double target_error = 0.01;
};

// Why a point has no time. A fault is a product that the library lacks, or a wrong result; a device
// without enough memory is none.
struct Unmeasured {
  std::string reason;
  bool is_fault = false;
};

// On cores the time of such a point is that of each rank's own thread.
bool is_of_one_core(const MeasuredPoint& point);

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

  // Collective. Each rank's own time goes to `rank_times`. What one rank cannot do no rank
  // measures, and all get the same reason.
  std::variant<MeasuredPoint, Unmeasured> measured(const MeasuredPoint& task, Patience patience,
                                                   RankTimes& rank_times);

 private:
  [[nodiscard]] Communicator* group_of(std::size_t shape);
  [[nodiscard]] std::size_t shape_of(const MeasuredPoint& point) const;
  [[nodiscard]] std::unique_ptr<Bench> bench_for(const MeasuredPoint& task);
  [[nodiscard]] MeasureOptions limited(Patience patience) const;
  [[nodiscard]] MeasureOptions options_for(const MeasuredPoint& task, Patience patience) const;
  [[nodiscard]] Timer timer_for(const MeasuredPoint& task) const;
  [[nodiscard]] DeviceState state_at_work(Bench* bench, int repetitions);
  [[nodiscard]] MeasuredPoint timed_point(const MeasuredPoint& task, Patience patience,
                                          Bench* bench, RankTimes& rank_times);
  [[nodiscard]] Seconds fastest_algorithm(const MeasuredPoint& task, Patience patience,
                                          Bench* bench);
  [[nodiscard]] std::variant<MeasuredPoint, Unmeasured> measured_overlap(const MeasuredPoint& task,
                                                                         Patience patience);
  // Collective. Runs `step`, which returns what is wrong with a result, on this rank.
  [[nodiscard]] std::optional<Unmeasured> obstacle(const std::function<std::string()>& step);
  [[nodiscard]] std::string told_by(int rank, std::string text);

  Compute& compute_;
  Communicator& world_;
  const MeasureOptions& options_;
  const std::vector<GroupShape>& shapes_;
  bool is_gpu_;
  std::vector<std::unique_ptr<Communicator>> groups_;
  std::vector<bool> is_made_;
};

}  // namespace meshwright::calibrate
