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
// NCCL keeps its own queues, shorter than CUDA's. A larger message takes longer than its launch.
constexpr Bytes kLargestHeldMessage = kibibytes(64);
constexpr int kMostHeldMessages = 32;
// The fastest algorithm's time is a remark to the point's own.
constexpr double kShareOfFastest = 0.25;

// A GPU may be held until the point's work is in its queue: the bench waits for nothing.
bool only_queues(const MeasuredPoint& task) {
  if (task.is<timed::CollectiveCall>()) return task.amount <= kLargestHeldMessage;
  return task.is<timed::Gemm>() || task.is<timed::Kernel>() || task.is<timed::MemoryCopy>() ||
         task.is<timed::KernelLaunch>();
}

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

bool is_of_one_core(const MeasuredPoint& point) {
  return call_of(point.subject) == nullptr && !point.is<timed::EngineStep>() &&
         !point.is<timed::CopyOverlap>();
}

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
  MeasureOptions options = limited(patience);
  if (task.is<timed::SustainedGemm>()) {
    options = limited({kSustainedSeconds, patience.target_error});
    options.warmup_seconds = kSustainedSeconds;
  }
  const bool held = is_gpu_ && only_queues(task);
  if (held || task.is<timed::HostLaunch>()) options.most_repetitions = kMostHeldCalls;
  if (held && task.is<timed::CollectiveCall>()) options.most_repetitions = kMostHeldMessages;
  if (is_gpu_ || !is_of_one_core(task)) options.core_waits = nullptr;
  return options;
}

// An engine's step is the host's, and its recorder forgets the device's marks.
Timer PointMeasurer::timer_for(const MeasuredPoint& task) const {
  if (task.is<timed::EngineStep>()) return host_timer(steady_clock_seconds);
  if (task.is<timed::HostLaunch>()) return queueing_timer(compute_);
  const bool held = is_gpu_ && only_queues(task);
  return held ? held_device_timer(compute_, world_) : device_timer(compute_);
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

// The text of this rank, to all.
std::string PointMeasurer::told_by(int rank, std::string text) {
  std::size_t length = text.size();
  world_.host_broadcast(&length, sizeof length, rank);
  text.resize(length);
  world_.host_broadcast(text.data(), length, rank);
  return text;
}

std::optional<Unmeasured> PointMeasurer::obstacle(const std::function<std::string()>& step) {
  std::string fault;
  double lacks_memory = 0.0;
  try {
    fault = step();
    if (!fault.empty()) fault = "wrong result: " + fault;
  } catch (const OutOfMemory&) {
    lacks_memory = 1.0;
  } catch (const UnsupportedCall& refusal) {
    fault = refusal.what();
  }
  const double faulty = world_.host_max(fault.empty() ? -1.0 : world_.rank());
  if (faulty >= 0.0) return Unmeasured{told_by(static_cast<int>(faulty), fault), true};
  if (world_.host_max(lacks_memory) == 0.0) return std::nullopt;
  return Unmeasured{"a device has not enough free memory"};
}

std::variant<MeasuredPoint, Unmeasured> PointMeasurer::measured(const MeasuredPoint& task,
                                                                Patience patience,
                                                                RankTimes& rank_times) {
  const Operation operation = measured_operation(task);
  begin_operation(operation);
  if (task.is<timed::Overlap>() || task.is<timed::CopyOverlap>()) {
    return measured_overlap(task, patience);
  }
  std::unique_ptr<Bench> bench;
  const auto make = [&] {
    bench = bench_for(task);
    return std::string();
  };
  if (auto lacking = obstacle(make)) return *lacking;
  begin_operation(operation);
  if (auto wrong = obstacle([&] { return bench ? bench->check() : ""; })) return *wrong;
  world_.barrier();
  MeasuredPoint point = timed_point(task, patience, bench.get(), rank_times);
  if (auto* gemm = std::get_if<timed::Gemm>(&point.subject)) {
    gemm->fastest = fastest_algorithm(task, patience, bench.get());
  }
  return point;
}

MeasuredPoint PointMeasurer::timed_point(const MeasuredPoint& task, Patience patience, Bench* bench,
                                         RankTimes& rank_times) {
  MeasuredPoint point = task;
  const Operation operation = measured_operation(task);
  const auto work = [&](int repetitions) {
    begin_operation(operation);
    if (bench != nullptr) bench->start(repetitions);
  };
  point.measurement = measure(world_, timer_for(task), work, options_for(task, patience));
  point.state = state_at_work(bench, point.measurement.repetitions);
  point.in_cache = bench != nullptr && bench->is_warm();
  scale(point.measurement, bench != nullptr ? 1.0 / bench->units() : 1.0);
  rank_times.add(point, gathered(world_, point.measurement.own_median.value()));
  point.measurement.rank_mean = seconds(world_.host_max(point.measurement.rank_mean.value()));
  auto* collective = std::get_if<timed::CollectiveCall>(&point.subject);
  if (collective != nullptr && bench != nullptr) {
    collective->call.algorithm = group_of(shape_of(task))->chosen_algorithm();
  }
  return point;
}

// Zero where the library has no choice, or where its fastest algorithm computes something wrong.
Seconds PointMeasurer::fastest_algorithm(const MeasuredPoint& task, Patience patience,
                                         Bench* bench) {
  if (!compute_.chooses_algorithms()) return {};
  bench->use_fastest_algorithm();
  if (obstacle([&] { return bench->check(); })) return {};
  patience.seconds *= kShareOfFastest;
  const Operation operation = measured_operation(task);
  const auto work = [&](int repetitions) {
    begin_operation(operation);
    bench->start(repetitions);
  };
  return measure(world_, timer_for(task), work, options_for(task, patience)).summary.median;
}

std::variant<MeasuredPoint, Unmeasured> PointMeasurer::measured_overlap(const MeasuredPoint& task,
                                                                        Patience patience) {
  const bool copies = task.is<timed::CopyOverlap>();
  Communicator* group = copies ? nullptr : group_of(shape_of(task));
  invariant(copies || group != nullptr, "an overlap over groups in which a rank waits");
  std::unique_ptr<OverlapBench> bench;
  const auto make = [&] {
    bench = copies ? make_copy_overlap_bench(compute_, world_, task)
                   : make_overlap_bench(compute_, world_, *group, task);
    return std::string();
  };
  if (auto lacking = obstacle(make)) return *lacking;
  if (auto wrong = obstacle([&] { return bench->check(); })) return *wrong;
  return bench->measured(task, limited(patience));
}

}  // namespace meshwright::calibrate
