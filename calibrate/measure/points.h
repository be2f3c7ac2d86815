// SPDX-License-Identifier: Apache-2.0
// One measured time and what was timed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "calibrate/backends/device_state.h"
#include "calibrate/measure/attention_shape.h"
#include "calibrate/measure/gemm_variant.h"
#include "calibrate/measure/kernel_sizes.h"
#include "calibrate/measure/measurement.h"
#include "calibrate/measure/serving_shapes.h"
#include "sim/hardware/cluster.h"

namespace meshwright::calibrate {

enum class HostDirection { to_device, to_host, both };
inline constexpr std::array kHostDirectionNames{EnumName{HostDirection::to_device, "to_device"},
                                                EnumName{HostDirection::to_host, "to_host"},
                                                EnumName{HostDirection::both, "both"}};
constexpr std::string_view name_of(HostDirection v) { return name_in(kHostDirectionNames, v); }

// A GEMM in a number format.
struct Product {
  Precision precision = Precision::fp32;
  GemmVariant variant{};
  bool operator==(const Product&) const = default;
};

// A collective over groups of ranks.
struct GroupCall {
  Collective collective = Collective::all_reduce;
  Tier tier = Tier::intra_node;
  int group_size = 1;       // number of ranks
  int ranks_per_node = 0;   // of a group; 0: not recorded (older profiles)
  int groups_per_node = 0;  // of such groups, at work at once on each node
  int stride = 1;           // from one rank of a group to the next, inside a node
  bool cold = false;        // several messages in turn, so that each is met in memory
  std::string algorithm{};  // the library's choice, if it states one: "ring simple"
  bool operator==(const GroupCall&) const = default;
};

// Subjects of a timing: one struct for each kind of point, with the kind's name.
namespace timed {

// The time is of the algorithm that the library names first, as frameworks run it.
struct Gemm {
  static constexpr std::string_view kName = "gemm";
  Product product{};
  Seconds fastest{};  // of the fastest of its algorithms; 0: not known, or there is no choice
  bool operator==(const Gemm&) const = default;
};
// A product after it has run for a second, when clocks have settled.
struct SustainedGemm {
  static constexpr std::string_view kName = "sustained_gemm";
  Product product{};
  bool operator==(const SustainedGemm&) const = default;
};
struct Kernel {
  static constexpr std::string_view kName = "kernel";
  std::string name{};                  // the model's
  int launches = 1;                    // that the model charges
  std::optional<KernelSizes> sizes{};  // absent in older profiles
  bool operator==(const Kernel&) const = default;
};
struct MemoryCopy {
  static constexpr std::string_view kName = "memory_copy";
  bool operator==(const MemoryCopy&) const = default;
};
struct HostLink {
  static constexpr std::string_view kName = "host_link";
  HostDirection direction = HostDirection::to_device;
  bool operator==(const HostLink&) const = default;
};
struct KernelLaunch {
  static constexpr std::string_view kName = "kernel_launch";
  bool operator==(const KernelLaunch&) const = default;
};
// The host's time to put one kernel into the device's queue.
struct HostLaunch {
  static constexpr std::string_view kName = "host_launch";
  bool operator==(const HostLaunch&) const = default;
};
struct CollectiveCall {
  static constexpr std::string_view kName = "collective";
  GroupCall call{};
  bool operator==(const CollectiveCall&) const = default;
};
// Products and collectives, as many as take about as long as each other, alone and with the other
// beside; the point's measurement is the time until both are done.
struct Overlap {
  static constexpr std::string_view kName = "overlap";
  Product product{};
  GroupCall call{};
  Seconds product_alone{}, collective_alone{}, product_beside{}, collective_beside{};
  // (both - product alone) / collective alone, within 0 and 1.
  [[nodiscard]] double slowdown(Seconds both) const;
  bool operator==(const Overlap&) const = default;
};
// Products and copies between host and device, likewise. The amount is that of one copy.
struct CopyOverlap {
  static constexpr std::string_view kName = "copy_overlap";
  Product product{};
  HostDirection direction = HostDirection::to_device;  // one way
  Seconds product_alone{}, copy_alone{}, product_beside{}, copy_beside{};
  // (both - product alone) / copy alone, within 0 and 1.
  [[nodiscard]] double slowdown(Seconds both) const;
  bool operator==(const CopyOverlap&) const = default;
};
// One pass of a model's step that each rank runs alone, beside the predicted sum of its operators.
struct StepPass {
  static constexpr std::string_view kName = "step_pass";
  ComputePass pass = ComputePass::forward;
  std::string model{};
  int layers = 1;           // of the model that were run
  std::int64_t tokens = 1;  // of the micro-batch
  Seconds operators{};      // their sum as this profile's other points predict it
  bool operator==(const StepPass&) const = default;
};
// One fused kernel: of another tool, or of a library of the device.
struct Attention {
  static constexpr std::string_view kName = "attention";
  Precision precision = Precision::fp32;
  AttentionShape shape{};
  bool operator==(const Attention&) const = default;
};

// The trial's own attention over a paged cache.
struct PagedAttention {
  static constexpr std::string_view kName = "paged_attention";
  PagedAttentionShape shape{};
  bool operator==(const PagedAttention&) const = default;
};
// The host's part of a step of the trial's inference engine.
struct EngineStep {
  static constexpr std::string_view kName = "engine_step";
  EngineStepShape shape{};
  bool operator==(const EngineStep&) const = default;
};
// A step of the engine around a whole model, beside the predicted sum of its parts.
struct ServedStep {
  static constexpr std::string_view kName = "served_step";
  ServedStepShape shape{};
  bool operator==(const ServedStep&) const = default;
};
// A prompt's cache that changes replicas; the time of one way.
struct CacheCopy {
  static constexpr std::string_view kName = "cache_copy";
  CacheCopyShape shape{};
  bool operator==(const CacheCopy&) const = default;
};

// The forward products of a layer's experts in one call: as many as the shape's batch.
struct GroupedGemm {
  static constexpr std::string_view kName = "grouped_gemm";
  Product product{};
  bool operator==(const GroupedGemm&) const = default;
};

}  // namespace timed

using Subject =
    std::variant<timed::Gemm, timed::Kernel, timed::MemoryCopy, timed::HostLink,
                 timed::KernelLaunch, timed::CollectiveCall, timed::Overlap, timed::SustainedGemm,
                 timed::Attention, timed::StepPass, timed::PagedAttention, timed::EngineStep,
                 timed::CacheCopy, timed::HostLaunch, timed::CopyOverlap, timed::ServedStep,
                 timed::GroupedGemm>;

struct MeasuredPoint {
  Subject subject{};
  Bytes amount{};  // payload, or bytes read + written
  Measurement measurement{};
  DeviceState state{};    // of the device after the last sample; of all ranks the least clock, the
                          // most power and all reasons
  bool in_cache = false;  // too small for its operands to be met in memory, as a step meets them
  std::string source{};   // empty: measured here; else the tool, file and hash it came from

