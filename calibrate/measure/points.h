// SPDX-License-Identifier: Apache-2.0
// One measured time and what was timed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "calibrate/backends/device_state.h"
#include "calibrate/measure/attention_shape.h"
#include "calibrate/measure/kernel_sizes.h"
#include "calibrate/measure/measurement.h"
#include "sim/hardware/cluster.h"
#include "sim/kernel_time/compute.h"

namespace meshwright::calibrate {

// sustained_gemm: a product after it has run for a second, when clocks have settled. attention: one
// fused kernel, timed by another tool.
enum class PointKind {
  gemm,
  kernel,
  memory_copy,
  host_link,
  kernel_launch,
  collective,
  overlap,
  sustained_gemm,
  attention
};
inline constexpr std::array kPointKindNames{EnumName{PointKind::gemm, "gemm"},
                                            EnumName{PointKind::kernel, "kernel"},
                                            EnumName{PointKind::memory_copy, "memory_copy"},
                                            EnumName{PointKind::host_link, "host_link"},
                                            EnumName{PointKind::kernel_launch, "kernel_launch"},
                                            EnumName{PointKind::collective, "collective"},
                                            EnumName{PointKind::overlap, "overlap"},
                                            EnumName{PointKind::sustained_gemm, "sustained_gemm"},
                                            EnumName{PointKind::attention, "attention"}};
constexpr std::string_view name_of(PointKind v) { return name_in(kPointKindNames, v); }

enum class HostDirection { to_device, to_host, both };
inline constexpr std::array kHostDirectionNames{EnumName{HostDirection::to_device, "to_device"},
                                                EnumName{HostDirection::to_host, "to_host"},
                                                EnumName{HostDirection::both, "both"}};
constexpr std::string_view name_of(HostDirection v) { return name_in(kHostDirectionNames, v); }

struct MeasuredPoint {
  PointKind kind = PointKind::gemm;
  Precision precision = Precision::fp32;  // gemm, sustained_gemm, overlap
  GemmShape shape{};                      // of the same: op(a) is m x k, op(b) is k x n
  bool transpose_a = false, transpose_b = false, accumulate = false;
  std::string kernel{};                            // kernel: the model's name
  int launches = 1;                                // kernel: that the model charges
  std::optional<AttentionShape> attention{};       // attention
  std::optional<KernelSizes> sizes{};              // kernel: absent in older profiles
  Collective collective = Collective::all_reduce;  // collective
  Tier tier = Tier::intra_node;                    // collective
  int group_size = 1;                              // collective
  int ranks_per_node = 0;   // collective: of a group; 0: not recorded (older profiles)
  int groups_per_node = 0;  // collective: of such groups, at work at once on each node
  Bytes amount{};           // payload, or bytes read + written
  Measurement measurement{};
  int stride = 1;     // collective: from one rank of a group to the next, inside a node
  bool cold = false;  // collective: several messages in turn, so that each is met in memory
  HostDirection direction = HostDirection::to_device;  // host_link
  DeviceState state{};    // of the device after the last sample; of all ranks the least clock, the
                          // most power and all reasons
  bool in_cache = false;  // too small for its operands to be met in memory, as a step meets them
  std::string source{};   // empty: measured here; else the tool, file and hash it came from
  std::string algorithm{};  // collective: what the library chose, where it says so: "ring simple"
  // overlap: products and all-reduces, as many as take about as long as each other, alone and with
  // the other beside; `measurement` is the time until both are done.
  Seconds product_alone, collective_alone, product_beside, collective_beside;

  // overlap: (both - product alone) / collective alone, within 0 and 1.
  [[nodiscard]] double overlap_slowdown() const;
  // The device was held back: by power, heat, or a slower peer.
  [[nodiscard]] bool throttled() const { return is_throttled(state.throttle_reasons); }
  [[nodiscard]] bool multiplies() const {
    return kind == PointKind::gemm || kind == PointKind::overlap ||
           kind == PointKind::sustained_gemm;
  }
  [[nodiscard]] Seconds time() const { return measurement.summary.median; }
  // "gemm fp32 512 x 1024 x 4096", "all_reduce 1 MiB over 2 ranks"
  [[nodiscard]] std::string label() const;
  bool operator==(const MeasuredPoint&) const = default;
};

// The same thing, timed perhaps at another time.
bool same_subject(const MeasuredPoint& a, const MeasuredPoint& b);

}  // namespace meshwright::calibrate
