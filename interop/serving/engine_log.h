// SPDX-License-Identifier: Apache-2.0
// What an inference engine prints about its cache when it starts.
#pragma once

#include <optional>
#include <string_view>

namespace meshwright::interop {

// Tokens of a block that vLLM takes unless it is told.
inline constexpr int kUsualBlock = 16;

// Tokens of the cache, of the last line that says them:
//   vLLM          GPU KV cache size: 419,520 tokens;  # GPU blocks: 2588 (times `block_size`)
//                 Maximum concurrency for 8,192 tokens per request: 51.21x, where no other line
//                 does (their product, good to the digits that are printed)
//   SGLang        max_total_num_tokens=419520
//   TensorRT-LLM  max tokens in paged KV cache: 419520
std::optional<double> kv_tokens_in_log(std::string_view log, int block_size);

}  // namespace meshwright::interop
