// SPDX-License-Identifier: Apache-2.0
// One measured time and what was timed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "calibrate/measure/kernel_sizes.h"
#include "calibrate/measure/measurement.h"
#include "sim/hardware/cluster.h"
#include "sim/kernel_time/compute.h"

namespace meshwright::calibrate {

enum class PointKind { gemm, kernel, memory_copy, host_link, kernel_launch, collective, overlap };
std::string_view name_of(PointKind kind);

struct MeasuredPoint {
  PointKind kind = PointKind::gemm;
  Precision precision = Precision::fp32;  // gemm
  GemmShape shape{};                      // gemm, overlap: op(a) is m x k, op(b) is k x n
  bool transpose_a = false, transpose_b = false, accumulate = false;
  std::string kernel{};                            // kernel: the model's name
  int launches = 1;                                // kernel: that the model charges
  std::optional<KernelSizes> sizes{};              // kernel: absent in older profiles
  Collective collective = Collective::all_reduce;  // collective
  Tier tier = Tier::intra_node;                    // collective
  int group_size = 1;                              // collective
  int ranks_per_node = 0;   // collective: of a group; 0: not recorded (older profiles)
  int groups_per_node = 0;  // collective: of such groups, at work at once on each node
  Bytes amount{};           // payload, or bytes read + written
  Measurement measurement{};
  std::string source{};     // empty: measured here; else the tool, file and hash it came from
  std::string algorithm{};  // collective: what the library chose, where it says so: "ring simple"
  // overlap: products and all-reduces, as many as take about as long as each other, alone and with
  // the other beside; `measurement` is the time until both are done.
  Seconds product_alone, collective_alone, product_beside, collective_beside;

  // overlap: (both - product alone) / collective alone, within 0 and 1.
  [[nodiscard]] double overlap_slowdown() const;
  [[nodiscard]] Seconds time() const { return measurement.summary.median; }
  // "gemm fp32 512 x 1024 x 4096", "all_reduce 1 MiB over 2 ranks"
  [[nodiscard]] std::string label() const;
};

// The same thing, timed perhaps at another time.
bool same_subject(const MeasuredPoint& a, const MeasuredPoint& b);

}  // namespace meshwright::calibrate