  // Returns the timed subject if it is of this kind, else null.
  template <typename T>
  [[nodiscard]] const T* as() const {
    return std::get_if<T>(&subject);
  }
  template <typename T>
  [[nodiscard]] bool is() const {
    return std::holds_alternative<T>(subject);
  }
  [[nodiscard]] std::string_view kind() const;
  // The device was held back: by power, heat, or a slower peer.
  [[nodiscard]] bool throttled() const { return is_throttled(state.throttle_reasons); }
  [[nodiscard]] Seconds time() const { return measurement.summary.median; }
  // "gemm fp32 512 x 1024 x 4096", "all_reduce 1 MiB over 2 ranks"
  [[nodiscard]] std::string label() const;
  bool operator==(const MeasuredPoint&) const = default;
};

// The product that is timed, and the collective; null where there is none.
template <typename S>  // Subject, const or not
auto* product_of(S& subject) {
  using Found = std::conditional_t<std::is_const_v<S>, const Product, Product>*;
  return std::visit(
      [](auto& s) -> Found {
        if constexpr (requires { s.product; }) return &s.product;
        return nullptr;
      },
      subject);
}
template <typename S>
auto* call_of(S& subject) {
  using Found = std::conditional_t<std::is_const_v<S>, const GroupCall, GroupCall>*;
  return std::visit(
      [](auto& s) -> Found {
        if constexpr (requires { s.call; }) return &s.call;
        return nullptr;
      },
      subject);
}

// The same thing, timed perhaps at another time.
bool same_subject(const MeasuredPoint& a, const MeasuredPoint& b);

}  // namespace meshwright::calibrate
