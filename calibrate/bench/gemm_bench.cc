// SPDX-License-Identifier: Apache-2.0
#include "calibrate/bench/gemm_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibrate/bench/sample_data.h"
#include "sim/base/job.h"

namespace meshwright::calibrate {
namespace {

constexpr int kSampledEntries = 16;

std::size_t aligned(double bytes) {
  constexpr std::size_t kAlignment = 256;
  return (static_cast<std::size_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
}

// Format in which a GEMM writes its result. A gradient that is added to stays in fp32, as
// Megatron's main_grad. Other results have the width of activations, if the backend can write that.
Precision result_of(const Compute& compute, const GemmVariant& variant, Precision precision) {
  const bool sixteen = activation_bytes(precision) == 2.0;
  if (!sixteen || variant.accumulate || !compute.writes_sixteen_bits()) return Precision::fp32;
  return precision == Precision::fp16 ? Precision::fp16 : Precision::bf16;
}

class GemmBench : public Bench {
 public:
  GemmBench(Compute& compute, const GemmVariant& variant, Precision precision)
      : Bench(compute),
        device_(compute.describe()),
        shape_(variant.shape),
        precision_(precision),
        result_(result_of(compute, variant, precision)),
        fresh_(variant.fresh),
        reused_after_(variant.reused_after),
        copies_(copies_in_turn()),
        a_(compute, copies_of(fresh_.a) * operand_bytes(shape_.m)),
        b_(compute, copies_of(fresh_.b) * operand_bytes(shape_.n)),
        c_(compute, copies_of(fresh_.c) * result_bytes()) {
    // Frameworks keep fp8 operands in the one order that its units take (below Blackwell): copies
    // of the other order are made where tensors are cast, and are no part of the product.
    const bool ordered = precision == Precision::fp8;
    call_ = {.batch = shape_.batch,
             .m = shape_.m,
             .n = shape_.n,
             .k = shape_.k,
             .transpose_a = variant.transpose_a && !ordered,
             .transpose_b = variant.transpose_b || ordered,
             .precision = precision,
             .result = result_,
             .fast_accumulation = accumulates_fast(variant, precision),
             .beta = variant.accumulate ? 1.0F : 0.0F,
             .a = a_.data(),
             .b = b_.data(),
             .c = c_.data(),
             .stride_a = shape_.m * shape_.k,
             .stride_b = shape_.k * shape_.n,
             .stride_c = shape_.m * shape_.n};
    fill(a_, a_count(), kStreamA);
    fill(b_, b_count(), kStreamB);
  }

  std::string check() override {
    std::string imprecise = check_precision();
    if (!imprecise.empty()) return imprecise;
    run_from_zero();
    const auto results = static_cast<std::size_t>(shape_.batch * shape_.m * shape_.n);
    for (int i = 0; i < kSampledEntries; ++i) {
      // First and last entry and evenly between.
      const std::size_t at = (results - 1) * static_cast<std::size_t>(i) / (kSampledEntries - 1);
      std::string wrong = check_entry(at);
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

  void start(int repetitions) override {
    for (int i = 0; i < repetitions; ++i) {
      GemmCall call = call_;
      call.a = static_cast<const char*>(call_.a) + turn(fresh_.a) * operand_bytes(shape_.m);
      call.b = static_cast<const char*>(call_.b) + turn(fresh_.b) * operand_bytes(shape_.n);
      call.c = static_cast<char*>(call_.c) + turn(fresh_.c) * result_bytes();
      compute_.gemm(call);
      next_ = (next_ + 1) % copies_;
    }
  }

  void use_fastest_algorithm() override { call_.fastest_algorithm = true; }

  [[nodiscard]] bool is_warm() const override {
    // Where a step leaves them in the cache they belong there.
    return reused_after_.value() <= 0.0 && old_footprint().value() > 0.0 &&
           stays_in_cache(old_footprint(), copies_, device_);
  }

 private:
  static constexpr unsigned kStreamA = 1;
  static constexpr unsigned kStreamB = 2;

  // Of the operands that a step finds in memory. Fresh ones have one copy, which stays in the
  // cache.
  [[nodiscard]] Bytes old_footprint() const {
    std::size_t size = 0;
    if (!fresh_.a) size += operand_bytes(shape_.m);
    if (!fresh_.b) size += operand_bytes(shape_.n);
    if (!fresh_.c) size += result_bytes();
    return bytes(static_cast<double>(size));
  }
  [[nodiscard]] std::size_t copies_in_turn() const {
    const Bytes footprint = old_footprint();
    if (footprint.value() <= 0.0) return 1;
    const std::size_t cold = cold_copies(footprint, device_);
    if (reused_after_.value() <= 0.0) return cold;
    return std::min(cold, copies_between_uses(footprint, reused_after_));
  }
  [[nodiscard]] std::size_t copies_of(bool fresh) const { return fresh ? 1 : copies_; }
  [[nodiscard]] std::size_t turn(bool fresh) const { return fresh ? 0 : next_; }
  [[nodiscard]] std::size_t a_count() const {
    return static_cast<std::size_t>(shape_.batch * shape_.m * shape_.k);
  }
  [[nodiscard]] std::size_t b_count() const {
    return static_cast<std::size_t>(shape_.batch * shape_.k * shape_.n);
  }
  // Bytes of one copy, rounded up so that every copy is aligned like the first one.
  [[nodiscard]] std::size_t operand_bytes(std::int64_t edge) const {
    return aligned(bytes_per_element(precision_) *
                   static_cast<double>(shape_.batch * edge * shape_.k));
  }
  [[nodiscard]] std::size_t result_bytes() const {
    return aligned(bytes_per_element(result_) *
                   static_cast<double>(shape_.batch * shape_.m * shape_.n));
  }

  [[nodiscard]] float operand(std::size_t index, unsigned stream) const {
    return precision_ == Precision::fp8 ? fp8_sample_number(index, stream)
                                        : sample_number(index, stream);
  }

  [[nodiscard]] std::vector<float> sample_period_of(std::size_t count, unsigned stream) const {
    std::vector<float> period(std::min(count, sample_period()));
    for (std::size_t i = 0; i < period.size(); ++i) period[i] = operand(i, stream);
    return period;
  }

  void fill(const DeviceArray& to, std::size_t count, unsigned stream) {
    fill_first(to, count, sample_period_of(count, stream));
    const std::size_t one = aligned(bytes_per_element(precision_) * static_cast<double>(count));
    for (std::size_t i = 1; i < to.bytes() / one; ++i) {
      compute_.copy(static_cast<char*>(to.data()) + i * one, to.data(), one);
    }
    compute_.synchronize();
  }

  // The first copy alone.
  void fill_first(const DeviceArray& to, std::size_t count, const std::vector<float>& period) {
    const DeviceArray numbers(compute_, count * sizeof(float));
    fill_repeated(compute_, numbers.floats(), count, period);
    compute_.convert(to.data(), precision_, numbers.floats(), static_cast<std::int64_t>(count));
    compute_.synchronize();
  }

  void run_from_zero() {
    compute_.fill_zero(c_.data(), c_.bytes());
    next_ = 0;
    run(1);
  }

  // Of fp8 alone, whose operands both have k as their fastest index.
  [[nodiscard]] std::string check_precision() {
    const bool tells = precision_ == Precision::fp8 && !call_.fast_accumulation &&
                       shape_.k >= shortest_telling_sum(result_);
    if (!tells) return "";
    std::vector<float> first, second;
    for (std::int64_t k = 0; k < shape_.k; ++k) {
      first.push_back(static_cast<float>(telling_operand(false, k)));
      second.push_back(static_cast<float>(telling_operand(true, k)));
    }
    fill_first(a_, a_count(), first);
    fill_first(b_, b_count(), second);
    run_from_zero();
    const double is = result_entry(0), expected = telling_sum(shape_.k);
    fill_first(a_, a_count(), sample_period_of(a_count(), kStreamA));
    fill_first(b_, b_count(), sample_period_of(b_count(), kStreamB));
    if (std::abs(is - expected) <= telling_tolerance(shape_.k, result_)) return "";
    return fmt::format(
        "{} GEMM {} x {} x {} x {}: a sum is {}, {} was expected; precise sums were asked for, and "
        "these lose bits as fast ones do",
        name_of(precision_), shape_.batch, shape_.m, shape_.n, shape_.k, is, expected);
  }

  [[nodiscard]] std::string check_entry(std::size_t at) {
    const auto index = static_cast<std::int64_t>(at);
    const std::int64_t entry = index / (shape_.m * shape_.n);
    const std::int64_t row = index / shape_.n % shape_.m, col = index % shape_.n;
    double expected = 0.0, magnitude = 0.0;
    for (std::int64_t k = 0; k < shape_.k; ++k) {
      const std::int64_t ia = call_.transpose_a ? k * shape_.m + row : row * shape_.k + k;
      const std::int64_t ib = call_.transpose_b ? col * shape_.k + k : k * shape_.n + col;
      const double product = static_cast<double>(operand(
                                 static_cast<std::size_t>(entry * call_.stride_a + ia), kStreamA)) *
                             static_cast<double>(operand(
                                 static_cast<std::size_t>(entry * call_.stride_b + ib), kStreamB));
      expected += product;
      magnitude += std::abs(product);
    }
    const double is = result_entry(at);
    const double allowed =
        gemm_tolerance(precision_, call_.fast_accumulation, result_).of(expected, magnitude);
    if (std::abs(is - expected) <= allowed) return "";
    return fmt::format("{} GEMM {} x {} x {} x {}: entry ({}, {}) is {}, {} was expected",
                       name_of(precision_), shape_.batch, shape_.m, shape_.n, shape_.k, row, col,
                       is, expected);
  }

  [[nodiscard]] double result_entry(std::size_t at) {
    if (result_ == Precision::fp32) return downloaded(compute_, c_.floats() + at, 1)[0];
    std::uint16_t bits = 0;
    compute_.download(&bits, static_cast<const char*>(c_.data()) + at * sizeof bits, sizeof bits);
    return result_ == Precision::bf16 ? from_bf16(bits) : from_fp16(bits);
  }

  DeviceDescription device_;
  GemmShape shape_;
  Precision precision_, result_;
  FreshOperands fresh_;
  Bytes reused_after_;
  std::size_t copies_;  // of the others, used in turn
  DeviceArray a_, b_, c_;
  GemmCall call_;
  std::size_t next_ = 0;
};

}  // namespace

bool accumulates_fast(const GemmVariant& variant, Precision precision) {
  const bool is_forward = !variant.transpose_a && !variant.transpose_b && !variant.accumulate;
  return precision == Precision::fp8 && is_forward;
}

GemmTolerance gemm_tolerance(Precision operands, bool fast_accumulation, Precision result) {
  GemmTolerance tolerance;
  if (operands == Precision::fp8) tolerance.of_magnitude = fast_accumulation ? 0x1p-9 : 0x1p-10;
  if (result == Precision::bf16) tolerance.of_value = 0x1p-8;
  if (result == Precision::fp16) tolerance.of_value = 0x1p-11;
  return tolerance;
}

double telling_operand(bool second, std::int64_t k) {
  return second && k % 32 < 25 ? 1.0 : 9.0 / 8.0;
}

double telling_sum(std::int64_t k) {
  const std::int64_t ones = k / 32 * 25 + std::min<std::int64_t>(k % 32, 25);
  return (72.0 * static_cast<double>(ones) + 81.0 * static_cast<double>(k - ones)) / 64.0;
}

double telling_tolerance(std::int64_t k, Precision result) {
  const double half_unit = gemm_tolerance(Precision::fp8, false, result).of_value;
  return (0x1p-10 + half_unit) * telling_sum(k);
}

std::int64_t shortest_telling_sum(Precision result) {
  return result == Precision::fp32 ? 4096 : 8192;
}

// x W, dy W^T and x^T dy of a weight; of two activations q k^T, dS k and dS^T q, or P v, dP = dy
// v^T and P^T dy.
std::vector<GemmVariant> training_variants(GemmShape s, GemmOperand second) {
  const GemmShape input{s.batch, s.m, s.k, s.n}, other{s.batch, s.k, s.n, s.m};
  switch (second) {
    case GemmOperand::weight:
      return {{.shape = s, .fresh = {.a = true}},
              {.shape = input, .transpose_b = true, .fresh = {.a = true, .c = true}},
              {.shape = other, .transpose_a = true, .accumulate = true, .fresh = {.b = true}}};
    case GemmOperand::transposed_activation:
      return {{.shape = s, .transpose_b = true, .fresh = {.a = true, .b = true}},
              {.shape = input, .fresh = {.a = true, .c = true}},
              {.shape = {s.batch, s.n, s.k, s.m},
               .transpose_a = true,
               .fresh = {.a = true, .c = true}}};
    case GemmOperand::activation:
      break;
  }
  return {{.shape = s, .fresh = {.a = true, .b = true}},
          {.shape = input, .transpose_b = true, .fresh = {.a = true, .c = true}},
          {.shape = other, .transpose_a = true, .fresh = {.b = true, .c = true}}};
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
