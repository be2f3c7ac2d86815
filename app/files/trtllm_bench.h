// SPDX-License-Identifier: Apache-2.0
// Limits that trtllm-bench chooses where its command states none.
#pragma once

namespace meshwright::app {

struct BenchLimits {
  int max_batch_size = 0, max_num_tokens = 0;
  bool operator==(const BenchLimits&) const = default;
};
// `requests`: of input + output tokens, that the cache of all ranks holds. `stages`: of the
// pipeline (TensorRT-LLM, tensorrt_llm/bench/build/tuning.py, finetune_setting).
//   B = min(requests, 4096) / stages            up to the next 32, 128 (from 256) or 256 (from
//   1,024) T = min(B * (1 + input / output), 32,768)   up to the next 256, 512 (from 4,096) or
//   1,024
// A prompt that is not cut needs a step: T is input + B at least
// (bench/benchmark/utils/general.py).
BenchLimits trtllm_bench_limits(double requests, double input, double output, int stages);

}  // namespace meshwright::app
