// SPDX-License-Identifier: Apache-2.0
#include <numbers>

#include "calibrate/bench/kernel_benches.h"
#include "sim/base/quadrature.h"
#include "sim/base/statistics.h"

namespace meshwright::calibrate {
namespace {

// In a step a kernel reads what was just written and writes over what was just read, but for what
// is saved for the backward pass: that was written a micro-batch ago. So a forward pass works on
// fresh numbers here and a backward pass on its copy's own, which are the same numbers.
constexpr unsigned kInput = 1, kGradient = 2, kScales = 3, kShifts = 4;

class LayerNormBench : public KernelBench {
 public:
  using KernelBench::KernelBench;
  std::string check() override {
    run(1);
    const std::vector<float> row = first(*x_, s_.hidden), y = first(*y_, 1);
    const std::vector<double> x(row.begin(), row.end());
    const double deviation = population_deviation(x);
    // The backends add an epsilon of 1e-5 under the root, far below the tolerance here.
    const double gamma = first(*gamma_, 1)[0], beta = first(*beta_, 1)[0];
    return compare_kernel(
        "layer_norm", y[0],
        (x[0] - mean(x)) / in_quadrature(deviation, std::sqrt(1e-5)) * gamma + beta);
  }

 protected:
  void once() override {
    compute_.layer_norm_forward(x_->floats(), gamma_->floats(), beta_->floats(), y_->floats(),
                                mean_->floats(), rstd_->floats(), s_.rows(), s_.hidden);
    compute_.layer_norm_backward(dy_->floats(), saved_x_->floats(), gamma_->floats(),
                                 mean_->floats(), rstd_->floats(), dx_->floats(), dgamma_->floats(),
                                 dbeta_->floats(), s_.rows(), s_.hidden);
  }

 private:
  std::int64_t count_ = s_.rows() * s_.hidden;
  Array x_ = fresh_sample(count_, kInput), dy_ = fresh_sample(count_, kGradient),
        dx_ = fresh_zeros(count_), saved_x_ = sample(count_, kInput), y_ = zeros(count_),
        gamma_ = sample(s_.hidden, kScales), beta_ = sample(s_.hidden, kShifts),
        mean_ = zeros(s_.rows()), rstd_ = zeros(s_.rows()), dgamma_ = zeros(s_.hidden),
        dbeta_ = zeros(s_.hidden);
};

class RmsNormBench : public KernelBench {
 public:
  using KernelBench::KernelBench;
  std::string check() override {
    run(1);
    const std::vector<float> row = first(*x_, s_.hidden);
    const std::vector<double> x(row.begin(), row.end());
    const double size = in_quadrature(root_mean_square(x), std::sqrt(1e-5));
    const double gamma = first(*gamma_, 1)[0];
    return compare_kernel("rms_norm", first(*y_, 1)[0], x[0] / size * gamma);
  }

 protected:
  void once() override {
    compute_.rms_norm_forward(x_->floats(), gamma_->floats(), y_->floats(), rstd_->floats(),
                              s_.rows(), s_.hidden);
    compute_.rms_norm_backward(dy_->floats(), saved_x_->floats(), gamma_->floats(), rstd_->floats(),
                               dx_->floats(), dgamma_->floats(), s_.rows(), s_.hidden);
  }

 private:
  std::int64_t count_ = s_.rows() * s_.hidden;
  Array x_ = fresh_sample(count_, kInput), dy_ = fresh_sample(count_, kGradient),
        dx_ = fresh_zeros(count_), saved_x_ = sample(count_, kInput), y_ = zeros(count_),
        gamma_ = sample(s_.hidden, kScales), rstd_ = zeros(s_.rows()), dgamma_ = zeros(s_.hidden);
};

// There and back again, every head of every sequence.
class RotaryBench : public KernelBench {
 public:
  using KernelBench::KernelBench;
  std::string check() override {
    // The table holds angles of no rotation but of pair 0 at the last of two positions, or at the
    // only one: a quarter turn.
    const std::vector<float> before = first(*x_, turned_ + width_);
    turn(false);
    const double turned = first(*x_, turned_ + 1).back();
    turn(true);
    const auto at = static_cast<std::size_t>(turned_);
    const auto partner = static_cast<std::size_t>(turned_ + width_ / 2);
    const std::string wrong =
        compare_kernel("rotary", turned, -static_cast<double>(before[partner]));
    return wrong.empty() ? compare_kernel("rotary back", first(*x_, turned_ + 1).back(), before[at])
                         : wrong;
  }

