// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/cuda/compute_cuda.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "calibrate/backends/cuda/check.h"
#include "calibrate/backends/cuda/device.h"
#include "calibrate/backends/cuda/device_memory.h"
#include "calibrate/backends/cuda/gemm.h"
#include "calibrate/backends/cuda/kernels.h"
#include "calibrate/backends/cuda/marks.h"
#include "calibrate/backends/cuda/nvml.h"
#include "calibrate/backends/cuda/stream.h"
#include "calibrate/backends/cuda/two_way_copy.h"
#include "sim/base/error.h"

namespace meshwright::calibrate::cuda {
namespace {

class CudaCompute final : public Compute {
 public:
  explicit CudaCompute(int local_rank)
      : device_(select_device(local_rank)),
        gemm_(compute_capability(device_)),
        nvml_(pci_bus_id(device_)) {}

  [[nodiscard]] DeviceDescription describe() const override {
    if (description_.name.empty()) {
      description_ = describe_device(device_);
      for (auto& detail : nvml_.details()) description_.details.push_back(std::move(detail));
    }
    DeviceDescription description = description_;
    description.free_memory = free_memory();
    return description;
  }
  [[nodiscard]] bool supports(Precision precision) const override {
    return gemm_.supports(precision);
  }
  [[nodiscard]] bool writes_sixteen_bits() const override { return true; }

  void* allocate(std::size_t size) override {
    void* pointer = nullptr;
    CUDA_CHECK(cudaMalloc(&pointer, std::max<std::size_t>(size, 1)));
    return pointer;
  }
  // Called by destructors, also while an error is on its way: a second error would end the program.
  void release(void* pointer) override { cudaFree(pointer); }
  // From memory that CUDA does not know it has copied the numbers aside when this returns.
  void upload(void* device, const void* host, std::size_t size) override {
    if (size == 0) return;
    CUDA_CHECK(cudaMemcpyAsync(device, host, size, cudaMemcpyHostToDevice, kStream));
  }
  void download(void* host, const void* device, std::size_t size) override {
    if (size == 0) return;
    CUDA_CHECK(cudaMemcpyAsync(host, device, size, cudaMemcpyDeviceToHost, kStream));
    synchronize();
  }
  void copy(void* to, const void* from, std::size_t size) override {
    if (size == 0) return;
    CUDA_CHECK(cudaMemcpyAsync(to, from, size, cudaMemcpyDeviceToDevice, kStream));
  }
  void fill_zero(void* device, std::size_t size) override {
    if (size == 0) return;
    CUDA_CHECK(cudaMemsetAsync(device, 0, size, kStream));
  }
  [[nodiscard]] std::int64_t num_different(const float* a, const float* b,
                                           std::int64_t count) override {
    if (count == 0) return 0;
    unsigned long long found = 0;
    counter_.reserve(sizeof found);
    fill_zero(counter_.data(), sizeof found);
    count_different(a, b, count, static_cast<unsigned long long*>(counter_.data()));
    download(&found, counter_.data(), sizeof found);
    return static_cast<std::int64_t>(found);
  }
  void synchronize() override { CUDA_CHECK(cudaStreamSynchronize(kStream)); }

  Mark mark() override { return marks_.mark(); }
  [[nodiscard]] double seconds_between(Mark from, Mark to) override {
    return marks_.seconds_between(from, to);
  }
  void forget_marks() override { marks_.forget(); }
  [[nodiscard]] DeviceState state() override { return nvml_.state(); }

  void* allocate_host(std::size_t size) override {
    void* pointer = nullptr;
    CUDA_CHECK(cudaHostAlloc(&pointer, std::max<std::size_t>(size, 1), cudaHostAllocDefault));
    return pointer;
  }
  void release_host(void* pointer) override { cudaFreeHost(pointer); }
  void start_download(void* host, const void* device, std::size_t size) override {
    if (size == 0) return;
    CUDA_CHECK(cudaMemcpyAsync(host, device, size, cudaMemcpyDeviceToHost, kStream));
  }
  void transfer_both_ways(const BothWays& transfers) override {
    if (!two_way_copy_) two_way_copy_ = std::make_unique<TwoWayCopy>();
    two_way_copy_->run(transfers);
  }

