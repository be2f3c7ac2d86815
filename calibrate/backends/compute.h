// SPDX-License-Identifier: Apache-2.0
// What the calibrator and the trial ask of a device: memory, GEMMs and a transformer's other
// kernels.
//
// Pointers are device pointers of this backend. Matrices are row-major. Unless a Precision is
// given, numbers are fp32. Calls are asynchronous where the device is; synchronize() waits.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/backends/attention_sinks.h"
#include "calibrate/backends/device_state.h"
#include "calibrate/backends/numbers.h"
#include "sim/base/error.h"
#include "sim/base/job.h"
#include "sim/base/units.h"
#include "sim/hardware/device.h"

namespace meshwright::calibrate {

struct DeviceDescription {
  std::string kind;  // "cpu", "cuda"
  [[nodiscard]] DeviceKind device_kind() const {
    return kind == "cpu" ? DeviceKind::cpu : DeviceKind::gpu;
  }
  std::string name;          // the device's own name
  std::string architecture;  // of a GPU, "hopper"; empty: not known
  Bytes memory;              // of one rank
  Bytes free_memory;         // of it, what other programs leave now
  int num_multiprocessors = 1;
  Bytes cache;  // the last level, between it and memory; 0: not known
  std::vector<std::pair<std::string, std::string>>
      details;  // driver, libraries, clocks, instruction sets
};

// A held device goes on by itself after so many seconds (Compute::hold).
inline constexpr double kLongestHold = 1.0;

// A device's memory is full, which may be an answer.
class OutOfMemory : public SystemError {
 public:
  using SystemError::SystemError;
};

// A library has no kernel for what it was asked. The device is as it was before.
class UnsupportedCall : public SystemError {
 public:
  using SystemError::SystemError;
};

// c[i] = alpha * op(a[i]) * op(b[i]) + beta * c[i], for i < batch, strides in elements.
// op(a) is m x k, op(b) is k x n, c is m x n. Operands have `precision`, c has `result`: fp32, or
// 16 bits where the backend writes_sixteen_bits().
struct GemmCall {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  Precision precision = Precision::fp32;
  Precision result = Precision::fp32;
  // fp8 sums in the tensor cores' own registers, with some 14 bits, as Transformer Engine does in
  // forward; else they are moved to fp32 in between.
  bool fast_accumulation = false;
  // The fastest of the algorithms that the library names for this shape, found by trial; else its
  // first choice, which PyTorch and Transformer Engine take unseen.
  bool fastest_algorithm = false;
  float alpha = 1.0F, beta = 0.0F;
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;
};

struct AdamStep {
  float learning_rate = 1e-3F, beta1 = 0.9F, beta2 = 0.999F, epsilon = 1e-8F, weight_decay = 0.0F;
  int step = 1;  // 1-based, for bias correction
};

class LibraryKernels;  // calibrate/backends/library_kernels.h
// Tokens, and the experts that a router chooses topk of for each.
struct RouterShape {
  std::int64_t tokens = 0, experts = 0, topk = 0;
  std::int64_t groups = 0, group_topk = 0;  // of experts, of which only the best are open; 0: none
};

class Compute {
 public:
  Compute() = default;
  Compute(const Compute&) = delete;
  Compute& operator=(const Compute&) = delete;
  virtual ~Compute() = default;

  [[nodiscard]] virtual DeviceDescription describe() const = 0;
  [[nodiscard]] virtual bool supports(Precision gemm_precision) const = 0;
  // Products may have results of 16 bits.
  [[nodiscard]] virtual bool writes_sixteen_bits() const { return false; }

  virtual void* allocate(std::size_t bytes) = 0;  // aligned to 64 bytes at least
  virtual void release(void* pointer) = 0;
  virtual void upload(void* device, const void* host, std::size_t bytes) = 0;
  virtual void download(void* host, const void* device, std::size_t bytes) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;  // device to device
  virtual void fill_zero(void* device, std::size_t bytes) = 0;
  // Counts the numbers of a that differ from those of b, of `count`. Waits.
  [[nodiscard]] virtual std::int64_t num_different(const float* a, const float* b,
                                                   std::int64_t count) = 0;
  virtual void synchronize() = 0;

  // A moment between what was asked before and what is asked after: a GPU's event, which the host
  // does not wait for. Where a call is over when it returns, the host's clock.
  using Mark = std::size_t;
  virtual Mark mark() {
    synchronize();
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    marks_.push_back(std::chrono::duration<double>(now).count());
    return marks_.size() - 1;
  }
  // Waits until both have come.
  [[nodiscard]] virtual double seconds_between(Mark from, Mark to) {
    return marks_[to] - marks_[from];
  }
  // Marks so far mean nothing any more.
  virtual void forget_marks() { marks_.clear(); }

