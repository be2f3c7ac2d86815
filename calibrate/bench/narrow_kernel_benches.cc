// SPDX-License-Identifier: Apache-2.0
// Casts of an activation to fp8 as Transformer Engine's recipes run them: by rows (delayed scaling
// behind a norm), by rows and columns, the transpose of what is fp8 already (weights without a
// transposed copy), and the search for the largest magnitude (tensorwise scaling).
#include <algorithm>
#include <cmath>

#include "calibrate/backends/library_kernels.h"
#include "calibrate/bench/kernel_benches.h"

namespace meshwright::calibrate {
namespace {

constexpr unsigned kActivations = 1;
constexpr float kCastScale = 2.0F;

// e4m3: a sign, 4 bits of exponent with bias 7, 3 of mantissa; exponent 0 is subnormal.
double from_e4m3(std::uint8_t bits) {
  const int exponent = bits >> 3 & 0xF, mantissa = bits & 0x7;
  const double size =
      exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
  return (bits & 0x80) != 0 ? -size : size;
}

LibraryKernels& casting_kernels(Compute& compute) {
  LibraryKernels* kernels = compute.library_kernels();
  const bool casts = kernels != nullptr && kernels->casts_to_fp8();
  if (!casts) throw UnsupportedCall("this device has no casts to fp8");
  return *kernels;
}

class NarrowBench : public KernelBench {
 public:
  NarrowBench(Compute& compute, const KernelSizes& sizes, FreshArrays& fresh)
      : KernelBench(compute, sizes, fresh), kernels_(casting_kernels(compute)) {
    const float scale = kCastScale;
    compute.upload(scale_->data(), &scale, sizeof scale);
    compute.convert(from_->data(), Precision::bf16, wide_->floats(), count_);
    compute.synchronize();
  }

 protected:
  // The source has just been written, the cast operands wait for their products.
  Array narrow_zeros() { return zeros((count_ + 3) / 4); }

  std::string compare_casts(const Array& to) {
    for (const std::int64_t at : {std::int64_t{0}, count_ / 2, count_ - 1}) {
      const double x = static_cast<double>(kCastScale) * number(at);
      // Half a step of 3 bits of mantissa, or of the subnormal numbers.
      const double allowed = std::max(0x1p-4 * std::abs(x), 0x1p-10);
      if (std::abs(from_e4m3(byte(to, at)) - x) > allowed) {
        return compare_kernel("quantize", from_e4m3(byte(to, at)), x);
      }
    }
    return "";
  }
  std::string compare_largest() {
    double expected = 0.0;
    const auto distinct =
        std::min<std::int64_t>(count_, static_cast<std::int64_t>(sample_period()));
    for (std::int64_t i = 0; i < distinct; ++i) expected = std::max(expected, std::abs(number(i)));
    return compare_kernel("quantize.largest", first(*largest_, 1)[0], expected);
  }
  // A few entries of a transposed copy are those of the rows.
  std::string compare_transposed(const Array& rows, const Array& columns) {
    for (const std::int64_t at : {std::int64_t{0}, count_ / 3, count_ - 1}) {
      const std::int64_t row = at / s_.hidden, column = at % s_.hidden;
      const std::uint8_t is = byte(columns, column * s_.rows() + row), expected = byte(rows, at);
      if (is != expected) {
        return compare_kernel("quantize.transpose", from_e4m3(is), from_e4m3(expected));
      }
    }
    return "";
  }
  void forget_largest() { compute_.fill_zero(largest_->data(), sizeof(float)); }

  LibraryKernels& kernels_;
  std::int64_t count_ = s_.rows() * s_.hidden;
  Array wide_ = fresh_sample(count_, kActivations), from_ = fresh_zeros((count_ + 1) / 2),
        scale_ = fresh_zeros(1), largest_ = fresh_zeros(1);

 private:
  [[nodiscard]] static double number(std::int64_t at) {
    return sample_number(static_cast<std::size_t>(at), kActivations);
  }
  std::uint8_t byte(const Array& array, std::int64_t at) {
    std::uint8_t bits = 0;
    compute_.download(&bits, static_cast<const char*>(array->data()) + at, 1);
    return bits;
  }
};

class CastBench final : public NarrowBench {
 public:
  using NarrowBench::NarrowBench;
  std::string check() override {
    forget_largest();
    run(1);
    std::string wrong = compare_casts(to_);
    return wrong.empty() ? compare_largest() : wrong;
  }

 protected:
  void once() override {
    kernels_.cast_to_fp8(from_->data(), scale_->floats(), to_->data(), largest_->floats(), count_);
  }

 private:
  Array to_ = narrow_zeros();
};

class CastTransposeBench final : public NarrowBench {
 public:
  using NarrowBench::NarrowBench;
  std::string check() override {
    forget_largest();
    run(1);
    std::string wrong = compare_casts(rows_);
    if (wrong.empty()) wrong = compare_transposed(rows_, columns_);
    return wrong.empty() ? compare_largest() : wrong;
  }

 protected:
  void once() override {
    kernels_.cast_transpose_to_fp8(from_->data(), scale_->floats(), rows_->data(), columns_->data(),
                                   largest_->floats(), s_.rows(), s_.hidden);
  }

 private:
  Array rows_ = narrow_zeros(), columns_ = narrow_zeros();
};

class NarrowTransposeBench final : public NarrowBench {
 public:
  NarrowTransposeBench(Compute& compute, const KernelSizes& sizes, FreshArrays& fresh)
      : NarrowBench(compute, sizes, fresh) {
    kernels_.cast_to_fp8(from_->data(), scale_->floats(), rows_->data(), largest_->floats(),
                         count_);
  }
  std::string check() override {
    run(1);
    return compare_transposed(rows_, columns_);
  }

 protected:
  void once() override {
    kernels_.transpose_fp8(rows_->data(), columns_->data(), s_.rows(), s_.hidden);
  }

 private:
  Array rows_ = narrow_zeros(), columns_ = narrow_zeros();
};

class LargestBench final : public NarrowBench {
 public:
  using NarrowBench::NarrowBench;
  std::string check() override {
    forget_largest();
    run(1);
    return compare_largest();
  }

 protected:
  void once() override { kernels_.find_largest(from_->data(), largest_->floats(), count_); }
};

}  // namespace

std::unique_ptr<KernelBench> cast_bench(Compute& compute, const KernelSizes& sizes,
                                        FreshArrays& fresh) {
  return std::make_unique<CastBench>(compute, sizes, fresh);
}
std::unique_ptr<KernelBench> cast_transpose_bench(Compute& compute, const KernelSizes& sizes,
                                                  FreshArrays& fresh) {
  return std::make_unique<CastTransposeBench>(compute, sizes, fresh);
}
std::unique_ptr<KernelBench> narrow_transpose_bench(Compute& compute, const KernelSizes& sizes,
                                                    FreshArrays& fresh) {
  return std::make_unique<NarrowTransposeBench>(compute, sizes, fresh);
}
std::unique_ptr<KernelBench> largest_bench(Compute& compute, const KernelSizes& sizes,
                                           FreshArrays& fresh) {
  return std::make_unique<LargestBench>(compute, sizes, fresh);
}

}  // namespace meshwright::calibrate