  void gemm(const GemmCall& call) override { gemm_.run(call); }
  void convert(void* to, Precision precision, const float* from, std::int64_t count) override {
    switch (precision) {
      case Precision::fp32:
      case Precision::tf32:
        return copy(to, from, static_cast<std::size_t>(count) * sizeof(float));
      case Precision::bf16:
        return to_bf16(to, from, count);
      case Precision::fp16:
        return to_fp16(to, from, count);
      case Precision::fp8:
        return to_fp8(to, from, count);
      case Precision::fp4:
        return;  // not measured
    }
  }
  void widen(float* to, const void* from, Precision precision, std::int64_t count) override {
    switch (precision) {
      case Precision::fp32:
      case Precision::tf32:
        return copy(to, from, static_cast<std::size_t>(count) * sizeof(float));
      case Precision::bf16:
        return from_bf16(to, from, count);
      case Precision::fp16:
        return from_fp16(to, from, count);
      case Precision::fp8:
      case Precision::fp4:
        invariant(false, "numbers below 16 bits are operands only");
    }
  }
  void round(float* data, Precision precision, std::int64_t count) override {
    invariant(precision == Precision::bf16 || precision == Precision::fp16,
              "numbers are stored in 32 or 16 bits");
    if (precision == Precision::bf16) return round_to_bf16(data, count);
    round_to_fp16(data, count);
  }