  // Keeps the device from what is asked next until let_go(), so that a whole queue runs at the
  // device's own pace and not at the host's. A GPU queues about a thousand calls; the device
  // goes on by itself after kLongestHold.
  virtual void hold() {}
  virtual void let_go() {}
  // Number of holds that the device ended by itself, so far.
  [[nodiscard]] virtual int expired_holds() const { return 0; }

  // Its clock and power now; zeros where nobody says.
  [[nodiscard]] virtual DeviceState state() { return {}; }

  // Memory of the host that the device reads and writes by itself (pinned).
  virtual void* allocate_host(std::size_t bytes) { return std::malloc(bytes); }
  virtual void release_host(void* pointer) { std::free(pointer); }
  // Starts a download, which is done at the next synchronize(). `host` is from allocate_host.
  virtual void start_download(void* host, const void* device, std::size_t bytes) {
    download(host, device, bytes);
  }
  // An upload and a download at once, each of so many bytes; both are over before what is asked
  // next.
  struct BothWays {
    void* to_device;
    const void* from_host;
    void* to_host;
    const void* from_device;
    std::size_t bytes;
  };
  virtual void transfer_both_ways(const BothWays& t) {
    upload(t.to_device, t.from_host, t.bytes);
    download(t.to_host, t.from_device, t.bytes);
  }

  // Copies of pinned memory that run while the device does what else it is asked;
  // wait_copies_beside() waits for them.
  virtual void start_upload_beside(void* device, const void* host, std::size_t bytes) {
    upload(device, host, bytes);
  }
  virtual void start_download_beside(void* host, const void* device, std::size_t bytes) {
    download(host, device, bytes);
  }
  virtual void wait_copies_beside() {}

  // Kernels of libraries that not every device has; null: it has none. They live as long as this.
  [[nodiscard]] virtual LibraryKernels* library_kernels() { return nullptr; }

  // Throws UnsupportedCall where the library has no such product.
  virtual void gemm(const GemmCall& call) = 0;
  // The library names several algorithms for one shape (see GemmCall::fastest_algorithm).
  [[nodiscard]] virtual bool chooses_algorithms() const { return false; }
  // fp32 values to `precision`, for bf16/fp16 operands.
  virtual void convert(void* to, Precision precision, const float* from, std::int64_t count) = 0;
  // And back from fp32, bf16 or fp16; exact. `to` and `from` do not overlap.
  virtual void widen(float* to, const void* from, Precision precision, std::int64_t count) = 0;
  // In place, to the nearest number that `precision` (bf16, fp16) has, ties to even.
  virtual void round(float* data, Precision precision, std::int64_t count) = 0;

  // Arrays of norms, activations, softmax and rotary positions may have 16 bits each; the
  // arithmetic is that of fp32, and parameters and statistics are fp32.
  //
  // y = (x - mean) * rstd * gamma + beta, a row at a time; mean and rstd (rows) are kept for
  // backward.
  virtual void layer_norm_forward(ConstNumbers x, const float* gamma, const float* beta, Numbers y,
                                  float* mean, float* rstd, std::int64_t rows,
                                  std::int64_t cols) = 0;
  // dx = gradient (overwritten); dgamma, dbeta are added to.
  virtual void layer_norm_backward(ConstNumbers dy, ConstNumbers x, const float* gamma,
                                   const float* mean, const float* rstd, Numbers dx, float* dgamma,
                                   float* dbeta, std::int64_t rows, std::int64_t cols) = 0;

  // y = x * rstd * gamma, rstd = 1 / sqrt(mean of x^2 + epsilon), a row at a time; rstd (rows) is
  // kept for backward.
  virtual void rms_norm_forward(ConstNumbers x, const float* gamma, Numbers y, float* rstd,
                                std::int64_t rows, std::int64_t cols) = 0;
  // dx = gradient (overwritten); dgamma is added to.
  virtual void rms_norm_backward(ConstNumbers dy, ConstNumbers x, const float* gamma,
                                 const float* rstd, Numbers dx, float* dgamma, std::int64_t rows,
                                 std::int64_t cols) = 0;

