// SPDX-License-Identifier: Apache-2.0
// A device of which only the order of what it is asked for counts: memory is the host's, kernels do
// nothing, and time passes by as much as each product is said to take. As a GPU, it is asked and
// works later: a mark comes when all that was asked before is done.
#pragma once

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "calibrate/backends/compute.h"

namespace meshwright::calibrate {

inline DeviceDescription a_gpu() {
  DeviceDescription d;
  d.kind = "cuda";
  d.name = "idle";
  d.architecture = "hopper";
  return d;
}

class IdleCompute : public Compute {
 public:
  DeviceDescription description = a_gpu();
  std::vector<std::string> asked;  // in order
  std::vector<GemmCall> gemms;
  double product_seconds = 1e-6;
  double device_now = 0.0;
  DeviceState now_state;

  [[nodiscard]] DeviceDescription describe() const override { return description; }
  [[nodiscard]] bool supports(Precision) const override { return true; }
  [[nodiscard]] bool writes_sixteen_bits() const override { return true; }

  void* allocate(std::size_t size) override { return std::calloc(size + 1, 1); }
  void release(void* pointer) override { std::free(pointer); }
  void upload(void* device, const void* host, std::size_t size) override {
    asked.emplace_back("upload");
    std::memcpy(device, host, size);
  }
  void download(void* host, const void* device, std::size_t size) override {
    asked.emplace_back("download");
    std::memcpy(host, device, size);
  }
  void start_download(void* host, const void* device, std::size_t size) override {
    asked.emplace_back("start_download");
    std::memcpy(host, device, size);
  }
  void transfer_both_ways(const BothWays& t) override {
    asked.emplace_back("both_ways");
    std::memcpy(t.to_device, t.from_host, t.bytes);
    std::memcpy(t.to_host, t.from_device, t.bytes);
  }
  void copy(void* to, const void* from, std::size_t size) override { std::memcpy(to, from, size); }
  void fill_zero(void* device, std::size_t size) override { std::memset(device, 0, size); }
  [[nodiscard]] std::int64_t num_different(const float* a, const float* b,
                                           std::int64_t count) override {
    std::int64_t different = 0;
    for (std::int64_t i = 0; i < count; ++i) different += a[i] != b[i] ? 1 : 0;
    return different;
  }
  void synchronize() override { asked.emplace_back("synchronize"); }
  Mark mark() override {
    asked.emplace_back("mark");
    times_.push_back(device_now);
    return times_.size() - 1;
  }
  [[nodiscard]] double seconds_between(Mark from, Mark to) override {
    return times_[to] - times_[from];
  }
  void forget_marks() override { times_.clear(); }
  [[nodiscard]] DeviceState state() override { return now_state; }

  void gemm(const GemmCall& call) override {
    asked.emplace_back("gemm");
    gemms.push_back(call);
    device_now += product_seconds;
  }
  void convert(void* to, Precision precision, const float* from, std::int64_t count) override {
    const auto size =
        static_cast<std::size_t>(static_cast<double>(count) * bytes_per_element(precision));
    std::memcpy(to, from, size);
  }

  void widen(float* to, const void* from, Precision precision, std::int64_t count) override {
    const auto size =
        static_cast<std::size_t>(static_cast<double>(count) * bytes_per_element(precision));
    std::memcpy(to, from, size);
  }
  void round(float*, Precision, std::int64_t) override { asked.emplace_back("round"); }

  using F = float;
  using I = std::int64_t;
  using C = ConstNumbers;
  using N = Numbers;
  void layer_norm_forward(C, const F*, const F*, N, F*, F*, I, I) override {}
  void layer_norm_backward(C, C, const F*, const F*, const F*, N, F*, F*, I, I) override {}
  void rms_norm_forward(C, const F*, N, F*, I, I) override {}
  void rms_norm_backward(C, C, const F*, const F*, N, F*, I, I) override {}
  void bias_gelu_forward(C, const F*, N, I, I) override {}
  void bias_gelu_backward(C, C, const F*, N, F*, I, I) override {}
  void bias_relu_forward(C, const F*, N, I, I) override {}
  void bias_relu_backward(C, C, const F*, N, F*, I, I) override {}
  void bias_swiglu_forward(C, const F*, N, I, I) override {}
  void bias_swiglu_backward(C, C, const F*, N, F*, I, I) override {}
  void bias_geglu_forward(C, const F*, N, I, I) override {}
  void bias_geglu_backward(C, C, const F*, N, F*, I, I) override {}
  void clamp_gated_forward(const F*, const F*, F*, F, I, I) override {}
  void clamp_gated_backward(const F*, const F*, const F*, F*, F*, F, I, I) override {}
  void add_bias(F*, const F*, I, I) override {}
  void bias_backward(const F*, F*, I, I) override {}
  void scale_rows(const F*, const F*, F*, I, I) override {}
  void row_dots(const F*, const F*, F*, I, I) override {}
  void add(const F*, const F*, F*, I) override {}
  void causal_softmax_forward(C, N, F, I, I, I, I, I, I, const AttentionSinks&) override {}
  void sinks_backward(C, C, const AttentionSinks&, F*, I, I, I) override {}
  void softmax_backward(C, C, N, F, I, I, I) override {}
  void rotary(N, const F*, I, I, I, I, I, bool) override {}
  void copy_rows(F*, I, const F*, I, I, I) override {}
  void to_heads(const F*, F*, I, I, I, I, I) override {}
  void from_heads(const F*, F*, I, I, I, I, I) override {}
  void embedding_forward(const std::int32_t*, const F*, F*, I, I, I, I) override {}
  void embedding_backward(const std::int32_t*, const F*, F*, I, I, I, I) override {}
  void row_max(const F*, F*, I, I) override {}
  void exp_and_target(F*, const F*, const std::int32_t*, F*, F*, I, I, I) override {}
  void cross_entropy_backward(F*, const F*, const std::int32_t*, F, I, I, I) override {}
  void add_cross_entropy(const F*, const F*, F*, F, I) override {}
  void top_k(const F*, std::int32_t*, const RouterShape&) override {}
  void chosen_softmax(const F*, const std::int32_t*, F*, const RouterShape&) override {}
  void chosen_softmax_backward(const std::int32_t*, const F*, const F*, F*,
                               const RouterShape&) override {}
  void order_by_expert(const std::int32_t*, std::int32_t*, std::int32_t*, std::int32_t*,
                       const RouterShape&) override {}
  void adam(F*, const F*, F*, F*, I, const AdamStep&) override {}

 private:
  std::vector<double> times_;
};

}  // namespace meshwright::calibrate
