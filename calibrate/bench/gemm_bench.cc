// SPDX-License-Identifier: Apache-2.0
#include "calibrate/bench/gemm_bench.h"

#include <fmt/format.h>

#include <cmath>

#include "calibrate/bench/sample_data.h"
#include "sim/base/job.h"

namespace meshwright::calibrate {
namespace {

constexpr int kSampledEntries = 16;
// Of the sum of the products' magnitudes: operands are exact, so only fp32 accumulation errs.
constexpr double kTolerance = 1e-5;

std::size_t aligned(double bytes) {
  constexpr std::size_t kAlignment = 256;
  return (static_cast<std::size_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
}

class GemmBench : public Bench {
 public:
  GemmBench(Compute& compute, const GemmVariant& variant, Precision precision)
      : compute_(compute),
        shape_(variant.shape),
        precision_(precision),
        copies_(cold_copies(gemm_memory(shape_, precision))),
        a_(compute, copies_ * operand_bytes(shape_.m)),
        b_(compute, copies_ * operand_bytes(shape_.n)),
        c_(compute, copies_ * result_bytes()) {
    call_ = {.batch = shape_.batch,
             .m = shape_.m,
             .n = shape_.n,
             .k = shape_.k,
             .transpose_a = variant.transpose_a,
             .transpose_b = variant.transpose_b,
             .precision = precision,
             .beta = variant.accumulate ? 1.0F : 0.0F,
             .a = a_.data(),
             .b = b_.data(),
             .c = c_.floats(),
             .stride_a = shape_.m * shape_.k,
             .stride_b = shape_.k * shape_.n,
             .stride_c = shape_.m * shape_.n};
    fill(a_, a_count(), kStreamA);
    fill(b_, b_count(), kStreamB);
  }

  std::string check() override {
    compute_.fill_zero(c_.data(), c_.bytes());
    next_ = 0;
    run(1);
    const std::vector<float> a = operand(a_count(), kStreamA);
    const std::vector<float> b = operand(b_count(), kStreamB);
    const auto results = static_cast<std::size_t>(shape_.batch * shape_.m * shape_.n);
    for (int i = 0; i < kSampledEntries; ++i) {
      // First and last entry and evenly between.
      const std::size_t at = (results - 1) * static_cast<std::size_t>(i) / (kSampledEntries - 1);
      std::string wrong = check_entry(at, a, b);
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

  void run(int repetitions) override {
    for (int i = 0; i < repetitions; ++i) {
      GemmCall call = call_;
      call.a = static_cast<const char*>(call_.a) + next_ * operand_bytes(shape_.m);
      call.b = static_cast<const char*>(call_.b) + next_ * operand_bytes(shape_.n);
      call.c = call_.c + next_ * result_bytes() / sizeof(float);
      compute_.gemm(call);
      next_ = (next_ + 1) % copies_;
    }
    compute_.synchronize();
  }

 private:
  static constexpr unsigned kStreamA = 1;
  static constexpr unsigned kStreamB = 2;

  [[nodiscard]] std::size_t a_count() const {
    return static_cast<std::size_t>(shape_.batch * shape_.m * shape_.k);
  }
  [[nodiscard]] std::size_t b_count() const {
    return static_cast<std::size_t>(shape_.batch * shape_.k * shape_.n);
  }
  // Of one copy, rounded up so that every copy is aligned as the first one is.
  [[nodiscard]] std::size_t operand_bytes(std::int64_t edge) const {
    return aligned(bytes_per_element(precision_) *
                   static_cast<double>(shape_.batch * edge * shape_.k));
  }
  [[nodiscard]] std::size_t result_bytes() const {
    return aligned(4.0 * static_cast<double>(shape_.batch * shape_.m * shape_.n));
  }

  // fp8 (e4m3) keeps 3 bits of mantissa: of numbers up to 4, multiples of 1/4 are exact.
  [[nodiscard]] std::vector<float> operand(std::size_t count, unsigned stream) const {
    std::vector<float> numbers = sample_numbers(count, stream);
    if (precision_ != Precision::fp8) return numbers;
    for (float& x : numbers) x = std::round(4.0F * x) / 4.0F;
    return numbers;
  }

  void fill(const DeviceArray& to, std::size_t count, unsigned stream) {
    const std::vector<float> values = operand(count, stream);
    const DeviceArray numbers(compute_, count * sizeof(float));
    compute_.upload(numbers.data(), values.data(), numbers.bytes());
    compute_.convert(to.data(), precision_, numbers.floats(), static_cast<std::int64_t>(count));
    const std::size_t one = to.bytes() / copies_;
    for (std::size_t i = 1; i < copies_; ++i) {
      compute_.copy(static_cast<char*>(to.data()) + i * one, to.data(), one);
    }
    compute_.synchronize();
  }

  [[nodiscard]] std::string check_entry(std::size_t at, const std::vector<float>& a,
                                        const std::vector<float>& b) {
    const auto index = static_cast<std::int64_t>(at);
    const std::int64_t entry = index / (shape_.m * shape_.n);
    const std::int64_t row = index / shape_.n % shape_.m, col = index % shape_.n;
    double expected = 0.0, magnitude = 0.0;
    for (std::int64_t k = 0; k < shape_.k; ++k) {
      const std::int64_t ia = call_.transpose_a ? k * shape_.m + row : row * shape_.k + k;
      const std::int64_t ib = call_.transpose_b ? col * shape_.k + k : k * shape_.n + col;
      const double product =
          static_cast<double>(a[static_cast<std::size_t>(entry * call_.stride_a + ia)]) *
          static_cast<double>(b[static_cast<std::size_t>(entry * call_.stride_b + ib)]);
      expected += product;
      magnitude += std::abs(product);
    }
    const double is = downloaded(compute_, c_.floats() + at, 1)[0];
    if (std::abs(is - expected) <= kTolerance * magnitude) return "";
    return fmt::format("{} GEMM {} x {} x {} x {}: entry ({}, {}) is {}, {} was expected",
                       name_of(precision_), shape_.batch, shape_.m, shape_.n, shape_.k, row, col,
                       is, expected);
  }

  Compute& compute_;
  GemmShape shape_;
  Precision precision_;
  std::size_t copies_;  // used in turn
  DeviceArray a_, b_, c_;
  GemmCall call_;
  std::size_t next_ = 0;
};

}  // namespace

std::vector<GemmVariant> training_variants(GemmShape s, GemmOperand second) {
  const bool transposed = second == GemmOperand::transposed_activation;
  return {{.shape = s, .transpose_b = transposed},
          {.shape = {s.batch, s.m, s.k, s.n}, .transpose_b = !transposed},
          {.shape = {s.batch, s.k, s.n, s.m},
           .transpose_a = true,
           .accumulate = second == GemmOperand::weight}};
}

Bytes gemm_memory(const GemmShape& s, Precision precision) {
  const double width = bytes_per_element(precision);
  return bytes(width * static_cast<double>(s.batch * (s.m * s.k + s.k * s.n)) +
               4.0 * static_cast<double>(s.batch * s.m * s.n));
}

std::unique_ptr<Bench> make_gemm_bench(Compute& compute, const GemmVariant& variant,
                                       Precision precision) {
  return std::make_unique<GemmBench>(compute, variant, precision);
}

}  // namespace meshwright::calibrate
