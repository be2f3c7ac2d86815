// SPDX-License-Identifier: Apache-2.0
// Kernels on arrays of bf16 against the cpu backend's, in rows of whole packs of eight numbers and
// in others. Both compute in fp32; the last of 8 bits may differ where a result lies between two.
#include "tests/device/both_devices.h"

namespace meshwright::calibrate {
namespace {

constexpr double kTolerance = 0x1p-7;
constexpr std::int64_t kFewRows = 19;

class SixteenBits : public OnBothDevices {
 protected:
  // `call` for rows of these many columns.
  void expect_same_rows(const std::function<void(Compute&, Arrays&, std::int64_t cols)>& call) {
    for (const std::int64_t cols : {std::int64_t{8}, std::int64_t{301}, std::int64_t{4104}}) {
      expect_same([&](Compute& c, Arrays& a) { call(c, a, cols); }, kTolerance);
    }
  }
};

// bf16 numbers of a device, two in one of 32 bits.
Numbers narrow(Compute& c, Arrays& a, std::int64_t count, unsigned seed) {
  float* bits = a.in(zeros((count + 1) / 2));
  c.convert(bits, Precision::bf16, a.in(values(count, seed)), count);
  return {bits, Precision::bf16};
}
// What became of them is a result.
void compare(Compute& c, Arrays& a, Numbers numbers, std::int64_t count) {
  c.widen(a.out(zeros(count)), numbers.data, numbers.format, count);
}

TEST_F(SixteenBits, Norms) {
  expect_same_rows([](Compute& c, Arrays& a, std::int64_t cols) {
    const std::int64_t count = kFewRows * cols;
    const Numbers x = narrow(c, a, count, 1), dy = narrow(c, a, count, 2);
    const Numbers y = narrow(c, a, count, 3), dx = narrow(c, a, count, 4);
    const float *gamma = a.in(values(cols, 5)), *beta = a.in(values(cols, 6));
    float *mean = a.out(zeros(kFewRows)), *rstd = a.out(zeros(kFewRows));
    c.layer_norm_forward(x, gamma, beta, y, mean, rstd, kFewRows, cols);
    c.layer_norm_backward(dy, x, gamma, mean, rstd, dx, a.in(zeros(cols)), a.in(zeros(cols)),
                          kFewRows, cols);
    compare(c, a, y, count);
    compare(c, a, dx, count);
    c.rms_norm_forward(a.in(values(count, 7)), gamma, y, rstd, kFewRows, cols);
    c.rms_norm_backward(dy, x, gamma, rstd, dy, a.in(zeros(cols)), kFewRows, cols);
    compare(c, a, y, count);
    compare(c, a, dy, count);
  });
}

TEST_F(SixteenBits, Activations) {
  expect_same_rows([](Compute& c, Arrays& a, std::int64_t cols) {
    const std::int64_t count = kFewRows * cols;
    const Numbers x = narrow(c, a, 2 * count, 1), dy = narrow(c, a, count, 2);
    const Numbers y = narrow(c, a, count, 3), dx = narrow(c, a, 2 * count, 4);
    const float* bias = a.in(values(2 * cols, 5));
    c.bias_gelu_forward(a.in(values(count, 6)), bias, y, kFewRows, cols);
    compare(c, a, y, count);
    c.bias_relu_backward(dy, x, nullptr, y, nullptr, kFewRows, cols);
    compare(c, a, y, count);
    c.bias_swiglu_forward(x, bias, y, kFewRows, cols);
    compare(c, a, y, count);
    c.bias_geglu_backward(dy, x, bias, dx, nullptr, kFewRows, cols);
    compare(c, a, dx, 2 * count);
  });
}

TEST_F(SixteenBits, SoftmaxBesideSinksAndItsGradient) {
  for (const std::int64_t keys : {std::int64_t{31}, std::int64_t{264}}) {
    expect_same(
        [keys](Compute& c, Arrays& a) {
          // 2 groups, 3 sequences, 2 heads.
          const std::int64_t count = 12 * keys * keys;
          const AttentionSinks sinks{a.in(values(4, 3, 4.0F)), 3, 2};
          const Numbers y = narrow(c, a, count, 1), dx = narrow(c, a, count, 2);
          const float* dy = a.in(values(count, 4));
          c.causal_softmax_forward(a.in(values(count, 5, 4.0F)), y, 0.25F, 12, keys, keys, 0, 17, 0,
                                   sinks);
          c.sinks_backward(dy, y, sinks, a.out(zeros(4)), 12, keys, keys);
          c.softmax_backward(dy, y, dx, 0.25F, 12, keys);
          compare(c, a, y, count);
          compare(c, a, dx, count);
        },
        kTolerance);
  }
}

TEST_F(SixteenBits, RotaryPositions) {
  for (const std::int64_t width : {std::int64_t{24}, std::int64_t{128}}) {
    expect_same(
        [width](Compute& c, Arrays& a) {
          const std::int64_t count = 2 * 4 * 7 * width;
          const Numbers x = narrow(c, a, count, 1);
          c.rotary(x, a.in(values(7 * width, 2)), 2, 4, 3, 7, width, true);
          compare(c, a, x, count);
        },
        kTolerance);
  }
}

}  // namespace
}  // namespace meshwright::calibrate
