// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/cuda/compute_cuda.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "calibrate/backends/cuda/check.h"
#include "calibrate/backends/cuda/device.h"
#include "calibrate/backends/cuda/device_memory.h"
#include "calibrate/backends/cuda/fused_attention.h"
#include "calibrate/backends/cuda/gemm.h"
#include "calibrate/backends/cuda/host_node.h"
#include "calibrate/backends/cuda/kernels/hold.h"
#include "calibrate/backends/cuda/kernels/kernels.h"
#include "calibrate/backends/cuda/library_kernels_cuda.h"
#include "calibrate/backends/cuda/marks.h"
#include "calibrate/backends/cuda/nvml.h"
#include "calibrate/backends/cuda/stream.h"
#include "calibrate/backends/cuda/two_way_copy.h"

namespace meshwright::calibrate::cuda {
namespace {

class CudaCompute final : public CudaKernels {
 public:
  explicit CudaCompute(int local_rank)
      : device_(select_device(local_rank)),
        node_(node_of_device(pci_bus_id(device_))),
        gemm_(compute_capability(device_)),
        nvml_(pci_bus_id(device_)) {}

  [[nodiscard]] DeviceDescription describe() const override {
    if (description_.name.empty()) {
      description_ = describe_device(device_);
      description_.details.emplace_back("pinned_memory", pinned_memory_words(node_));
      for (auto& detail : nvml_.details()) description_.details.push_back(std::move(detail));
      if (!cudnn_version().empty()) description_.details.emplace_back("cudnn", cudnn_version());
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
  // "Device" memory may be the host's, pinned (arena.h): CUDA sees from pointers which way they go.
  // From memory that CUDA does not know it has copied the numbers aside when this returns.
  void upload(void* device, const void* host, std::size_t size) override {
    if (size == 0) return;
    CUDA_CHECK(cudaMemcpyAsync(device, host, size, cudaMemcpyDefault, kStream));
  }
  void download(void* host, const void* device, std::size_t size) override {
    if (size == 0) return;
    CUDA_CHECK(cudaMemcpyAsync(host, device, size, cudaMemcpyDefault, kStream));
    synchronize();
  }
  void copy(void* to, const void* from, std::size_t size) override {
    if (size == 0) return;
    CUDA_CHECK(cudaMemcpyAsync(to, from, size, cudaMemcpyDefault, kStream));
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
  void hold() override {
    if (!hold_) hold_ = std::make_unique<Hold>();
    hold_->hold();
  }
  void let_go() override {
    if (hold_) hold_->let_go();
  }
  [[nodiscard]] int expired_holds() const override { return hold_ ? hold_->expired() : 0; }
  [[nodiscard]] DeviceState state() override { return nvml_.state(); }

  // On the NUMA node next to the device: from another one, every copy crosses the sockets' link.
  void* allocate_host(std::size_t size) override {
    const CoresOfNode here(node_);
    void* pointer = nullptr;
    CUDA_CHECK(cudaHostAlloc(&pointer, std::max<std::size_t>(size, 1), cudaHostAllocDefault));
    return pointer;
  }
  void release_host(void* pointer) override { cudaFreeHost(pointer); }
  void start_download(void* host, const void* device, std::size_t size) override {
    if (size == 0) return;
    CUDA_CHECK(cudaMemcpyAsync(host, device, size, cudaMemcpyDefault, kStream));
  }
  void transfer_both_ways(const BothWays& transfers) override {
    if (!two_way_copy_) two_way_copy_ = std::make_unique<TwoWayCopy>();
    two_way_copy_->run(transfers);
  }

  void start_upload_beside(void* device, const void* host, std::size_t size) override {
    copies_beside().upload(device, host, size);
  }
  void start_download_beside(void* host, const void* device, std::size_t size) override {
    copies_beside().download(host, device, size);
  }
  void wait_copies_beside() override { copies_beside().wait(); }
  [[nodiscard]] LibraryKernels* library_kernels() override {
    if (!library_kernels_) library_kernels_ = make_library_kernels(compute_capability(device_));
    return library_kernels_.get();
  }

  void gemm(const GemmCall& call) override { gemm_.run(call); }
  [[nodiscard]] bool chooses_algorithms() const override { return true; }
  void copy_rows(float* to, std::int64_t to_stride, const float* from, std::int64_t from_stride,
                 std::int64_t rows, std::int64_t cols) override {
    if (rows == 0 || cols == 0) return;
    const auto size = [](std::int64_t count) {
      return static_cast<std::size_t>(count) * sizeof(float);
    };
    CUDA_CHECK(cudaMemcpy2DAsync(to, size(to_stride), from, size(from_stride), size(cols),
                                 static_cast<std::size_t>(rows), cudaMemcpyDefault, kStream));
  }

 private:
  CopiesBeside& copies_beside() {
    if (!copies_beside_) copies_beside_ = std::make_unique<CopiesBeside>();
    return *copies_beside_;
  }

  int device_;
  int node_;
  Gemm gemm_;
  Marks marks_;
  DeviceMemory counter_;
  NvmlDevice nvml_;
  mutable DeviceDescription description_;  // asked once; only the free memory changes
  std::unique_ptr<TwoWayCopy> two_way_copy_;
  std::unique_ptr<CopiesBeside> copies_beside_;
  std::unique_ptr<Hold> hold_;
  std::unique_ptr<LibraryKernels> library_kernels_;
};

}  // namespace

std::unique_ptr<Compute> make_compute(int local_rank) {
  return std::make_unique<CudaCompute>(local_rank);
}

}  // namespace meshwright::calibrate::cuda
