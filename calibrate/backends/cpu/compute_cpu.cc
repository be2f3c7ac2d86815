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
#include "sim/base/error.h"

namespace meshwright::calibrate::cpu {
namespace {

constexpr std::size_t kAlignment = 64;  // a cache line, and the widest vector register

// Of the machine, not of this process: MPI may have bound it to one.
int machine_cores() { return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))); }

double machine_memory() {
  double memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  std::ifstream limit("/sys/fs/cgroup/memory.max");  // "max" when there is none
  double value = 0.0;
  if (limit >> value) memory = std::min(memory, value);
  return memory;
}

// What the cores of this one's group share, in KiB as the kernel says it ("32768K"); 0 where it
// does not. sysconf would give the sum over all groups.
Bytes last_cache() {
  for (const char* level : {"3", "2"}) {
    std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/size", level));
    double size = 0.0;
    if (file >> size) return kibibytes(size);
  }
  return {};
}

// Of the machine's instruction sets, those that decide how fast GEMMs are.
std::string instruction_sets() {
  const std::string flags = fmt::format(" {} ", cpu_info("flags"));
  std::vector<std::string> found;
  for (const char* set : {"avx2", "fma", "avx512f", "avx512_bf16", "amx_bf16"}) {
    if (flags.find(fmt::format(" {} ", set)) != std::string::npos) found.emplace_back(set);
  }
  return fmt::format("{}", fmt::join(found, " "));
}

class CpuCompute final : public Compute {
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
  void convert(void* to, Precision precision, const float* from, std::int64_t count) override {
    if (precision == Precision::fp32) return copy(to, from, static_cast<std::size_t>(count) * 4);
    only_bf16(precision);
    to_bf16(static_cast<std::uint16_t*>(to), from, count);
  }
  void widen(float* to, const void* from, Precision precision, std::int64_t count) override {
    if (precision == Precision::fp32) return copy(to, from, static_cast<std::size_t>(count) * 4);
    only_bf16(precision);
    from_bf16(to, static_cast<const std::uint16_t*>(from), count);
  }
  void round(float* data, Precision precision, std::int64_t count) override {
    only_bf16(precision);
    round_to_bf16(data, count);
  }

