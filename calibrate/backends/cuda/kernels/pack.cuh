// SPDX-License-Identifier: Apache-2.0
// Arrays of fp32 or of 16 bits, of which a thread moves eight numbers at once: 16 bytes of the
// latter, the widest access that a GPU has. The arithmetic is that of fp32.
//
// Which format an array has is asked for each pack. All threads give the same answer, and kernels
// of this kind wait for memory: a kernel for each pair of formats would gain nothing.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "calibrate/backends/cuda/kernels/reduce.cuh"
#include "calibrate/backends/numbers.h"
#include "sim/base/error.h"

namespace meshwright::calibrate::cuda {

inline constexpr int kPack = 8;

struct alignas(16) Pack {
  float v[kPack];
};

enum class Stored { wide, bf16, fp16 };
inline Stored stored(Precision format) {
  invariant(format == Precision::fp32 || format == Precision::bf16 || format == Precision::fp16,
            "numbers are stored in 32 or 16 bits");
  if (format == Precision::fp32) return Stored::wide;
  return format == Precision::bf16 ? Stored::bf16 : Stored::fp16;
}

// Where a pack of 16 bytes and more may be read at once.
inline bool is_aligned(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data) % sizeof(uint4) == 0;
}

struct Source {
  const void* data;
  Stored format;

  explicit Source(ConstNumbers numbers) : data(numbers.data), format(stored(numbers.format)) {}

  __device__ float operator[](std::int64_t i) const {
    if (format == Stored::wide) return static_cast<const float*>(data)[i];
    if (format == Stored::bf16) return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[i]);
    return __half2float(static_cast<const __half*>(data)[i]);
  }
  // The numbers from i on, a multiple of kPack of an aligned array.
  __device__ Pack aligned_pack(std::int64_t i) const {
    Pack pack;
    if (format == Stored::wide) {
      const auto* from = reinterpret_cast<const float4*>(static_cast<const float*>(data) + i);
      *reinterpret_cast<float4*>(pack.v) = from[0];
      *reinterpret_cast<float4*>(pack.v + 4) = from[1];
      return pack;
    }
    const uint4 raw = *reinterpret_cast<const uint4*>(static_cast<const std::uint16_t*>(data) + i);
    const unsigned words[4] = {raw.x, raw.y, raw.z, raw.w};
    for (int k = 0; k < 4; ++k) {
      const float2 two =
          format == Stored::bf16
              ? __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(words + k))
              : __half22float2(*reinterpret_cast<const __half2*>(words + k));
      pack.v[2 * k] = two.x;
      pack.v[2 * k + 1] = two.y;
    }
    return pack;
  }
};

struct Sink {
  void* data;
  Stored format;

  explicit Sink(Numbers numbers) : data(numbers.data), format(stored(numbers.format)) {}

  __device__ void put(std::int64_t i, float number) const {
    if (format == Stored::wide) {
      static_cast<float*>(data)[i] = number;
    } else if (format == Stored::bf16) {
      static_cast<__nv_bfloat16*>(data)[i] = __float2bfloat16_rn(number);
    } else {
      static_cast<__half*>(data)[i] = __float2half_rn(number);
    }
  }
  __device__ void put_aligned(std::int64_t i, const Pack& pack) const {
    if (format == Stored::wide) {
      auto* to = reinterpret_cast<float4*>(static_cast<float*>(data) + i);
      to[0] = *reinterpret_cast<const float4*>(pack.v);
      to[1] = *reinterpret_cast<const float4*>(pack.v + 4);
      return;
    }
    alignas(16) unsigned words[4];
    for (int k = 0; k < 4; ++k) {
      const float a = pack.v[2 * k], b = pack.v[2 * k + 1];
      if (format == Stored::bf16) {
        *reinterpret_cast<__nv_bfloat162*>(words + k) = __floats2bfloat162_rn(a, b);
      } else {
        *reinterpret_cast<__half2*>(words + k) = __floats2half2_rn(a, b);
      }
    }
    *reinterpret_cast<uint4*>(static_cast<std::uint16_t*>(data) + i) =
        make_uint4(words[0], words[1], words[2], words[3]);
  }
};

// A row's columns in packs. Where rows or arrays do not begin at whole packs, and at the end of a
// row, numbers are moved one by one.
struct Columns {
  std::int64_t count;
  bool aligned;

  // Of arrays in which rows are `count` numbers, or a multiple of it.
  template <typename... Data>
  static Columns of(std::int64_t count, const Data*... data) {
    return {count, count % kPack == 0 && (is_aligned(data) && ...)};
  }
  __device__ int in_pack(std::int64_t j) const {
    return static_cast<int>(count - j < kPack ? count - j : kPack);
  }
  // Numbers behind the row's end are zero. `row`: its first number in the array.
  __device__ Pack load(const Source& from, std::int64_t row, std::int64_t j) const {
    if (aligned) return from.aligned_pack(row + j);
    Pack pack{};
    for (int k = 0; k < in_pack(j); ++k) pack.v[k] = from[row + j + k];
    return pack;
  }
  __device__ Pack load(const float* parameters, std::int64_t j) const {
    Pack pack{};
    for (int k = 0; k < in_pack(j); ++k) pack.v[k] = parameters[j + k];
    return pack;
  }
  __device__ void store(const Sink& to, std::int64_t row, std::int64_t j, const Pack& pack) const {
    if (aligned) return to.put_aligned(row + j, pack);
    for (int k = 0; k < in_pack(j); ++k) to.put(row + j + k, pack.v[k]);
  }
  // Calls f(j) for the first columns of this thread's packs, of a block a row.
  template <typename F>
  __device__ void for_packs(const F& f) const {
    for (std::int64_t j = static_cast<std::int64_t>(threadIdx.x) * kPack; j < count;
         j += kThreads * kPack) {
      f(j);
    }
  }
};

// A block for kThreads packs of a row, each thread with one of them: first_of_pack().
inline dim3 row_packs(std::int64_t rows, std::int64_t cols) {
  return dim3(static_cast<unsigned>(rows),
              static_cast<unsigned>(blocks_for(cols, std::int64_t{kThreads} * kPack)));
}
__device__ inline std::int64_t first_of_pack() {
  return (static_cast<std::int64_t>(blockIdx.y) * kThreads + threadIdx.x) * kPack;
}

}  // namespace meshwright::calibrate::cuda
