// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <omp.h>

#include <dnnl.hpp>
#include <map>
#include <tuple>
#include <utility>

#include "calibrate/backends/cpu/gemm.h"
#include "sim/base/error.h"

namespace meshwright::calibrate::cpu {
namespace {

using Dims = dnnl::memory::dims;

// Everything that oneDNN bakes into a primitive: the call without its pointers.
using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool, bool,
                       Precision, float, float, std::int64_t, std::int64_t, std::int64_t>;

Key key_of(const GemmCall& c) {
  return {c.batch,     c.m,     c.n,    c.k,        c.transpose_a, c.transpose_b,
          c.precision, c.alpha, c.beta, c.stride_a, c.stride_b,    c.stride_c};
}

struct Prepared {
  dnnl::matmul primitive;
  dnnl::memory a, b, c;
};

// oneDNN reads and never writes its inputs, but takes all handles as void*.
void* handle(const void* pointer) { return const_cast<void*>(pointer); }

class OneDnnGemm final : public Gemm {
 public:
  OneDnnGemm() : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    omp_set_num_threads(1);  // one core a rank
  }

  [[nodiscard]] bool supports(Precision precision) const override {
    if (precision == Precision::fp32) return true;
    return precision == Precision::bf16 &&
           dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core_bf16;
  }

  void run(const GemmCall& call) override {
    invariant(supports(call.precision), "this precision was not asked for with supports()");
    Prepared& p = prepared(call);
    p.a.set_data_handle(handle(call.a));
    p.b.set_data_handle(handle(call.b));
    p.c.set_data_handle(call.c);
    try {
      p.primitive.execute(stream_,
                          {{DNNL_ARG_SRC, p.a}, {DNNL_ARG_WEIGHTS, p.b}, {DNNL_ARG_DST, p.c}});
      stream_.wait();
    } catch (const dnnl::error& e) {
      throw SystemError(fmt::format("oneDNN matmul failed: {}", e.what()));
    }
  }

 private:
  Prepared& prepared(const GemmCall& call) {
    const Key key = key_of(call);
    const auto found = cache_.find(key);
    if (found != cache_.end()) return found->second;
    try {
      return cache_.emplace(key, prepare(call)).first->second;
    } catch (const dnnl::error& e) {
      throw SystemError(fmt::format("oneDNN has no matmul of {} x ({} x {}) ({} x {}): {}",
                                    call.batch, call.m, call.k, call.k, call.n, e.what()));
    }
  }

  [[nodiscard]] Prepared prepare(const GemmCall& call) const {
    const auto type = call.precision == Precision::bf16 ? dnnl::memory::data_type::bf16
                                                        : dnnl::memory::data_type::f32;
    const dnnl::memory::desc a(
        {call.batch, call.m, call.k}, type,
        strides(call.batch, call.m, call.k, call.stride_a, call.transpose_a));
    const dnnl::memory::desc b(
        {call.batch, call.k, call.n}, type,
        strides(call.batch, call.k, call.n, call.stride_b, call.transpose_b));
    const dnnl::memory::desc c({call.batch, call.m, call.n}, dnnl::memory::data_type::f32,
                               strides(call.batch, call.m, call.n, call.stride_c, false));
    const dnnl::matmul::primitive_desc description({a, b, c}, attributes(call), engine_);
    return {dnnl::matmul(description), dnnl::memory(a, engine_, nullptr),
            dnnl::memory(b, engine_, nullptr), dnnl::memory(c, engine_, nullptr)};
  }

  // Strides of the operand as the product sees it (rows x cols); a transposed one is stored
  // cols x rows.
  static Dims strides(std::int64_t batch, std::int64_t rows, std::int64_t cols, std::int64_t stride,
                      bool transposed) {
    const std::int64_t outer = batch == 1 ? rows * cols : stride;
    return transposed ? Dims{outer, 1, rows} : Dims{outer, cols, 1};
  }

  static dnnl::primitive_attr attributes(const GemmCall& call) {
    dnnl::primitive_attr attributes;
    if (call.alpha != 1.0F) attributes.set_output_scales(0, {call.alpha});
    if (call.beta != 0.0F) {
      dnnl::post_ops sum;
      sum.append_sum(call.beta);
      attributes.set_post_ops(sum);
    }
    return attributes;
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  std::map<Key, Prepared> cache_;
};

}  // namespace

std::unique_ptr<Gemm> make_gemm() { return std::make_unique<OneDnnGemm>(); }

std::string gemm_library() {
  const dnnl_version_t* v = dnnl_version();
  return fmt::format("oneDNN {}.{}.{}", v->major, v->minor, v->patch);
}

}  // namespace meshwright::calibrate::cpu