  void layer_norm_forward(const float* x, const float* gamma, const float* beta, float* y,
                          float* mean, float* rstd, std::int64_t rows, std::int64_t cols) override {
    cpu::layer_norm_forward(x, gamma, beta, y, mean, rstd, rows, cols);
  }
  void layer_norm_backward(const float* dy, const float* x, const float* gamma, const float* mean,
                           const float* rstd, float* dx, float* dgamma, float* dbeta,
                           std::int64_t rows, std::int64_t cols) override {
    cpu::layer_norm_backward(dy, x, gamma, mean, rstd, dx, dgamma, dbeta, rows, cols);
  }
  void rms_norm_forward(const float* x, const float* gamma, float* y, float* rstd,
                        std::int64_t rows, std::int64_t cols) override {
    cpu::rms_norm_forward(x, gamma, y, rstd, rows, cols);
  }
  void rms_norm_backward(const float* dy, const float* x, const float* gamma, const float* rstd,
                         float* dx, float* dgamma, std::int64_t rows, std::int64_t cols) override {
    cpu::rms_norm_backward(dy, x, gamma, rstd, dx, dgamma, rows, cols);
  }
  void bias_gelu_forward(const float* x, const float* bias, float* y, std::int64_t rows,
                         std::int64_t cols) override {
    cpu::bias_gelu_forward(x, bias, y, rows, cols);
  }
  void bias_gelu_backward(const float* dy, const float* x, const float* bias, float* dx,
                          float* dbias, std::int64_t rows, std::int64_t cols) override {
    cpu::bias_gelu_backward(dy, x, bias, dx, dbias, rows, cols);
  }
  void bias_relu_forward(const float* x, const float* bias, float* y, std::int64_t rows,
                         std::int64_t cols) override {
    cpu::bias_relu_forward(x, bias, y, rows, cols);
  }
  void bias_relu_backward(const float* dy, const float* x, const float* bias, float* dx,
                          float* dbias, std::int64_t rows, std::int64_t cols) override {
    cpu::bias_relu_backward(dy, x, bias, dx, dbias, rows, cols);
  }
  void bias_swiglu_forward(const float* x, const float* bias, float* y, std::int64_t rows,
                           std::int64_t cols) override {
    cpu::bias_swiglu_forward(x, bias, y, rows, cols);
  }
  void bias_swiglu_backward(const float* dy, const float* x, const float* bias, float* dx,
                            float* dbias, std::int64_t rows, std::int64_t cols) override {
    cpu::bias_swiglu_backward(dy, x, bias, dx, dbias, rows, cols);
  }
  void bias_geglu_forward(const float* x, const float* bias, float* y, std::int64_t rows,
                          std::int64_t cols) override {
    cpu::bias_geglu_forward(x, bias, y, rows, cols);
  }
  void bias_geglu_backward(const float* dy, const float* x, const float* bias, float* dx,
                           float* dbias, std::int64_t rows, std::int64_t cols) override {
    cpu::bias_geglu_backward(dy, x, bias, dx, dbias, rows, cols);
  }
  void clamp_gated_forward(const float* x, const float* bias, float* y, float limit,
                           std::int64_t rows, std::int64_t cols) override {
    cpu::clamp_gated_forward(x, bias, y, limit, rows, cols);
  }
  void clamp_gated_backward(const float* dy, const float* x, const float* bias, float* dx,
                            float* dbias, float limit, std::int64_t rows,
                            std::int64_t cols) override {
    cpu::clamp_gated_backward(dy, x, bias, dx, dbias, limit, rows, cols);
  }
  void add_bias(float* y, const float* bias, std::int64_t rows, std::int64_t cols) override {
    cpu::add_bias(y, bias, rows, cols);
  }
  void bias_backward(const float* dy, float* dbias, std::int64_t rows, std::int64_t cols) override {
    cpu::bias_backward(dy, dbias, rows, cols);
  }
  void scale_rows(const float* x, const float* scale, float* y, std::int64_t rows,
                  std::int64_t cols) override {
    cpu::scale_rows(x, scale, y, rows, cols);
  }
  void row_dots(const float* a, const float* b, float* dots, std::int64_t rows,
                std::int64_t cols) override {
    cpu::row_dots(a, b, dots, rows, cols);
  }
  void add(const float* a, const float* b, float* y, std::int64_t count) override {
    cpu::add(a, b, y, count);
  }
  void causal_softmax_forward(const float* x, float* y, float scale, std::int64_t matrices,
                              std::int64_t queries, std::int64_t keys, std::int64_t first,
                              std::int64_t window, std::int64_t jump,
                              const AttentionSinks& sinks) override {
    cpu::causal_softmax_forward(x, y, scale, matrices, queries, keys, first, window, jump, sinks);
  }
  void softmax_backward(const float* dy, const float* y, float* dx, float scale,
                        std::int64_t matrices, std::int64_t keys, std::int64_t queries) override {
    cpu::softmax_backward(dy, y, dx, scale, matrices, keys, queries);
  }
  void sinks_backward(const float* dy, const float* y, const AttentionSinks& sinks, float* dlogits,
                      std::int64_t matrices, std::int64_t keys, std::int64_t queries) override {
    cpu::sinks_backward(dy, y, sinks, dlogits, matrices, keys, queries);
  }
  void rotary(float* x, const float* table, std::int64_t blocks, std::int64_t heads,
              std::int64_t rotated, std::int64_t positions, std::int64_t width,
              bool inverse) override {
    cpu::rotary(x, table, blocks, heads, rotated, positions, width, inverse);
  }
  void copy_rows(float* to, std::int64_t to_stride, const float* from, std::int64_t from_stride,
                 std::int64_t rows, std::int64_t cols) override {
    const std::size_t row_bytes = static_cast<std::size_t>(cols) * sizeof(float);
    for (std::int64_t i = 0; i < rows; ++i) {
      copy(to + i * to_stride, from + i * from_stride, row_bytes);
    }
  }
  void to_heads(const float* x, float* y, std::int64_t positions, std::int64_t batch,
                std::int64_t blocks, std::int64_t heads, std::int64_t width) override {
    cpu::to_heads(x, y, positions, batch, blocks, heads, width);
  }
  void from_heads(const float* x, float* y, std::int64_t positions, std::int64_t batch,
                  std::int64_t blocks, std::int64_t heads, std::int64_t width) override {
    cpu::from_heads(x, y, positions, batch, blocks, heads, width);
  }
  void embedding_forward(const std::int32_t* tokens, const float* table, float* y,
                         std::int64_t count, std::int64_t first, std::int64_t rows,
                         std::int64_t cols) override {
    cpu::embedding_forward(tokens, table, y, count, first, rows, cols);
  }
  void embedding_backward(const std::int32_t* tokens, const float* dy, float* dtable,
                          std::int64_t count, std::int64_t first, std::int64_t rows,
                          std::int64_t cols) override {
    cpu::embedding_backward(tokens, dy, dtable, count, first, rows, cols);
  }
  void row_max(const float* logits, float* maximum, std::int64_t rows, std::int64_t cols) override {
    cpu::row_max(logits, maximum, rows, cols);
  }
  void exp_and_target(float* logits, const float* maximum, const std::int32_t* targets,
                      float* sum_exp, float* target, std::int64_t rows, std::int64_t cols,
                      std::int64_t first) override {
    cpu::exp_and_target(logits, maximum, targets, sum_exp, target, rows, cols, first);
  }
  void cross_entropy_backward(float* logits, const float* sum_exp, const std::int32_t* targets,
                              float scale, std::int64_t rows, std::int64_t cols,
                              std::int64_t first) override {
    cpu::cross_entropy_backward(logits, sum_exp, targets, scale, rows, cols, first);
  }
  void adam(float* weight, const float* gradient, float* exp_avg, float* exp_avg_sq,
            std::int64_t count, const AdamStep& step) override {
    cpu::adam(weight, gradient, exp_avg, exp_avg_sq, count, step);
  }

 private:
  static void only_bf16(Precision precision) {
    invariant(precision == Precision::bf16, "the cpu backend converts to fp32 and bf16 only");
  }

  std::unique_ptr<Gemm> gemm_ = make_gemm();
};

}  // namespace

std::unique_ptr<Compute> make_compute() { return std::make_unique<CpuCompute>(); }
std::string libraries() { return gemm_library(); }

}  // namespace meshwright::calibrate::cpu
