// SPDX-License-Identifier: Apache-2.0
// Casts to fp8 (e4m3) as Transformer Engine's recipes run them: what LibraryKernels says of each.
// Asynchronous, on stream.h. 16-byte loads where the pointers allow.
#pragma once

#include <cstdint>

namespace meshwright::calibrate::cuda {

void find_largest_bf16(const void* from, float* largest, std::int64_t count);
void cast_bf16_to_fp8(const void* from, const float* scale, void* to, float* largest,
                      std::int64_t count);
// Edges are multiples of LibraryKernels::kFp8Tile.
void cast_transpose_bf16_to_fp8(const void* from, const float* scale, void* to, void* transposed,
                                float* largest, std::int64_t rows, std::int64_t cols);

}  // namespace meshwright::calibrate::cuda
