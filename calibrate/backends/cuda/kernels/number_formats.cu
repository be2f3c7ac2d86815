// SPDX-License-Identifier: Apache-2.0
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "calibrate/backends/cuda/kernels/kernels.h"
#include "calibrate/backends/cuda/kernels/launch.cuh"
#include "calibrate/backends/cuda/kernels/pack.cuh"
#include "sim/base/error.h"

namespace meshwright::calibrate::cuda {
namespace {

struct ToBf16 {
  using Result = __nv_bfloat16;
  __device__ Result operator()(float x) const { return __float2bfloat16_rn(x); }
};
struct ToFp16 {
  using Result = __half;
  __device__ Result operator()(float x) const { return __float2half_rn(x); }
};
struct FromBf16 {
  using Number = __nv_bfloat16;
  __device__ float operator()(Number x) const { return __bfloat162float(x); }
};
struct FromFp16 {
  using Number = __half;
  __device__ float operator()(Number x) const { return __half2float(x); }
};
struct ToFp8 {
  using Result = __nv_fp8_storage_t;
  __device__ Result operator()(float x) const {
    return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
  }
};

template <typename To>
__global__ void convert_kernel(typename To::Result* to, const float* from, std::int64_t count) {
  for (std::int64_t i = first_index(); i < count; i += index_step()) to[i] = To{}(from[i]);
}

template <typename To>
void convert_to(void* to, const float* from, std::int64_t count) {
  if (count == 0) return;
  convert_kernel<To>
      <<<flat(count), kThreads, 0, kStream>>>(static_cast<typename To::Result*>(to), from, count);
  check_launch();
}

// Between fp32 and 16 bits, eight numbers at once where both arrays are aligned.
__global__ void copy_kernel(Source from, Sink to, std::int64_t count, bool aligned) {
  const std::int64_t packs = aligned ? count / kPack : 0;
  for (std::int64_t i = first_index(); i < packs; i += index_step()) {
    to.put_aligned(i * kPack, from.aligned_pack(i * kPack));
  }
  for (std::int64_t i = packs * kPack + first_index(); i < count; i += index_step()) {
    to.put(i, from[i]);
  }
}

void copy_numbers(Numbers to, ConstNumbers from, std::int64_t count) {
  if (count == 0) return;
  const bool aligned = is_aligned(to.data) && is_aligned(from.data);
  const std::int64_t threads = aligned ? blocks_for(count, kPack) : count;
  copy_kernel<<<flat(threads), kThreads, 0, kStream>>>(Source(from), Sink(to), count, aligned);
  check_launch();
}

template <typename To, typename From>
__global__ void round_kernel(float* data, std::int64_t count) {
  for (std::int64_t i = first_index(); i < count; i += index_step()) {
    data[i] = From{}(To{}(data[i]));
  }
}

template <typename To, typename From>
void round_in_place(float* data, std::int64_t count) {
  if (count == 0) return;
  round_kernel<To, From><<<flat(count), kThreads, 0, kStream>>>(data, count);
  check_launch();
}

constexpr int kTile = 32;
constexpr int kTileRows = kThreads / kTile;

// Through shared memory, so that both sides are read and written row by row.
__global__ void transpose_kernel(const std::uint8_t* from, std::uint8_t* to, std::int64_t rows,
                                 std::int64_t cols, std::int64_t stride) {
  __shared__ std::uint8_t tile[kTile][kTile + 4];  // + 4: columns fall into different banks
  from += blockIdx.z * stride;
  to += blockIdx.z * rows * cols;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * kTile;
  const std::int64_t col = static_cast<std::int64_t>(blockIdx.x) * kTile;
  for (int r = static_cast<int>(threadIdx.y); r < kTile; r += kTileRows) {
    const bool inside = row + r < rows && col + threadIdx.x < cols;
    if (inside) tile[r][threadIdx.x] = from[(row + r) * cols + col + threadIdx.x];
  }
  __syncthreads();
  for (int c = static_cast<int>(threadIdx.y); c < kTile; c += kTileRows) {
    const bool inside = col + c < cols && row + threadIdx.x < rows;
    if (inside) to[(col + c) * rows + row + threadIdx.x] = tile[threadIdx.x][c];
  }
}

}  // namespace

void CudaKernels::convert(void* to, Precision precision, const float* from, std::int64_t count) {
  switch (precision) {
    case Precision::fp32:
    case Precision::tf32:
      return copy(to, from, static_cast<std::size_t>(count) * sizeof(float));
    case Precision::bf16:
    case Precision::fp16:
      return copy_numbers({to, precision}, from, count);
    case Precision::fp8:
      return convert_to<ToFp8>(to, from, count);
    case Precision::fp4:
      return;  // not measured
  }
}

void CudaKernels::widen(float* to, const void* from, Precision precision, std::int64_t count) {
  switch (precision) {
    case Precision::fp32:
    case Precision::tf32:
      return copy(to, from, static_cast<std::size_t>(count) * sizeof(float));
    case Precision::bf16:
    case Precision::fp16:
      return copy_numbers(to, {from, precision}, count);
    case Precision::fp8:
    case Precision::fp4:
      invariant(false, "numbers below 16 bits are operands only");
  }
}

void CudaKernels::round(float* data, Precision precision, std::int64_t count) {
  invariant(precision == Precision::bf16 || precision == Precision::fp16,
            "numbers are stored in 32 or 16 bits");
  if (precision == Precision::bf16) return round_in_place<ToBf16, FromBf16>(data, count);
  round_in_place<ToFp16, FromFp16>(data, count);
}

void transpose_bytes(const void* from, void* to, std::int64_t rows, std::int64_t cols,
                     std::int64_t batch, std::int64_t stride) {
  const dim3 grid(static_cast<unsigned>(blocks_for(cols, kTile)),
                  static_cast<unsigned>(blocks_for(rows, kTile)), static_cast<unsigned>(batch));
  transpose_kernel<<<grid, dim3(kTile, kTileRows), 0, kStream>>>(
      static_cast<const std::uint8_t*>(from), static_cast<std::uint8_t*>(to), rows, cols, stride);
  check_launch();
}

}  // namespace meshwright::calibrate::cuda