 protected:
  void once() override {
    turn(false);
    turn(true);
  }

 private:
  void turn(bool inverse) {
    compute_.rotary(x_->floats(), table_->floats(), s_.batch, s_.heads, s_.heads, s_.positions,
                    width_, inverse);
  }
  Array table() {
    std::vector<float> values(static_cast<std::size_t>(s_.positions * width_), 0.0F);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool cosine = static_cast<std::int64_t>(i) % width_ < width_ / 2;
      values[i] = cosine ? 1.0F : 0.0F;
    }
    values[static_cast<std::size_t>(turned_)] = 0.0F;
    values[static_cast<std::size_t>(turned_ + width_ / 2)] = 1.0F;
    Array array = fresh_zeros(s_.positions * width_);
    compute_.upload(array->data(), values.data(), values.size() * sizeof(float));
    compute_.synchronize();
    return array;
  }

  std::int64_t width_ = s_.hidden / s_.heads;
  std::int64_t turned_ = s_.positions > 1 ? width_ : 0;  // where the numbers of that position begin
  Array x_ = fresh_sample(s_.rows() * s_.hidden, kInput), table_ = table();
};

class ActivationBench : public KernelBench {
 public:
  using KernelBench::KernelBench;
  std::string check() override {
    run(1);
    const double x = first(*x_, 1)[0] + first(*bias_, 1)[0];
    if (!s_.gated) {
      const double inner = std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x);
      return compare_kernel("activation", first(*y_, 1)[0], 0.5 * x * (1.0 + std::tanh(inner)));
    }
    const double value = first(*x_, s_.ffn + 1).back() + first(*bias_, s_.ffn + 1).back();
    return compare_kernel("activation", first(*y_, 1)[0], x / (1.0 + std::exp(-x)) * value);
  }

 protected:
  void once() override {
    const auto forward = s_.gated ? &Compute::bias_swiglu_forward : &Compute::bias_gelu_forward;
    const auto backward = s_.gated ? &Compute::bias_swiglu_backward : &Compute::bias_gelu_backward;
    (compute_.*forward)(x_->floats(), bias_->floats(), y_->floats(), s_.rows(), s_.ffn);
    (compute_.*backward)(dy_->floats(), saved_x_->floats(), bias_->floats(), dx_->floats(),
                         dbias_->floats(), s_.rows(), s_.ffn);
  }

 private:
  std::int64_t width_ = (s_.gated ? 2 : 1) * s_.ffn;  // of a row of inputs
  Array x_ = fresh_sample(s_.rows() * width_, kInput),
        dy_ = fresh_sample(s_.rows() * s_.ffn, kGradient), dx_ = fresh_zeros(s_.rows() * width_),
        saved_x_ = sample(s_.rows() * width_, kInput), y_ = zeros(s_.rows() * s_.ffn),
        bias_ = sample(width_, kShifts), dbias_ = zeros(width_);
};

// In place, as a step does: probabilities over scores, their gradients over the probabilities'.
class SoftmaxBench : public KernelBench {
 public:
  using KernelBench::KernelBench;
  std::string check() override {
    // The last row of the first matrix sees every position.
    const std::vector<float> x = first(*x_, s_.positions * s_.positions);
    run(1);
    const std::vector<float> y = first(*x_, s_.positions * s_.positions);
    const std::size_t row = x.size() - static_cast<std::size_t>(s_.positions);
    double sum = 0.0;
    for (std::size_t i = row; i < x.size(); ++i) sum += std::exp(kScale * x[i]);
    return compare_kernel("softmax", y[row], std::exp(kScale * x[row]) / sum);
  }

 protected:
  void once() override {
    const std::int64_t matrices = s_.batch * s_.heads;
    compute_.causal_softmax_forward(x_->floats(), x_->floats(), kScale, matrices, s_.positions,
                                    s_.positions, 0);
    compute_.softmax_backward(dy_->floats(), saved_y_->floats(), dy_->floats(), kScale, matrices,
                              s_.positions);
  }

