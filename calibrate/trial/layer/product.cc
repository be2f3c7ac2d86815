// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/layer/product.h"

#include "calibrate/trial/layer/weight_gradient_store.h"

namespace meshwright::calibrate {
namespace {

// A copy of `batch` matrices of `count` numbers without gaps, rounded to the job's format, which it
// has where the device multiplies that; else fp32. `stride` becomes its own.
Tensor converted(const TrialContext& context, const void* from, std::int64_t batch,
                 std::int64_t count, std::int64_t& stride) {
  const auto* source = static_cast<const float*>(from);
  const Precision format = context.job.precision;
  const bool native = context.compute.supports(format);
  Tensor packed;
  if (!native || (batch > 1 && stride != count)) {
    packed = context.tensor(batch * count);
    context.compute.copy_rows(packed.data(), count, source, stride, batch, count);
    source = packed.data();
  }
  stride = count;
  if (!native) {
    context.compute.round(packed.data(), format, packed.count());
    return packed;
  }
  Tensor to = context.tensor((batch * count + 1) / 2);  // two 16-bit numbers in one of 32
  context.compute.convert(to.data(), format, source, batch * count);
  return to;
}

}  // namespace

GemmCall product(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b,
                 float* c) {
  GemmCall call;
  call.m = m;
  call.n = n;
  call.k = k;
  call.a = a;
  call.b = b;
  call.c = c;
  return call;
}

void multiply(const TrialContext& context, GemmCall call) {
  call.precision = context.job.precision;
  if (call.stride_a == 0) call.stride_a = call.m * call.k;
  if (call.stride_b == 0) call.stride_b = call.k * call.n;
  if (call.stride_c == 0) call.stride_c = call.m * call.n;
  context.recorder.count_flops(2.0 * static_cast<double>(call.batch) * static_cast<double>(call.m) *
                               static_cast<double>(call.n) * static_cast<double>(call.k));
  if (!has_sixteen_bits(call.precision)) return context.compute.gemm(call);
  const Tensor a = converted(context, call.a, call.batch, call.m * call.k, call.stride_a);
  const Tensor b = converted(context, call.b, call.batch, call.k * call.n, call.stride_b);
  call.a = a.data();
  call.b = b.data();
  // Products of numbers of 8 bits are exact in fp32: the same sum, but for its order.
  if (!context.compute.supports(call.precision)) call.precision = Precision::fp32;
  context.compute.gemm(call);
}

void multiply_gathered(const TrialContext& context, GemmCall call, const SequencePiece& piece) {
  if (piece.operand == nullptr) return multiply(context, call);
  const auto* own = static_cast<const float*>(call.*piece.operand);
  const WholeSequence whole(context, own, piece.cols, piece.name, Phase::backward);
  call.*piece.operand = whole.data();
  multiply(context, call);
}

void multiply_for_weight(const TrialContext& context, const GemmCall& call,
                         const SequencePiece& piece) {
  if (context.deferred != nullptr && context.deferred->is_open())
    return context.deferred->defer(call, piece);
  multiply_gathered(context, call, piece);
}

}  // namespace meshwright::calibrate
