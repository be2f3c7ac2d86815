// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/cpu/compute_cpu.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include "calibrate/backends/cpu/gemm.h"
#include "calibrate/backends/cpu/kernels.h"
#include "calibrate/backends/cpu_info.h"

namespace meshwright::calibrate::cpu {
namespace {

constexpr std::size_t kAlignment = 64;  // a cache line, and the widest vector register

// Cores of the machine. MPI may have bound this process to one of them.
int machine_cores() { return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))); }

double machine_memory() {
  double memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  std::ifstream limit("/sys/fs/cgroup/memory.max");  // "max" when there is none
  double value = 0.0;
  if (limit >> value) memory = std::min(memory, value);
  return memory;
}

// Size of the last-level cache that this core's group shares, as the kernel states it in KiB
// ("32768K"); 0 if it does not. sysconf would give the sum over all groups.
Bytes last_cache() {
  for (const char* level : {"3", "2"}) {
    std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/size", level));
    double size = 0.0;
    if (file >> size) return kibibytes(size);
  }
  return {};
}

// Instruction sets of the machine that decide the speed of GEMMs.
std::string instruction_sets() {
  const std::string flags = fmt::format(" {} ", cpu_info("flags"));
  std::vector<std::string> found;
  for (const char* set : {"avx2", "fma", "avx512f", "avx512_bf16", "amx_bf16"}) {
    if (flags.find(fmt::format(" {} ", set)) != std::string::npos) found.emplace_back(set);
  }
  return fmt::format("{}", fmt::join(found, " "));
}

class CpuCompute final : public CpuKernels {
 public:
  [[nodiscard]] DeviceDescription describe() const override {
    DeviceDescription d;
    d.kind = "cpu";
    const std::string name = cpu_info("model name");
    d.name = name.empty() ? "CPU core" : name + ", one core";
    d.memory = d.free_memory = bytes(machine_memory() / machine_cores());
    d.cache = last_cache();
    d.details = {{"gemm_library", gemm_library()},
                 {"instruction_sets", instruction_sets()},
                 {"cores", std::to_string(machine_cores())}};
    return d;
  }
  [[nodiscard]] bool supports(Precision precision) const override {
    return gemm_->supports(precision);
  }

  void* allocate(std::size_t size) override {
    const std::size_t rounded = (std::max<std::size_t>(size, 1) + kAlignment - 1) / kAlignment;
    void* pointer = std::aligned_alloc(kAlignment, rounded * kAlignment);
    if (pointer == nullptr) {
      throw OutOfMemory(fmt::format("cannot allocate {:.2f} GiB of memory",
                                    in_gibibytes(bytes(static_cast<double>(size)))));
    }
    return pointer;
  }
  void release(void* pointer) override { std::free(pointer); }
  void upload(void* device, const void* host, std::size_t size) override {
    copy(device, host, size);
  }
  void download(void* host, const void* device, std::size_t size) override {
    copy(host, device, size);
  }
  void copy(void* to, const void* from, std::size_t size) override {
    if (size > 0) std::memcpy(to, from, size);
  }
  void fill_zero(void* device, std::size_t size) override {
    if (size > 0) std::memset(device, 0, size);
  }
  [[nodiscard]] std::int64_t num_different(const float* a, const float* b,
                                           std::int64_t count) override {
    std::int64_t different = 0;
    for (std::int64_t i = 0; i < count; ++i) different += a[i] != b[i] ? 1 : 0;
    return different;
  }
  void synchronize() override {}

  void gemm(const GemmCall& call) override { gemm_->run(call); }
  void copy_rows(float* to, std::int64_t to_stride, const float* from, std::int64_t from_stride,
                 std::int64_t rows, std::int64_t cols) override {
    const std::size_t row_bytes = static_cast<std::size_t>(cols) * sizeof(float);
    for (std::int64_t i = 0; i < rows; ++i) {
      copy(to + i * to_stride, from + i * from_stride, row_bytes);
    }
  }

 private:
  std::unique_ptr<Gemm> gemm_ = make_gemm();
};

}  // namespace

std::unique_ptr<Compute> make_compute() { return std::make_unique<CpuCompute>(); }
std::string libraries() { return gemm_library(); }

}  // namespace meshwright::calibrate::cpu
