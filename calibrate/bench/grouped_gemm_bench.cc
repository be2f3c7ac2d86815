// SPDX-License-Identifier: Apache-2.0
#include "calibrate/bench/grouped_gemm_bench.h"

#include <fmt/format.h>

#include "calibrate/backends/library_kernels.h"
#include "calibrate/bench/gemm_bench.h"
#include "calibrate/bench/sample_data.h"

namespace meshwright::calibrate {
namespace {

constexpr unsigned kTokens = 1, kWeights = 2;
constexpr int kCheckedEntries = 12;

LibraryKernels& grouped_kernels(Compute& compute, Precision precision) {
  LibraryKernels* kernels = compute.library_kernels();
  if (kernels == nullptr) throw UnsupportedCall("this backend has no grouped products");
  const std::string reason = kernels->why_no_grouped_gemm(precision);
  if (!reason.empty()) throw UnsupportedCall(reason);
  return *kernels;
}

class GroupedGemmBench final : public Bench {
 public:
  GroupedGemmBench(Compute& compute, const GemmVariant& variant, Precision precision)
      : Bench(compute),
        kernels_(grouped_kernels(compute, precision)),
        device_(compute.describe()),
        shape_(variant.shape),
        transposed_(variant.transpose_b),
        width_(static_cast<std::size_t>(bytes_per_element(precision))),
        copies_(cold_copies(footprint(), device_)),
        a_(compute, numbers(shape_.m) * width_),
        b_(compute, copies_ * weight_bytes()),
        c_(compute, copies_ * result_bytes()) {
    call_.rows.assign(static_cast<std::size_t>(shape_.batch), shape_.m);
    call_.n = shape_.n;
    call_.k = shape_.k;
    call_.transpose_b = transposed_;
    call_.precision = precision;
    call_.a = a_.data();
    fill(a_, numbers(shape_.m), kTokens);
    fill(b_, numbers(shape_.n), kWeights);
    for (std::size_t i = 1; i < copies_; ++i) {
      compute_.copy(static_cast<char*>(b_.data()) + i * weight_bytes(), b_.data(), weight_bytes());
    }
    compute_.synchronize();
  }

  void start(int repetitions) override {
    for (int i = 0; i < repetitions; ++i) {
      call_.b = static_cast<const char*>(b_.data()) + next_ * weight_bytes();
      call_.c = static_cast<char*>(c_.data()) + next_ * result_bytes();
      kernels_.grouped_gemm(call_);
      next_ = (next_ + 1) % copies_;
    }
  }
  [[nodiscard]] bool is_warm() const override {
    return stays_in_cache(footprint(), copies_, device_);
  }

  // First and last entry and evenly between.
  std::string check() override {
    compute_.fill_zero(c_.data(), c_.bytes());
    next_ = 0;
    run(1);
    const std::int64_t results = shape_.batch * shape_.m * shape_.n;
    for (int i = 0; i < kCheckedEntries; ++i) {
      std::string wrong = check_entry((results - 1) * i / (kCheckedEntries - 1));
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

 private:
  // Of all experts' tokens (edge m) or weights (edge n).
  [[nodiscard]] std::size_t numbers(std::int64_t edge) const {
    return static_cast<std::size_t>(shape_.batch * edge * shape_.k);
  }
  [[nodiscard]] std::size_t weight_bytes() const { return numbers(shape_.n) * width_; }
  [[nodiscard]] std::size_t result_bytes() const {
    return static_cast<std::size_t>(shape_.batch * shape_.m * shape_.n) * width_;
  }
  // Of what a step finds in memory: weights, and where results go.
  [[nodiscard]] Bytes footprint() const {
    return bytes(static_cast<double>(weight_bytes() + result_bytes()));
  }

  void fill(const DeviceArray& to, std::size_t count, unsigned stream) {
    const DeviceArray wide(compute_, count * sizeof(float));
    fill_repeated(compute_, wide.floats(), count,
                  sample_numbers(std::min(count, sample_period()), stream));
    compute_.convert(to.data(), call_.precision, wide.floats(), static_cast<std::int64_t>(count));
    compute_.synchronize();
  }

  [[nodiscard]] std::string check_entry(std::int64_t at) {
    const std::int64_t expert = at / (shape_.m * shape_.n), column = at % shape_.n;
    const std::int64_t token = at / shape_.n;  // of all experts
    double expected = 0.0, magnitude = 0.0;
    for (std::int64_t k = 0; k < shape_.k; ++k) {
      const std::int64_t weight = expert * shape_.k * shape_.n +
                                  (transposed_ ? column * shape_.k + k : k * shape_.n + column);
      const double product =
          static_cast<double>(
              sample_number(static_cast<std::size_t>(token * shape_.k + k), kTokens)) *
          static_cast<double>(sample_number(static_cast<std::size_t>(weight), kWeights));
      expected += product;
      magnitude += std::abs(product);
    }
    const double is = result(at);
    const Precision format = width_ == sizeof(float) ? Precision::fp32 : call_.precision;
    // tf32 keeps 10 bits of the operands, which hold these numbers exactly.
    const GemmTolerance tolerance = gemm_tolerance(call_.precision, false, format);
    if (std::abs(is - expected) <= tolerance.of(expected, magnitude)) return "";
    return fmt::format("grouped product {} x ({} x {} x {}): entry {} is {}, {} was expected",
                       shape_.batch, shape_.m, shape_.n, shape_.k, at, is, expected);
  }
  [[nodiscard]] double result(std::int64_t at) {
    const auto index = static_cast<std::size_t>(at);
    if (width_ == sizeof(float)) return downloaded(compute_, c_.floats() + index, 1)[0];
    std::uint16_t bits = 0;
    compute_.download(&bits, static_cast<const char*>(c_.data()) + index * width_, sizeof bits);
    return call_.precision == Precision::bf16 ? from_bf16(bits) : from_fp16(bits);
  }

  LibraryKernels& kernels_;
  DeviceDescription device_;
  GemmShape shape_;
  bool transposed_;
  std::size_t width_;   // bytes of a number
  std::size_t copies_;  // of weights and results, used in turn
  DeviceArray a_, b_, c_;
  GroupedGemmCall call_;
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Bench> make_grouped_gemm_bench(Compute& compute, const GemmVariant& variant,
                                               Precision precision) {
  return std::make_unique<GroupedGemmBench>(compute, variant, precision);
}

}  // namespace meshwright::calibrate