  // y = gelu(x + bias), bias (cols) may be null; tanh approximation as Megatron's fused kernel.
  // ReLU likewise.
  virtual void bias_gelu_forward(ConstNumbers x, const float* bias, Numbers y, std::int64_t rows,
                                 std::int64_t cols) = 0;
  // dx = dy * gelu'(x + bias); dbias (cols, may be null) is added to.
  virtual void bias_gelu_backward(ConstNumbers dy, ConstNumbers x, const float* bias, Numbers dx,
                                  float* dbias, std::int64_t rows, std::int64_t cols) = 0;
  virtual void bias_relu_forward(ConstNumbers x, const float* bias, Numbers y, std::int64_t rows,
                                 std::int64_t cols) = 0;
  virtual void bias_relu_backward(ConstNumbers dy, ConstNumbers x, const float* bias, Numbers dx,
                                  float* dbias, std::int64_t rows, std::int64_t cols) = 0;

  // Gated: a row of x is `cols` gates and then `cols` values, each with its bias (2 * cols, may be
  // null); y = act(gate) * value. The act of swiglu is silu, of geglu gelu (tanh).
  virtual void bias_swiglu_forward(ConstNumbers x, const float* bias, Numbers y, std::int64_t rows,
                                   std::int64_t cols) = 0;
  // dx (rows x 2 * cols) is overwritten; dbias (2 * cols, may be null) is added to.
  virtual void bias_swiglu_backward(ConstNumbers dy, ConstNumbers x, const float* bias, Numbers dx,
                                    float* dbias, std::int64_t rows, std::int64_t cols) = 0;
  virtual void bias_geglu_forward(ConstNumbers x, const float* bias, Numbers y, std::int64_t rows,
                                  std::int64_t cols) = 0;
  virtual void bias_geglu_backward(ConstNumbers dy, ConstNumbers x, const float* bias, Numbers dx,
                                   float* dbias, std::int64_t rows, std::int64_t cols) = 0;
  // y = x + bias, a row's first `cols` numbers (gates) at most `limit`, its last `cols` (values)
  // between -limit and limit (gpt-oss; Megatron-LM --activation-func-clamp-value). y may be x.
  virtual void clamp_gated_forward(const float* x, const float* bias, float* y, float limit,
                                   std::int64_t rows, std::int64_t cols) = 0;
  // dx = dy where x + bias was not clamped, else 0 (dx may be dy); dbias (2 * cols, may be null) is
  // added to.
  virtual void clamp_gated_backward(const float* dy, const float* x, const float* bias, float* dx,
                                    float* dbias, float limit, std::int64_t rows,
                                    std::int64_t cols) = 0;

  // y += bias, a row at a time.
  virtual void add_bias(float* y, const float* bias, std::int64_t rows, std::int64_t cols) = 0;
  // dbias += column sums of dy.
  virtual void bias_backward(const float* dy, float* dbias, std::int64_t rows,
                             std::int64_t cols) = 0;
  // A row of y is the row of x times scale[row] (y may be x).
  virtual void scale_rows(const float* x, const float* scale, float* y, std::int64_t rows,
                          std::int64_t cols) = 0;
  // dots[row] += the row of a times the row of b.
  virtual void row_dots(const float* a, const float* b, float* dots, std::int64_t rows,
                        std::int64_t cols) = 0;
  // y = a + b (y may be a or b).
  virtual void add(const float* a, const float* b, float* y, std::int64_t count) = 0;

  // `matrices` score matrices (queries x keys): y = softmax(scale * x), where a query at position p
  // sees keys 0..p (causal), of these the last `window` where that is not 0; the other entries are
  // 0. Query i stands at first + i, those of the second half `jump` further. With `sinks`, a row's
  // softmax is that of its scores and its head's sink, whose share is left out. In place allowed.
  virtual void causal_softmax_forward(ConstNumbers x, Numbers y, float scale, std::int64_t matrices,
                                      std::int64_t queries, std::int64_t keys, std::int64_t first,
                                      std::int64_t window = 0, std::int64_t jump = 0,
                                      const AttentionSinks& sinks = {}) = 0;
  // dx = scale * y * (dy - sum(dy * y)), of matrices of queries (0: as many as keys) x keys. In
  // place on dy allowed.
  virtual void softmax_backward(ConstNumbers dy, ConstNumbers y, Numbers dx, float scale,
                                std::int64_t matrices, std::int64_t keys,
                                std::int64_t queries = 0) = 0;
  // dlogits[head] += the gradient of each head's sink: the sum over its rows of
  // -(1 - sum(y)) * sum(dy * y). Before softmax_backward, where that is in place.
  virtual void sinks_backward(ConstNumbers dy, ConstNumbers y, const AttentionSinks& sinks,
                              float* dlogits, std::int64_t matrices, std::int64_t keys,
                              std::int64_t queries) = 0;

