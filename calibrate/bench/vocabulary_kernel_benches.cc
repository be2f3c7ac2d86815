// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "calibrate/bench/kernel_benches.h"

namespace meshwright::calibrate {
namespace {

constexpr unsigned kFirst = 1, kOther = 2;

class EmbeddingBench : public KernelBench {
 public:
  using KernelBench::KernelBench;
  std::string check() override {
    run(1);
    // Row 1 is token 7; a single row is token 0.
    const std::int64_t row = s_.rows() > 1 ? 1 : 0;
    const double expected = first(*table_, 7 * row * s_.hidden + 1).back();
    return compare_kernel("embedding", first(*y_, row * s_.hidden + 1).back(), expected);
  }

 protected:
  void once() override {
    compute_.embedding_forward(ids_->ints(), table_->floats(), y_->floats(), s_.rows(), 0, s_.vocab,
                               s_.hidden);
    compute_.embedding_backward(ids_->ints(), dy_->floats(), gradient_->floats(), s_.rows(), 0,
                                s_.vocab, s_.hidden);
  }

 private:
  Array ids_ = tokens(s_.rows(), s_.vocab), dy_ = fresh_sample(s_.rows() * s_.hidden, kOther),
        table_ = sample(s_.vocab * s_.hidden, kFirst), y_ = zeros(s_.rows() * s_.hidden),
        gradient_ = zeros(s_.vocab * s_.hidden);
};

class CrossEntropyBench : public KernelBench {
 public:
  using KernelBench::KernelBench;
  std::string check() override {
    const std::vector<float> logits = first(*logits_, s_.vocab);
    run(1);
    double maximum = logits[0], sum = 0.0;
    for (const float v : logits) maximum = std::max<double>(maximum, v);
    for (const float v : logits) sum += std::exp(v - maximum);
    return compare_kernel("cross_entropy", first(*sums_, 1)[0], sum);
  }

 protected:
  // Logits were just computed. From the second run on it works on the gradients of the first, which
  // costs the same.
  void once() override {
    compute_.row_max(logits_->floats(), maxima_->floats(), s_.rows(), s_.vocab);
    compute_.exp_and_target(logits_->floats(), maxima_->floats(), ids_->ints(), sums_->floats(),
                            targets_->floats(), s_.rows(), s_.vocab, 0);
    compute_.cross_entropy_backward(logits_->floats(), sums_->floats(), ids_->ints(), 1.0F,
                                    s_.rows(), s_.vocab, 0);
  }

 private:
  Array logits_ = fresh_sample(s_.rows() * s_.vocab, kFirst), maxima_ = fresh_zeros(s_.rows()),
        sums_ = fresh_zeros(s_.rows()), targets_ = fresh_zeros(s_.rows()),
        ids_ = tokens(s_.rows(), s_.vocab);
};

class AdamBench : public KernelBench {
 public:
  using KernelBench::KernelBench;
  std::string check() override {
    const double before = first(*weight_, 1)[0], gradient = first(*gradient_, 1)[0];
    run(1);
    // The first step from zero moments is the gradient's sign times the learning rate.
    const double step = gradient / (std::abs(gradient) + 1e-8) * AdamStep{}.learning_rate;
    return compare_kernel("adam", first(*weight_, 1)[0], before - step);
  }

 protected:
  void once() override {
    compute_.adam(weight_->floats(), gradient_->floats(), average_->floats(), square_->floats(),
                  adam_parameters(s_), AdamStep{});
  }

 private:
  Array weight_ = sample(adam_parameters(s_), kFirst),
        gradient_ = sample(adam_parameters(s_), kOther), average_ = zeros(adam_parameters(s_)),
        square_ = zeros(adam_parameters(s_));
};

}  // namespace

std::unique_ptr<KernelBench> embedding_bench(Compute& compute, const KernelSizes& sizes,
                                             FreshArrays& fresh) {
  return std::make_unique<EmbeddingBench>(compute, sizes, fresh);
}
std::unique_ptr<KernelBench> cross_entropy_bench(Compute& compute, const KernelSizes& sizes,
                                                 FreshArrays& fresh) {
  return std::make_unique<CrossEntropyBench>(compute, sizes, fresh);
}
std::unique_ptr<KernelBench> adam_bench(Compute& compute, const KernelSizes& sizes,
                                        FreshArrays& fresh) {
  return std::make_unique<AdamBench>(compute, sizes, fresh);
}

}  // namespace meshwright::calibrate
