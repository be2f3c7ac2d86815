// SPDX-License-Identifier: Apache-2.0
#include "calibrate/point_measurer.h"

#include <fmt/format.h>

#include <algorithm>

#include "calibrate/bench/overlap_bench.h"
#include "calibrate/bench/point_bench.h"
#include "calibrate/launch/rank_hosts.h"
#include "calibrate/launch/rank_progress.h"
#include "calibrate/serving_bench.h"
#include "sim/base/error.h"

namespace meshwright::calibrate {
namespace {

constexpr double kGpuSample = 3e-3, kSustainedSeconds = 1.0;

Operation measured_operation(const MeasuredPoint& task) {
  const Product* product = product_of(task.subject);
  const Seconds multiplying =
      product == nullptr ? Seconds{} : slow_product(gemm_flops(product->variant.shape));
  const auto* attention = task.as<timed::Attention>();
  const Seconds attending =
      attention == nullptr ? Seconds{} : slow_product(flops(attention_flops(attention->shape)));
  return {.name = task.kind().data(),
          .amount = task.amount,
          .slow = slow_transfer(task.amount) + multiplying + attending};
}

}  // namespace

// This rank's group of this shape, null where it waits; made when first needed, by all ranks
// together.
Communicator* PointMeasurer::group_of(std::size_t shape) {
  if (!is_made_[shape]) {
    const int color = shapes_[shape].color_of_rank[static_cast<std::size_t>(world_.rank())];
    groups_[shape] = world_.split(color < 0 ? kNoGroup : color, world_.rank());
    is_made_[shape] = true;
  }
  return groups_[shape].get();
}

std::size_t PointMeasurer::shape_of(const MeasuredPoint& point) const {
  const GroupCall& call = *call_of(point.subject);
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    const Placement& p = shapes_[i].placement;
    if (p.tier() == call.tier && p.group_size == call.group_size &&
        p.ranks_per_node == call.ranks_per_node && p.groups_per_node == call.groups_per_node &&
        shapes_[i].stride == call.stride) {
      return i;
    }
  }
  throw SystemError(fmt::format("{}: these ranks form no such groups", point.label()),
                    "start as many ranks on as many nodes as the profile was measured with");
}

// Null on a rank that waits.
std::unique_ptr<Bench> PointMeasurer::bench_for(const MeasuredPoint& task) {
  if (auto bench = make_serving_bench(compute_, world_, task)) return bench;
  if (!task.is<timed::CollectiveCall>()) return make_point_bench(compute_, world_, task);
  Communicator* group = group_of(shape_of(task));
  return group == nullptr ? nullptr : make_point_bench(compute_, *group, task);
}

// Events tell a GPU's time to half a microsecond: samples of some milliseconds make that, and the
// start of the first kernel, less than a thousandth.
MeasureOptions PointMeasurer::limited(Patience patience) const {
  MeasureOptions options = options_;
  if (is_gpu_) options.shortest_sample = std::max(options.shortest_sample, kGpuSample);
  options.stop.target_error = patience.target_error;
  options.stop.max_seconds = patience.seconds;
  options.stop.min_seconds = std::min(options.stop.min_seconds, patience.seconds / 4.0);
  return options;
}

MeasureOptions PointMeasurer::options_for(const MeasuredPoint& task, Patience patience) const {
  if (!task.is<timed::SustainedGemm>()) return limited(patience);
  MeasureOptions options = limited({kSustainedSeconds, patience.target_error});
  options.warmup_seconds = kSustainedSeconds;
  return options;
}

// State of all ranks' devices while they work: the lowest clock, the highest power, all reasons.
DeviceState PointMeasurer::state_at_work(Bench* bench, int repetitions) {
  if (!is_gpu_) return {};
  if (bench != nullptr) bench->start(repetitions);
  const DeviceState mine = compute_.state();
  compute_.synchronize();
  std::vector<DeviceState> all(static_cast<std::size_t>(world_.size()));
  world_.host_gather(&mine, all.data(), sizeof mine);
  return combined(all);
}

// Collective, as what is made has to be.
bool PointMeasurer::have_memory_for(const MeasuredPoint& task, std::unique_ptr<Bench>& bench) {
  double lacking = 0.0;
  try {
    bench = bench_for(task);
  } catch (const OutOfMemory&) {
    lacking = 1.0;
  }
  return world_.host_max(lacking) == 0.0;
}

std::optional<MeasuredPoint> PointMeasurer::measured(const MeasuredPoint& task, Patience patience,
                                                     RankTimes& rank_times) {
  if (task.is<timed::Overlap>()) return measured_overlap(task, patience);
  MeasuredPoint point = task;
  const Operation operation = measured_operation(task);
  begin_operation(operation);
  std::unique_ptr<Bench> bench;
  if (!have_memory_for(task, bench)) return std::nullopt;
  begin_operation(operation);
  check(bench.get());
  const auto work = [&](int repetitions) {
    begin_operation(operation);
    if (bench) bench->start(repetitions);
  };
  // An engine's step is the host's, and its recorder forgets the device's marks.
  const Timer timer =
      task.is<timed::EngineStep>() ? host_timer(steady_clock_seconds) : device_timer(compute_);
  point.measurement = measure(world_, timer, work, options_for(task, patience));
  point.state = state_at_work(bench.get(), point.measurement.repetitions);
  point.in_cache = bench != nullptr && bench->is_warm();
  scale(point.measurement, bench ? 1.0 / bench->units() : 1.0);
  rank_times.add(point, gathered(world_, point.measurement.own_median.value()));
  point.measurement.rank_mean = seconds(world_.host_max(point.measurement.rank_mean.value()));
  if (auto* collective = std::get_if<timed::CollectiveCall>(&point.subject); collective && bench) {
    collective->call.algorithm = group_of(shape_of(task))->chosen_algorithm();
  }
  return point;
}

MeasuredPoint PointMeasurer::measured_overlap(const MeasuredPoint& task, Patience patience) {
  Communicator* group = group_of(shape_of(task));
  invariant(group != nullptr, "an overlap over groups in which a rank waits");
  return measure_overlap(compute_, world_, *group, task, limited(patience));
}

// Every rank learns of a wrong result, so that all of them end.
void PointMeasurer::check(Bench* bench) {
  const std::string wrong = bench == nullptr ? "" : bench->check();
  if (!wrong.empty()) throw SystemError("wrong result: " + wrong);
  world_.barrier();
}

}  // namespace meshwright::calibrate
