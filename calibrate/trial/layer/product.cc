// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/layer/product.h"

#include "calibrate/trial/layer/weight_gradient_store.h"

namespace meshwright::calibrate {
namespace {

// Matrices of one operand: `batch` of `count` numbers each, `stride` numbers apart.
struct Matrices {
  ConstNumbers numbers;
  std::int64_t batch, count, stride;

  [[nodiscard]] bool has_gaps() const { return batch > 1 && stride != count; }
};

// fp32 matrices without gaps, copied where they have some.
Tensor without_gaps(const TrialContext& context, const Matrices& from) {
  Tensor packed = context.tensor(from.batch * from.count);
  context.compute.copy_rows(packed.data(), from.count, static_cast<const float*>(from.numbers.data),
                            from.stride, from.batch, from.count);
  return packed;
}

// fp32 copies of numbers of 16 bits.
Tensor widened(const TrialContext& context, const Matrices& from) {
  Tensor wide = context.tensor(from.batch * from.count);
  for (std::int64_t i = 0; i < from.batch; ++i) {
    context.compute.widen(wide.data() + i * from.count, from.numbers.from(i * from.stride).data,
                          from.numbers.format, from.count);
  }
  return wide;
}

// A copy for a device that multiplies no numbers of `format`: fp32, and rounded to it.
Tensor rounded_wide(const TrialContext& context, const Matrices& from, Precision format) {
  if (from.numbers.format != Precision::fp32) return widened(context, from);
  Tensor wide = without_gaps(context, from);
  context.compute.round(wide.data(), format, wide.count());
  return wide;
}

// A copy of fp32 numbers in `format`.
Tensor narrowed(const TrialContext& context, const Matrices& from, Precision format) {
  Tensor packed;
  const auto* source = static_cast<const float*>(from.numbers.data);
  if (from.has_gaps()) {
    packed = without_gaps(context, from);
    source = packed.data();
  }
  Tensor narrow(context.arena, from.batch * from.count, format);
  context.compute.convert(narrow.numbers().data, format, source, narrow.count());
  return narrow;
}

// An operand of the device's product. `copy` keeps what it points to where that is a copy.
const void* operand(const TrialContext& context, const Matrices& from, std::int64_t& stride,
                    Tensor& copy) {
  const Precision format = context.job.precision;
  const bool native = context.compute.supports(format);
  if (native && from.numbers.format == format) return from.numbers.data;
  copy = native ? narrowed(context, from, format) : rounded_wide(context, from, format);
  stride = from.count;
  return copy.numbers().data;
}

}  // namespace

MixedGemmCall product(std::int64_t m, std::int64_t n, std::int64_t k, ConstNumbers a,
                      ConstNumbers b, float* c) {
  MixedGemmCall call;
  call.m = m;
  call.n = n;
  call.k = k;
  call.set_a(a);
  call.set_b(b);
  call.c = c;
  return call;
}

void multiply(const TrialContext& context, MixedGemmCall call) {
  call.precision = context.job.precision;
  if (call.stride_a == 0) call.stride_a = call.m * call.k;
  if (call.stride_b == 0) call.stride_b = call.k * call.n;
  if (call.stride_c == 0) call.stride_c = call.m * call.n;
  context.recorder.count_flops(2.0 * static_cast<double>(call.batch) * static_cast<double>(call.m) *
                               static_cast<double>(call.n) * static_cast<double>(call.k));
  if (!has_sixteen_bits(call.precision)) return context.compute.gemm(call);
  Tensor a, b;
  call.a = operand(context, {{call.a, call.format_a}, call.batch, call.m * call.k, call.stride_a},
                   call.stride_a, a);
  call.b = operand(context, {{call.b, call.format_b}, call.batch, call.k * call.n, call.stride_b},
                   call.stride_b, b);
  // Products of numbers of 8 bits are exact in fp32: the same sum, but for its order.
  if (!context.compute.supports(call.precision)) call.precision = Precision::fp32;
  context.compute.gemm(call);
}

void multiply_gathered(const TrialContext& context, MixedGemmCall call,
                       const SequencePiece& piece) {
  if (piece.operand == SequencePiece::Operand::none) return multiply(context, call);
  const bool of_a = piece.operand == SequencePiece::Operand::a;
  const ConstNumbers own =
      of_a ? ConstNumbers(call.a, call.format_a) : ConstNumbers(call.b, call.format_b);
  const WholeSequence whole(context, own, piece.cols, piece.name, Phase::backward);
  of_a ? call.set_a(whole.numbers()) : call.set_b(whole.numbers());
  multiply(context, call);
}

void multiply_for_weight(const TrialContext& context, const MixedGemmCall& call,
                         const SequencePiece& piece) {
  if (context.deferred != nullptr && context.deferred->is_open())
    return context.deferred->defer(call, piece);
  multiply_gathered(context, call, piece);
}

}  // namespace meshwright::calibrate
