// SPDX-License-Identifier: Apache-2.0
#include "calibrate/bench/attention_bench.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "calibrate/bench/attention_reference.h"
#include "calibrate/bench/sample_data.h"

namespace meshwright::calibrate {
namespace {

constexpr unsigned kQueries = 1, kKeys = 2, kValues = 3, kOutputGradient = 4;

std::int64_t query_numbers(const AttentionShape& s) {
  return s.batch * s.heads * s.positions * s.head_dim;
}
std::int64_t key_numbers(const AttentionShape& s) {
  return s.batch * s.query_groups * s.positions * s.head_dim;
}

LibraryKernels& kernels_for(Compute& compute, const AttentionCall& call) {
  LibraryKernels* kernels = compute.library_kernels();
  if (kernels == nullptr) throw UnsupportedCall("this backend has no fused attention");
  const std::string reason = kernels->why_no_attention(call);
  if (!reason.empty()) throw UnsupportedCall(reason);
  return *kernels;
}

class AttentionBench final : public Bench {
 public:
  AttentionBench(Compute& compute, const AttentionShape& shape, Precision precision)
      : Bench(compute),
        call_(attention_call(shape, precision)),
        kernels_(kernels_for(compute, call_)),
        shape_(shape),
        q_(compute, narrow(query_numbers(shape))),
        k_(compute, narrow(key_numbers(shape))),
        v_(compute, narrow(key_numbers(shape))),
        o_(compute, narrow(query_numbers(shape))),
        statistics_(compute, rows() * sizeof(float)),
        d_o_(compute, gradient(query_numbers(shape))),
        dq_(compute, gradient(query_numbers(shape))),
        dk_(compute, gradient(key_numbers(shape))),
        dv_(compute, gradient(key_numbers(shape))) {
    fill(q_, query_numbers(shape), kQueries);
    fill(k_, key_numbers(shape), kKeys);
    fill(v_, key_numbers(shape), kValues);
    point_at_operands();
    if (!shape.backward) return;
    fill(d_o_, query_numbers(shape), kOutputGradient);
    AttentionCall forward = call_;
    forward.backward = false;
    kernels_for(compute, forward).attention(forward);
    compute_.synchronize();
  }

  void start(int repetitions) override {
    for (int i = 0; i < repetitions; ++i) kernels_.attention(call_);
  }

  // First, middle and last row: a mask of the wrong side, or none, shows in the first.
  std::string check() override {
    run(1);
    const AttentionReference reference(call_, numbers(kQueries), numbers(kKeys), numbers(kValues),
                                       numbers(kOutputGradient));
    const AttentionShape& s = shape_;
    const std::array<std::array<std::int64_t, 3>, 3> rows{
        {{0, 0, 0},
         {0, s.heads / 2, s.positions / 2},
         {s.batch - 1, s.heads - 1, s.positions - 1}}};
    for (const auto& [batch, head, query] : rows) {
      const std::int64_t at = ((batch * s.heads + head) * s.positions + query) * s.head_dim;
      for (const std::int64_t column : {std::int64_t{0}, s.head_dim - 1}) {
        const Expected expected = s.backward ? reference.query_gradient(batch, head, query, column)
                                             : reference.output(batch, head, query, column);
        std::string wrong =
            compared(s.backward ? "dq" : "o", s.backward ? dq_ : o_, at + column, expected);
        if (!wrong.empty()) return wrong;
      }
    }
    return s.backward && s.causal ? check_last_key(reference) : "";
  }

 private:
  [[nodiscard]] std::size_t narrow(std::int64_t count) const {
    return static_cast<std::size_t>(static_cast<double>(count) *
                                    bytes_per_element(call_.precision));
  }
  // Forward has none.
  [[nodiscard]] std::size_t gradient(std::int64_t count) const {
    return shape_.backward ? narrow(count) : 0;
  }
  [[nodiscard]] std::size_t rows() const {
    return static_cast<std::size_t>(shape_.batch * shape_.heads * shape_.positions);
  }

  void point_at_operands() {
    call_.q = q_.data();
    call_.k = k_.data();
    call_.v = v_.data();
    call_.o = o_.data();
    call_.statistics = statistics_.floats();
    call_.d_o = d_o_.data();
    call_.dq = dq_.data();
    call_.dk = dk_.data();
    call_.dv = dv_.data();
  }

  void fill(const DeviceArray& to, std::int64_t count, unsigned stream) {
    const auto size = static_cast<std::size_t>(count);
    const DeviceArray wide(compute_, size * sizeof(float));
    fill_repeated(compute_, wide.floats(), size,
                  sample_numbers(std::min(size, sample_period()), stream));
    compute_.convert(to.data(), call_.precision, wide.floats(), count);
    compute_.synchronize();
  }
  static OperandNumber numbers(unsigned stream) {
    return [stream](std::int64_t i) {
      return static_cast<double>(sample_number(static_cast<std::size_t>(i), stream));
    };
  }

  std::string check_last_key(const AttentionReference& reference) {
    const AttentionShape& s = shape_;
    const std::int64_t batch = s.batch - 1, group = s.query_groups - 1, column = s.head_dim / 2;
    const std::int64_t at =
        ((batch * s.query_groups + group) * s.positions + s.positions - 1) * s.head_dim + column;
    std::string wrong = compared("dk", dk_, at, reference.last_key_gradient(batch, group, column));
    return wrong.empty()
               ? compared("dv", dv_, at, reference.last_value_gradient(batch, group, column))
               : wrong;
  }

  std::string compared(std::string_view what, const DeviceArray& array, std::int64_t at,
                       const Expected& expected) {
    std::uint16_t bits = 0;
    const auto offset = static_cast<std::size_t>(at) * sizeof bits;
    compute_.download(&bits, static_cast<const char*>(array.data()) + offset, sizeof bits);
    const double is = call_.precision == Precision::bf16 ? from_bf16(bits) : from_fp16(bits);
    if (std::abs(is - expected.value) <= expected.tolerance) return "";
    return fmt::format("fused attention: {}[{}] is {}, {} was expected", what, at, is,
                       expected.value);
  }

  AttentionCall call_;
  LibraryKernels& kernels_;
  AttentionShape shape_;
  DeviceArray q_, k_, v_, o_, statistics_, d_o_, dq_, dk_, dv_;
};

}  // namespace

AttentionCall attention_call(const AttentionShape& shape, Precision precision) {
  AttentionCall call;
  call.batch = shape.batch;
  call.heads = shape.heads;
  call.query_groups = shape.query_groups;
  call.positions = shape.positions;
  call.head_dim = shape.head_dim;
  call.causal = shape.causal;
  call.backward = shape.backward;
  call.precision = precision;
  call.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(shape.head_dim)));
  return call;
}

Bytes attention_memory(const AttentionShape& shape, Precision precision) {
  const auto of_queries = static_cast<double>(query_numbers(shape));
  const auto of_keys = static_cast<double>(key_numbers(shape));
  const double rows = of_queries / static_cast<double>(shape.head_dim), float_bytes = 4.0;
  const double operands = bytes_per_element(precision) * (2.0 * of_queries + 2.0 * of_keys);
  if (!shape.backward) return bytes(operands + float_bytes * rows);
  return bytes(2.0 * operands + float_bytes * (2.0 * rows + of_queries));
}

std::unique_ptr<Bench> make_attention_bench(Compute& compute, const AttentionShape& shape,
                                            Precision precision) {
  return std::make_unique<AttentionBench>(compute, shape, precision);
}

}  // namespace meshwright::calibrate