 private:
  static constexpr float kScale = 0.125F;
  std::int64_t count_ = s_.batch * s_.heads * s_.positions * s_.positions;
  Array x_ = fresh_sample(count_, kInput), dy_ = fresh_sample(count_, kGradient),
        saved_y_ = sample(count_, kScales);
};

class AddBench : public KernelBench {
 public:
  using KernelBench::KernelBench;
  std::string check() override {
    run(1);
    const double a = first(*a_, 1)[0], b = first(*b_, 1)[0];
    return compare_kernel("add", first(*y_, 1)[0], a + b);
  }

 protected:
  void once() override {
    compute_.add(a_->floats(), b_->floats(), y_->floats(), count_);
    compute_.add(b_->floats(), a_->floats(), y_->floats(), count_);
  }

 private:
  std::int64_t count_ = s_.rows() * s_.hidden;
  Array a_ = fresh_sample(count_, kInput), b_ = fresh_sample(count_, kGradient),
        y_ = fresh_zeros(count_);
};

// Queries, keys and values are saved; their gradients are not.
class TransposeBench : public KernelBench {
 public:
  using KernelBench::KernelBench;
  std::string check() override {
    run(1);
    // Head 0 of batch entry 0 at position 1 lies one whole position further in x. A step of one
    // position is of one sequence: its second head stays second.
    const std::int64_t second = s_.positions > 1 ? 3 * s_.hidden * s_.batch : width_;
    const std::vector<float> x = first(*x_, second + 1);
    const double moved = first(*y_, s_.hidden / s_.heads + 1).back();
    const std::string wrong = compare_kernel("transpose", moved, x.back());
    if (!wrong.empty()) return wrong;
    move_back(*y_);
    return compare_kernel("transpose back", first(*back_, 5)[4], first(*x_, 5)[4]);
  }

 protected:
  void once() override {
    compute_.to_heads(x_->floats(), y_->floats(), s_.positions, s_.batch, 3, s_.heads, width_);
    move_back(*heads_);
  }

 private:
  void move_back(const DeviceArray& from) {
    compute_.from_heads(from.floats(), back_->floats(), s_.positions, s_.batch, 3, s_.heads,
                        width_);
  }
  std::int64_t width_ = s_.hidden / s_.heads;
  std::int64_t count_ = 3 * s_.rows() * s_.hidden;
  Array x_ = fresh_sample(count_, kInput), heads_ = fresh_sample(count_, kGradient),
        back_ = fresh_zeros(count_), y_ = zeros(count_);
};

}  // namespace

std::unique_ptr<KernelBench> layer_norm_bench(Compute& compute, const KernelSizes& sizes,
                                              FreshArrays& fresh) {
  return std::make_unique<LayerNormBench>(compute, sizes, fresh);
}
std::unique_ptr<KernelBench> rms_norm_bench(Compute& compute, const KernelSizes& sizes,
                                            FreshArrays& fresh) {
  return std::make_unique<RmsNormBench>(compute, sizes, fresh);
}
std::unique_ptr<KernelBench> rotary_bench(Compute& compute, const KernelSizes& sizes,
                                          FreshArrays& fresh) {
  return std::make_unique<RotaryBench>(compute, sizes, fresh);
}
std::unique_ptr<KernelBench> activation_bench(Compute& compute, const KernelSizes& sizes,
                                              FreshArrays& fresh) {
  return std::make_unique<ActivationBench>(compute, sizes, fresh);
}
std::unique_ptr<KernelBench> softmax_bench(Compute& compute, const KernelSizes& sizes,
                                           FreshArrays& fresh) {
  return std::make_unique<SoftmaxBench>(compute, sizes, fresh);
}
std::unique_ptr<KernelBench> add_bench(Compute& compute, const KernelSizes& sizes,
                                       FreshArrays& fresh) {
  return std::make_unique<AddBench>(compute, sizes, fresh);
}
std::unique_ptr<KernelBench> transpose_bench(Compute& compute, const KernelSizes& sizes,
                                             FreshArrays& fresh) {
  return std::make_unique<TransposeBench>(compute, sizes, fresh);
}

}  // namespace meshwright::calibrate
