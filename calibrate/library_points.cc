// SPDX-License-Identifier: Apache-2.0
#include "calibrate/library_points.h"

#include <algorithm>
#include <array>

#include "calibrate/backends/library_kernels.h"
#include "calibrate/bench/attention_bench.h"
#include "calibrate/bench/gemm_bench.h"
#include "calibrate/bench/kernel_bench.h"
#include "calibrate/sweep.h"

namespace meshwright::calibrate {
namespace {

constexpr std::int64_t kTokensOfAPass = 16384;
constexpr std::array<std::int64_t, 4> kLengths{1024, 2048, 4096, 8192};
constexpr std::size_t kMostAttentions = 3;  // shapes of a model

std::vector<AttentionShape> general_attentions() {
  std::vector<AttentionShape> shapes;
  for (const std::int64_t width : {64, 128}) {
    shapes.push_back({.batch = kTokensOfAPass / kLengths[2],
                      .heads = 16,
                      .query_groups = 16,
                      .positions = kLengths[2],
                      .head_dim = width});
  }
  return shapes;
}

// The shape itself, then the same heads at the other lengths.
std::vector<AttentionShape> at_all_lengths(const AttentionShape& shape) {
  std::vector<AttentionShape> shapes{shape};
  for (const std::int64_t length : kLengths) {
    AttentionShape other = shape;
    other.positions = length;
    other.batch = std::max<std::int64_t>(1, kTokensOfAPass / length);
    if (length != shape.positions) shapes.push_back(other);
  }
  return shapes;
}

class LibraryPlanner {
 public:
  LibraryPlanner(const Workload& workload, const SweepLimits& limits)
      : workload_(workload), limits_(limits) {}

  std::vector<MeasuredPoint> plan() {
    const bool bf16 = limits_.supports(Precision::bf16);
    const Precision sixteen = bf16 ? Precision::bf16 : Precision::fp16;
    add_attentions(sixteen);
    add_grouped_gemms(sixteen);
    add_casts();
    return std::move(points_);
  }

 private:
  void add(Subject subject, Bytes amount) {
    points_.push_back({.subject = std::move(subject), .amount = amount});
  }
  [[nodiscard]] bool fits(Bytes memory) const { return memory <= limits_.bench_memory(); }

  void add_attentions(Precision precision) {
    std::vector<AttentionShape> shapes = workload_.attentions;
    if (shapes.empty()) shapes = general_attentions();
    if (shapes.size() > kMostAttentions) shapes.resize(kMostAttentions);
    for (const AttentionShape& shape : shapes) {
      for (AttentionShape each : at_all_lengths(shape)) {
        for (const bool backward : {false, true}) {
          each.backward = backward;
          add_attention(each, precision);
        }
      }
    }
  }
  void add_attention(const AttentionShape& shape, Precision precision) {
    // Collective, so before what this rank's own memory says.
    if (!limits_.library.attends(shape, precision)) return;
    if (!fits(attention_memory(shape, precision))) return;
    // No transfer; as of imported times, a point says what it is by its shape.
    add(timed::Attention{precision, shape}, bytes(1));
  }

  void add_grouped_gemms(Precision precision) {
    if (!limits_.library.groups_products(precision)) return;
    std::vector<GemmVariant> variants = workload_.grouped_gemms;
    if (workload_.gemms.empty()) {
      for (const std::int64_t rows : {128, 512, 2048}) {
        variants.push_back({.shape = {8, rows, 2048, 4096}, .fresh = {.a = true}});
      }
    }
    for (const GemmVariant& variant : variants) {
      const Bytes memory = gemm_memory(variant.shape, precision);
      if (!fits(memory)) continue;
      add(timed::GroupedGemm{{precision, variant}}, memory);
      // The one batched product that the model knows of, to compare with.
      add(timed::Gemm{{precision, variant}}, memory);
    }
  }

  void add_casts() {
    if (!limits_.library.casts_to_fp8 || !limits_.supports(Precision::fp8)) return;
    const auto& names = workload_.kernel_names;
    if (!names.empty() && names.find(kernel::kQuantize) == names.end()) return;
    std::vector<KernelSizes> sizes = workload_.kernels;
    if (sizes.empty()) {
      sizes = {{.positions = 2048, .batch = 1, .hidden = 4096},
               {.positions = 8192, .batch = 1, .hidden = 4096}};
    }
    for (const KernelSizes& size : sizes) {
      const bool whole_tiles = size.rows() % LibraryKernels::kFp8Tile == 0 &&
                               size.hidden % LibraryKernels::kFp8Tile == 0;
      for (const KernelCase& c : narrow_kernel_cases(size)) {
        if (!fits(c.traffic)) continue;
        if (!whole_tiles && c.kernel == narrow_kernel::kCastTranspose) continue;
        add(timed::Kernel{std::string(c.kernel), c.launches, size}, c.traffic);
      }
    }
  }

  const Workload& workload_;
  const SweepLimits& limits_;
  std::vector<MeasuredPoint> points_;
};

}  // namespace

LibraryAbilities library_abilities(Compute& compute, Communicator& world) {
  LibraryKernels* const kernels = compute.library_kernels();
  const auto on_all_ranks = [&world](bool here) { return world.host_max(here ? 0.0 : 1.0) == 0.0; };
  if (!on_all_ranks(kernels != nullptr)) return {};
  LibraryAbilities abilities;
  abilities.attends = [kernels, on_all_ranks](const AttentionShape& shape, Precision precision) {
    return on_all_ranks(kernels->why_no_attention(attention_call(shape, precision)).empty());
  };
  abilities.groups_products = [kernels, on_all_ranks](Precision precision) {
    return on_all_ranks(kernels->why_no_grouped_gemm(precision).empty());
  };
  abilities.casts_to_fp8 = on_all_ranks(kernels->casts_to_fp8());
  return abilities;
}

std::vector<MeasuredPoint> library_points(const Workload& workload, const SweepLimits& limits) {
  return LibraryPlanner(workload, limits).plan();
}

void add_attention_demand(Workload& workload, const Model& model, const Job& job, int tensor_size,
                          int micro_batch_size) {
  if (model.mla) return;
  AttentionShape shape;
  shape.batch = micro_batch_size;
  shape.heads = std::max(1, model.num_attention_heads / tensor_size);
  shape.query_groups = std::max(1, model.num_query_groups / tensor_size);
  shape.positions = job.seq_length;
  shape.head_dim = model.kv_channels;
  if (shape.heads % shape.query_groups != 0) return;
  const auto& known = workload.attentions;
  if (std::find(known.begin(), known.end(), shape) == known.end()) {
    workload.attentions.push_back(shape);
  }
}

}  // namespace meshwright::calibrate