  // Rotary positions (Su 2021, arXiv 2104.09864; halves as Megatron and Llama pair them): of each
  // of `blocks` blocks of `heads` heads of x (positions x width), the first `rotated` heads. With
  // h = width / 2, the pair (x[j], x[j + h]) of position s turns by the angle whose cosine and sine
  // are table[s * width + j] and table[s * width + h + j]; back by it where `inverse`. In place.
  virtual void rotary(Numbers x, const float* table, std::int64_t blocks, std::int64_t heads,
                      std::int64_t rotated, std::int64_t positions, std::int64_t width,
                      bool inverse) = 0;

  // `rows` rows of `cols` numbers between matrices whose rows are longer.
  virtual void copy_rows(float* to, std::int64_t to_stride, const float* from,
                         std::int64_t from_stride, std::int64_t rows, std::int64_t cols) = 0;

  // (positions, batch, 3 or 1 blocks x heads x width) <-> (block, batch, heads, positions, width):
  // to_heads splits a fused qkv (blocks = 3) into q, k, v; from_heads is its inverse (blocks = 1
  // for the attention output).
  virtual void to_heads(const float* x, float* y, std::int64_t positions, std::int64_t batch,
                        std::int64_t blocks, std::int64_t heads, std::int64_t width) = 0;
  virtual void from_heads(const float* x, float* y, std::int64_t positions, std::int64_t batch,
                          std::int64_t blocks, std::int64_t heads, std::int64_t width) = 0;

  // y[i] = table[tokens[i] - first] where first <= tokens[i] < first + rows, else 0
  // (vocabulary-parallel).
  virtual void embedding_forward(const std::int32_t* tokens, const float* table, float* y,
                                 std::int64_t count, std::int64_t first, std::int64_t rows,
                                 std::int64_t cols) = 0;
  virtual void embedding_backward(const std::int32_t* tokens, const float* dy, float* dtable,
                                  std::int64_t count, std::int64_t first, std::int64_t rows,
                                  std::int64_t cols) = 0;

  // Vocabulary-parallel cross-entropy in three passes over this rank's logits (rows x cols, columns
  // are the vocabulary entries first..first+cols-1); between them the caller all-reduces (max, then
  // sum).
  virtual void row_max(const float* logits, float* maximum, std::int64_t rows,
                       std::int64_t cols) = 0;
  // logits becomes exp(logits - maximum); sum_exp (rows) its row sums; target (rows) logit -
  // maximum of the target where this rank holds it, else 0.
  virtual void exp_and_target(float* logits, const float* maximum, const std::int32_t* targets,
                              float* sum_exp, float* target, std::int64_t rows, std::int64_t cols,
                              std::int64_t first) = 0;
  // logits (now exp) becomes scale * (softmax - one_hot(target)).
  virtual void cross_entropy_backward(float* logits, const float* sum_exp,
                                      const std::int32_t* targets, float scale, std::int64_t rows,
                                      std::int64_t cols, std::int64_t first) = 0;

  // *loss += share * the sum over the rows of log(sum_exp) - target.
  virtual void add_cross_entropy(const float* sum_exp, const float* target, float* loss,
                                 float share, std::int64_t rows) = 0;

  // Routing of tokens (Megatron-LM moe_utils.py, topk_routing_with_score_function, with the softmax
  // after the choice). logits: tokens x experts; the other arrays: tokens x topk.
  //
  // Of each token the experts with the largest logits, the largest first, of equals the first.
  // Groups are open whose max(1, topk / group_topk) best experts have the largest sums.
  virtual void top_k(const float* logits, std::int32_t* chosen, const RouterShape& shape) = 0;
  // Softmax over the logits that a token chose.
  virtual void chosen_softmax(const float* logits, const std::int32_t* chosen, float* probabilities,
                              const RouterShape& shape) = 0;
  // dlogits (overwritten) = p (dp - sum of p dp) at the chosen experts, 0 elsewhere.
  virtual void chosen_softmax_backward(const std::int32_t* chosen, const float* probabilities,
                                       const float* dprobabilities, float* dlogits,
                                       const RouterShape& shape) = 0;
  // The copies of tokens by expert, those of one in the tokens' order. order: of each its place in
  // `chosen`; tokens: its token; counts (experts): how many each expert gets.
  virtual void order_by_expert(const std::int32_t* chosen, std::int32_t* order,
                               std::int32_t* tokens, std::int32_t* counts,
                               const RouterShape& shape) = 0;

  virtual void adam(float* weight, const float* gradient, float* exp_avg, float* exp_avg_sq,
                    std::int64_t count, const AdamStep& step) = 0;

 private:
  std::vector<double> marks_;  // seconds of the host's clock
};

}  // namespace meshwright::calibrate
