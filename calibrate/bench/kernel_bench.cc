// SPDX-License-Identifier: Apache-2.0
#include "calibrate/bench/kernel_bench.h"

#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

#include "calibrate/bench/kernel_benches.h"
#include "sim/base/error.h"
#include "sim/operators/operators.h"

namespace meshwright::calibrate {
namespace {

constexpr double kFloat = 4.0;  // bytes

// The same kernel on several sets of arrays in turn, but for what a step has just touched.
class ColdBench : public Bench {
 public:
  using Make = std::unique_ptr<KernelBench> (*)(Compute&, const KernelSizes&, FreshArrays&);
  ColdBench(Compute& compute, Make make, const KernelSizes& sizes)
      : Bench(compute), device_(compute.describe()) {
    copies_.push_back(make(compute, sizes, fresh_));
    const Bytes each = copies_.front()->footprint();
    const std::size_t wanted = each.value() > 0.0 ? cold_copies(each, device_) : 1;
    while (copies_.size() < wanted) copies_.push_back(make(compute, sizes, fresh_));
  }
  std::string check() override { return copies_.front()->check(); }
  void start(int repetitions) override {
    for (int i = 0; i < repetitions; ++i) {
      copies_[next_]->once();
      next_ = (next_ + 1) % copies_.size();
    }
  }
  [[nodiscard]] bool is_warm() const override {
    const Bytes each = copies_.front()->footprint();
    return each.value() > 0.0 && stays_in_cache(each, copies_.size(), device_);
  }

 private:
  DeviceDescription device_;
  FreshArrays fresh_;
  std::vector<std::unique_ptr<KernelBench>> copies_;
  std::size_t next_ = 0;
};

struct Entry {
  std::string_view kernel;
  // Elements that sim counts, times how often forward and backward touch each; bytes per touch.
  double (*elements)(const KernelSizes&);
  double touches;
  int launches;
  ColdBench::Make make;
};

// A gated activation reads gates and values, and leaves gradients of both.
Bytes traffic_of(const Entry& entry, const KernelSizes& sizes) {
  const bool gated = sizes.gated && entry.kernel == kernel::kActivation;
  const double touches = gated ? 3 + 5 : entry.touches;
  return bytes(kFloat * touches * entry.elements(sizes));
}

double activations(const KernelSizes& s) { return static_cast<double>(s.rows() * s.hidden); }

// Touches: operators.cc, attention_operators.cc, mlp_operators.cc (forward + backward); the
// optimizer's 7 (gradient read; weight and two moments read and written): evaluate.cc.
constexpr std::array<Entry, 10> kEntries{{
    {kernel::kLayerNorm, activations, 2 + 3, 2, layer_norm_bench},
    {kernel::kRmsNorm, activations, 2 + 3, 2, rms_norm_bench},
    {kernel::kRotary, activations, 2 + 2, 2, rotary_bench},
    {kernel::kActivation,
     [](const KernelSizes& s) { return static_cast<double>(s.rows() * s.ffn); }, 2 + 3, 2,
     activation_bench},
    {kernel::kSoftmax,
     [](const KernelSizes& s) {
       return static_cast<double>(s.batch * s.heads * s.positions * s.positions);
     },
     2 + 3, 2, softmax_bench},
    {kernel::kAdd, activations, 3 + 3, 2, add_bench},
    {kernel::kTranspose, [](const KernelSizes& s) { return 3.0 * activations(s); }, 2 + 2, 2,
     transpose_bench},
    {kernel::kEmbedding, activations, 2 + 3, 2, embedding_bench},
    {kernel::kCrossEntropy,
     [](const KernelSizes& s) { return static_cast<double>(s.rows() * s.vocab); }, 3 + 2, 2,
     cross_entropy_bench},
    {kernel::kAdam, [](const KernelSizes& s) { return static_cast<double>(adam_parameters(s)); }, 7,
     1, adam_bench},
}};

// Touches of 4 bytes, a number: casts read 2 bytes and write 1 or 2, a transpose moves 1 + 1, the
// largest magnitude reads 2.
constexpr std::array<Entry, 4> kNarrowEntries{{
    {narrow_kernel::kCast, activations, 3.0 / kFloat, 1, cast_bench},
    {narrow_kernel::kCastTranspose, activations, 4.0 / kFloat, 1, cast_transpose_bench},
    {narrow_kernel::kTranspose, activations, 2.0 / kFloat, 1, narrow_transpose_bench},
    {narrow_kernel::kLargest, activations, 2.0 / kFloat, 1, largest_bench},
}};

template <std::size_t kCount>
std::vector<KernelCase> cases_of(const std::array<Entry, kCount>& entries,
                                 const KernelSizes& sizes) {
  std::vector<KernelCase> cases;
  for (const Entry& entry : entries) {
    cases.push_back(
        {.kernel = entry.kernel, .traffic = traffic_of(entry, sizes), .launches = entry.launches});
  }
  return cases;
}

const Entry* entry_of(std::string_view kernel) {
  for (const Entry& entry : kEntries) {
    if (entry.kernel == kernel) return &entry;
  }
  for (const Entry& entry : kNarrowEntries) {
    if (entry.kernel == kernel) return &entry;
  }
  return nullptr;
}

}  // namespace

std::string compare_kernel(std::string_view what, double is, double expected) {
  constexpr double kTolerance = 2e-4;
  if (std::abs(is - expected) <= kTolerance * std::max(1.0, std::abs(expected))) return "";
  return fmt::format("kernel {}: {} where {} was expected", what, is, expected);
}

std::vector<KernelCase> kernel_cases(const KernelSizes& sizes) { return cases_of(kEntries, sizes); }
std::vector<KernelCase> narrow_kernel_cases(const KernelSizes& sizes) {
  return cases_of(kNarrowEntries, sizes);
}

std::unique_ptr<Bench> make_kernel_bench(Compute& compute, std::string_view kernel,
                                         const KernelSizes& sizes) {
  const Entry* entry = entry_of(kernel);
  invariant(entry != nullptr, "a kernel that no bench knows");
  return std::make_unique<ColdBench>(compute, entry->make, sizes);
}

}  // namespace meshwright::calibrate
