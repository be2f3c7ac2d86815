// SPDX-License-Identifier: Apache-2.0
#include <cuda_fp8.h>

#include "calibrate/backends/cuda/kernels/narrow_kernels.h"
#include "calibrate/backends/cuda/kernels/reduce.cuh"
#include "calibrate/backends/library_kernels.h"
#include "sim/base/error.h"

namespace meshwright::calibrate::cuda {
namespace {

constexpr int kPack = 8;  // numbers of bf16 in 16 bytes
constexpr int kTile = static_cast<int>(LibraryKernels::kFp8Tile);
constexpr int kPacksOfRow = kTile / kPack;
constexpr std::uintptr_t kAligned = 16;

struct Numbers {
  float x[kPack];
};

// bf16 is the upper half of fp32.
__device__ inline Numbers unpacked(const uint4& bits) {
  const unsigned words[4] = {bits.x, bits.y, bits.z, bits.w};
  Numbers numbers;
  for (int i = 0; i < kPack / 2; ++i) {
    numbers.x[2 * i] = __uint_as_float(words[i] << 16U);
    numbers.x[2 * i + 1] = __uint_as_float(words[i] & 0xFFFF0000U);
  }
  return numbers;
}
__device__ inline float one_number(const void* from, std::int64_t i) {
  return __uint_as_float(static_cast<unsigned>(static_cast<const std::uint16_t*>(from)[i]) << 16U);
}

__device__ inline float largest_of(const Numbers& numbers) {
  float largest = 0.0F;
  for (int i = 0; i < kPack; ++i) largest = fmaxf(largest, fabsf(numbers.x[i]));
  return largest;
}

// Magnitudes are ordered as their bits are.
__device__ void keep_largest(float mine, float* largest) {
  const float of_block = block_reduce(mine, Max{});
  if (threadIdx.x == 0) {
    atomicMax(reinterpret_cast<unsigned*>(largest), __float_as_uint(of_block));
  }
}

__device__ inline uint2 cast(const Numbers& numbers, float scale) {
  unsigned words[2] = {0, 0};
  for (int i = 0; i < kPack / 2; ++i) {
    const float2 pair = make_float2(scale * numbers.x[2 * i], scale * numbers.x[2 * i + 1]);
    const unsigned both = __nv_cvt_float2_to_fp8x2(pair, __NV_SATFINITE, __NV_E4M3);
    words[i / 2] |= both << (16U * static_cast<unsigned>(i % 2));
  }
  return make_uint2(words[0], words[1]);
}

__global__ void largest_kernel(const void* from, float* largest, std::int64_t count) {
  const auto* packs = static_cast<const uint4*>(from);
  float mine = 0.0F;
  for (std::int64_t i = first_index(); i < count / kPack; i += index_step()) {
    mine = fmaxf(mine, largest_of(unpacked(packs[i])));
  }
  for (std::int64_t i = count / kPack * kPack + first_index(); i < count; i += index_step()) {
    mine = fmaxf(mine, fabsf(one_number(from, i)));
  }
  keep_largest(mine, largest);
}

__global__ void cast_kernel(const void* from, const float* scale, void* to, float* largest,
                            std::int64_t count) {
  const auto* packs = static_cast<const uint4*>(from);
  float mine = 0.0F;
  for (std::int64_t i = first_index(); i < count / kPack; i += index_step()) {
    const Numbers numbers = unpacked(packs[i]);
    mine = fmaxf(mine, largest_of(numbers));
    static_cast<uint2*>(to)[i] = cast(numbers, *scale);
  }
  for (std::int64_t i = count / kPack * kPack + first_index(); i < count; i += index_step()) {
    const float x = one_number(from, i);
    mine = fmaxf(mine, fabsf(x));
    static_cast<__nv_fp8_storage_t*>(to)[i] =
        __nv_cvt_float_to_fp8(*scale * x, __NV_SATFINITE, __NV_E4M3);
  }
  keep_largest(mine, largest);
}

// A block a tile: rows are read in packs of 16 bytes, cast and written; columns are gathered from
// shared memory, a thread 16 numbers of one column.
__global__ void cast_transpose_kernel(const void* from, const float* scale, void* to,
                                      void* transposed, float* largest, std::int64_t rows,
                                      std::int64_t cols) {
  constexpr int kColumnPack = 16;
  constexpr int kPadding = 4;  // columns fall into different banks
  __shared__ std::uint8_t tile[kTile][kTile + kPadding];
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * kTile;
  const std::int64_t col = static_cast<std::int64_t>(blockIdx.x) * kTile;
  const auto* source = static_cast<const std::uint16_t*>(from);
  auto* by_rows = static_cast<std::uint8_t*>(to);
  float mine = 0.0F;
  for (int i = static_cast<int>(threadIdx.x); i < kTile * kPacksOfRow; i += kThreads) {
    const int r = i / kPacksOfRow, c = i % kPacksOfRow * kPack;
    const std::int64_t at = (row + r) * cols + col + c;
    const Numbers numbers = unpacked(*reinterpret_cast<const uint4*>(source + at));
    mine = fmaxf(mine, largest_of(numbers));
    const uint2 narrow = cast(numbers, *scale);
    *reinterpret_cast<uint2*>(by_rows + at) = narrow;
    *reinterpret_cast<unsigned*>(&tile[r][c]) = narrow.x;
    *reinterpret_cast<unsigned*>(&tile[r][c + 4]) = narrow.y;
  }
  __syncthreads();
  auto* by_columns = static_cast<std::uint8_t*>(transposed);
  constexpr int kPacksOfColumn = kTile / kColumnPack;
  for (int i = static_cast<int>(threadIdx.x); i < kTile * kPacksOfColumn; i += kThreads) {
    const int c = i / kPacksOfColumn, r = i % kPacksOfColumn * kColumnPack;
    unsigned words[4] = {0, 0, 0, 0};
    for (int j = 0; j < kColumnPack; ++j) {
      words[j / 4] |= static_cast<unsigned>(tile[r + j][c]) << (8U * static_cast<unsigned>(j % 4));
    }
    *reinterpret_cast<uint4*>(by_columns + (col + c) * rows + row + r) =
        make_uint4(words[0], words[1], words[2], words[3]);
  }
  keep_largest(mine, largest);
}

void expect_aligned(const void* pointer) {
  invariant(reinterpret_cast<std::uintptr_t>(pointer) % kAligned == 0,
            "casts to fp8 load and store 16 bytes at once");
}

}  // namespace

void find_largest_bf16(const void* from, float* largest, std::int64_t count) {
  if (count == 0) return;
  expect_aligned(from);
  largest_kernel<<<flat(blocks_for(count, kPack)), kThreads, 0, kStream>>>(from, largest, count);
  check_launch();
}

void cast_bf16_to_fp8(const void* from, const float* scale, void* to, float* largest,
                      std::int64_t count) {
  if (count == 0) return;
  expect_aligned(from);
  expect_aligned(to);
  cast_kernel<<<flat(blocks_for(count, kPack)), kThreads, 0, kStream>>>(from, scale, to, largest,
                                                                        count);
  check_launch();
}

void cast_transpose_bf16_to_fp8(const void* from, const float* scale, void* to, void* transposed,
                                float* largest, std::int64_t rows, std::int64_t cols) {
  if (rows * cols == 0) return;
  invariant(rows % kTile == 0 && cols % kTile == 0, "casts to fp8 transpose whole tiles");
  for (const void* pointer :
       {from, static_cast<const void*>(to), static_cast<const void*>(transposed)}) {
    expect_aligned(pointer);
  }
  const dim3 grid(static_cast<unsigned>(cols / kTile), static_cast<unsigned>(rows / kTile));
  cast_transpose_kernel<<<grid, kThreads, 0, kStream>>>(from, scale, to, transposed, largest, rows,
                                                        cols);
  check_launch();
}

}  // namespace meshwright::calibrate::cuda
