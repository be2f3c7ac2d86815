// SPDX-License-Identifier: Apache-2.0
#include "calibrate/bench/point_bench.h"

#include "calibrate/bench/collective_bench.h"
#include "calibrate/bench/gemm_bench.h"
#include "calibrate/bench/kernel_bench.h"
#include "calibrate/bench/memory_bench.h"
#include "sim/base/error.h"

namespace meshwright::calibrate {

bool can_be_timed(const MeasuredPoint& point) {
  if (point.kind == PointKind::kernel) return point.sizes.has_value();
  const bool has_groups = point.kind == PointKind::collective || point.kind == PointKind::overlap;
  if (!point.source.empty()) return false;               // by somebody else, perhaps elsewhere
  if (point.kind == PointKind::attention) return false;  // other tools' kernels
  if (has_groups) return point.ranks_per_node > 0;
  return true;
}

std::unique_ptr<Bench> make_point_bench(Compute& compute, Communicator& group,
                                        const MeasuredPoint& point) {
  invariant(can_be_timed(point), "a point that does not say what was timed");
  switch (point.kind) {
    case PointKind::gemm:
    case PointKind::sustained_gemm:
      return make_gemm_bench(compute,
                             {point.shape, point.transpose_a, point.transpose_b, point.accumulate},
                             point.precision);
    case PointKind::kernel:
      return make_kernel_bench(compute, point.kernel, *point.sizes);
    case PointKind::memory_copy:
      return make_copy_bench(compute, point.amount * 0.5);
    case PointKind::host_link:
      return make_host_link_bench(compute, point.amount, point.direction);
    case PointKind::kernel_launch:
      return make_launch_bench(compute);
    case PointKind::collective:
    case PointKind::attention:
    case PointKind::overlap:  // measure_overlap times it
      break;
  }
  return make_collective_bench(compute, group, point.collective, point.amount, point.cold);
}

}  // namespace meshwright::calibrate