  void layer_norm_forward(const float* x, const float* gamma, const float* beta, float* y,
                          float* mean, float* rstd, std::int64_t rows, std::int64_t cols) override {
    cuda::layer_norm_forward(x, gamma, beta, y, mean, rstd, rows, cols);
  }
  void layer_norm_backward(const float* dy, const float* x, const float* gamma, const float* mean,
                           const float* rstd, float* dx, float* dgamma, float* dbeta,
                           std::int64_t rows, std::int64_t cols) override {
    cuda::layer_norm_backward(dy, x, gamma, mean, rstd, dx, dgamma, dbeta, rows, cols);
  }
  void rms_norm_forward(const float* x, const float* gamma, float* y, float* rstd,
                        std::int64_t rows, std::int64_t cols) override {
    cuda::rms_norm_forward(x, gamma, y, rstd, rows, cols);
  }
  void rms_norm_backward(const float* dy, const float* x, const float* gamma, const float* rstd,
                         float* dx, float* dgamma, std::int64_t rows, std::int64_t cols) override {
    cuda::rms_norm_backward(dy, x, gamma, rstd, dx, dgamma, rows, cols);
  }
  void bias_gelu_forward(const float* x, const float* bias, float* y, std::int64_t rows,
                         std::int64_t cols) override {
    cuda::bias_gelu_forward(x, bias, y, rows, cols);
  }
  void bias_gelu_backward(const float* dy, const float* x, const float* bias, float* dx,
                          float* dbias, std::int64_t rows, std::int64_t cols) override {
    cuda::bias_gelu_backward(dy, x, bias, dx, dbias, rows, cols);
  }
  void bias_relu_forward(const float* x, const float* bias, float* y, std::int64_t rows,
                         std::int64_t cols) override {
    cuda::bias_relu_forward(x, bias, y, rows, cols);
  }
  void bias_relu_backward(const float* dy, const float* x, const float* bias, float* dx,
                          float* dbias, std::int64_t rows, std::int64_t cols) override {
    cuda::bias_relu_backward(dy, x, bias, dx, dbias, rows, cols);
  }
  void bias_swiglu_forward(const float* x, const float* bias, float* y, std::int64_t rows,
                           std::int64_t cols) override {
    cuda::bias_swiglu_forward(x, bias, y, rows, cols);
  }
  void bias_swiglu_backward(const float* dy, const float* x, const float* bias, float* dx,
                            float* dbias, std::int64_t rows, std::int64_t cols) override {
    cuda::bias_swiglu_backward(dy, x, bias, dx, dbias, rows, cols);
  }
  void bias_geglu_forward(const float* x, const float* bias, float* y, std::int64_t rows,
                          std::int64_t cols) override {
    cuda::bias_geglu_forward(x, bias, y, rows, cols);
  }
  void bias_geglu_backward(const float* dy, const float* x, const float* bias, float* dx,
                           float* dbias, std::int64_t rows, std::int64_t cols) override {
    cuda::bias_geglu_backward(dy, x, bias, dx, dbias, rows, cols);
  }
  void clamp_gated_forward(const float* x, const float* bias, float* y, float limit,
                           std::int64_t rows, std::int64_t cols) override {
    cuda::clamp_gated_forward(x, bias, y, limit, rows, cols);
  }
  void clamp_gated_backward(const float* dy, const float* x, const float* bias, float* dx,
                            float* dbias, float limit, std::int64_t rows,
                            std::int64_t cols) override {
    cuda::clamp_gated_backward(dy, x, bias, dx, dbias, limit, rows, cols);
  }
  void add_bias(float* y, const float* bias, std::int64_t rows, std::int64_t cols) override {
    cuda::add_bias(y, bias, rows, cols);
  }
  void bias_backward(const float* dy, float* dbias, std::int64_t rows, std::int64_t cols) override {
    cuda::bias_backward(dy, dbias, rows, cols);
  }
  void scale_rows(const float* x, const float* scale, float* y, std::int64_t rows,
                  std::int64_t cols) override {
    cuda::scale_rows(x, scale, y, rows, cols);
  }
  void row_dots(const float* a, const float* b, float* dots, std::int64_t rows,
                std::int64_t cols) override {
    cuda::row_dots(a, b, dots, rows, cols);
  }
  void add(const float* a, const float* b, float* y, std::int64_t count) override {
    cuda::add(a, b, y, count);
  }
  void causal_softmax_forward(const float* x, float* y, float scale, std::int64_t matrices,
                              std::int64_t queries, std::int64_t keys, std::int64_t first,
                              std::int64_t window, std::int64_t jump,
                              const AttentionSinks& sinks) override {
    cuda::causal_softmax_forward(x, y, scale, matrices, queries, keys, first, window, jump, sinks);
  }
  void softmax_backward(const float* dy, const float* y, float* dx, float scale,
                        std::int64_t matrices, std::int64_t keys, std::int64_t queries) override {
    cuda::softmax_backward(dy, y, dx, scale, matrices, keys, queries);
  }
  void sinks_backward(const float* dy, const float* y, const AttentionSinks& sinks, float* dlogits,
                      std::int64_t matrices, std::int64_t keys, std::int64_t queries) override {
    cuda::sinks_backward(dy, y, sinks, dlogits, matrices, keys, queries);
  }
  void rotary(float* x, const float* table, std::int64_t blocks, std::int64_t heads,
              std::int64_t rotated, std::int64_t positions, std::int64_t width,
              bool inverse) override {
    cuda::rotary(x, table, blocks, heads, rotated, positions, width, inverse);
  }
  void copy_rows(float* to, std::int64_t to_stride, const float* from, std::int64_t from_stride,
                 std::int64_t rows, std::int64_t cols) override {
    if (rows == 0 || cols == 0) return;
    const auto size = [](std::int64_t count) {
      return static_cast<std::size_t>(count) * sizeof(float);
    };
    CUDA_CHECK(cudaMemcpy2DAsync(to, size(to_stride), from, size(from_stride), size(cols),
                                 static_cast<std::size_t>(rows), cudaMemcpyDeviceToDevice,
                                 kStream));
  }
  void to_heads(const float* x, float* y, std::int64_t positions, std::int64_t batch,
                std::int64_t blocks, std::int64_t heads, std::int64_t width) override {
    cuda::to_heads(x, y, positions, batch, blocks, heads, width);
  }
  void from_heads(const float* x, float* y, std::int64_t positions, std::int64_t batch,
                  std::int64_t blocks, std::int64_t heads, std::int64_t width) override {
    cuda::from_heads(x, y, positions, batch, blocks, heads, width);
  }
  void embedding_forward(const std::int32_t* tokens, const float* table, float* y,
                         std::int64_t count, std::int64_t first, std::int64_t rows,
                         std::int64_t cols) override {
    cuda::embedding_forward(tokens, table, y, count, first, rows, cols);
  }
  void embedding_backward(const std::int32_t* tokens, const float* dy, float* dtable,
                          std::int64_t count, std::int64_t first, std::int64_t rows,
                          std::int64_t cols) override {
    cuda::embedding_backward(tokens, dy, dtable, count, first, rows, cols);
  }
  void row_max(const float* logits, float* maximum, std::int64_t rows, std::int64_t cols) override {
    cuda::row_max(logits, maximum, rows, cols);
  }
  void exp_and_target(float* logits, const float* maximum, const std::int32_t* targets,
                      float* sum_exp, float* target, std::int64_t rows, std::int64_t cols,
                      std::int64_t first) override {
    cuda::exp_and_target(logits, maximum, targets, sum_exp, target, rows, cols, first);
  }
  void cross_entropy_backward(float* logits, const float* sum_exp, const std::int32_t* targets,
                              float scale, std::int64_t rows, std::int64_t cols,
                              std::int64_t first) override {
    cuda::cross_entropy_backward(logits, sum_exp, targets, scale, rows, cols, first);
  }
  void adam(float* weight, const float* gradient, float* exp_avg, float* exp_avg_sq,
            std::int64_t count, const AdamStep& step) override {
    cuda::adam(weight, gradient, exp_avg, exp_avg_sq, count, step);
  }

 private:
  int device_;
  Gemm gemm_;
  Marks marks_;
  DeviceMemory counter_;
  NvmlDevice nvml_;
  mutable DeviceDescription description_;  // asked once; only the free memory changes
  std::unique_ptr<TwoWayCopy> two_way_copy_;
};

}  // namespace

std::unique_ptr<Compute> make_compute(int local_rank) {
  return std::make_unique<CudaCompute>(local_rank);
}

}  // namespace meshwright::calibrate::cuda
