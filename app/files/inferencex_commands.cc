// SPDX-License-Identifier: Apache-2.0
#include "app/files/inferencex_commands.h"

#include <algorithm>

namespace meshwright::app {
namespace {

// Defaults of TensorRT-LLM's attention_dp_config where it only says enable_balance.
constexpr int kBalanceIterations = 50, kBalanceBatching = 10;

void set_vllm(ReplicaOptions& options, const InferencexRow& row) {
  const bool blackwell = row.gpu.starts_with("b") || row.gpu.starts_with("gb");
  // minimaxm2.5_fp*_b*.sh: --max-num-batched-tokens $((ISL * 2)).
  if (row.model.starts_with("minimax-m2.5") && blackwell) {
    options.max_num_batched_tokens = 2 * row.input;
  }
  // gptoss_fp4_h*.sh, 70b_fp8_h*.sh, kimik2.5_*.sh: --max-num-seqs $CONC.
  const bool limited =
      row.model.starts_with("kimi") ||
      (!blackwell && (row.model.starts_with("gpt-oss") || row.model.starts_with("llama-3-70b")));
  if (limited) options.max_num_seqs = row.users;
  // 70b_fp8_*.sh, minimaxm2.5_fp8_h200.sh: --kv-cache-dtype fp8.
  const bool narrow_cache = row.model.starts_with("llama-3-70b") ||
                            (row.model.starts_with("minimax-m2.5") && row.gpu != "h100");
  if (narrow_cache) options.kv_cache = KvCacheFormat::fp8;
  if (row.model.starts_with("minimax-m2.5") && row.weights == WeightFormat::fp8_block) {
    // minimaxm2.5_fp8_*.sh pass --tensor-parallel-size and --enable-expert-parallel alone: what the
    // table calls data ranks were tensor ranks.
    ReplicaLayout& layout = options.layout;
    layout.tensor_parallel_size *= layout.data_parallel_size;
    layout.data_parallel_size = 1;
    // minimaxm2.5_fp8_h100.sh@34bc7c40: --max-num-seqs 256.
    if (row.gpu == "h100") options.max_num_seqs = 256;
  }
}

void set_sglang(ReplicaOptions& options, const InferencexRow& row) {
  if (!row.model.starts_with("deepseek-v3")) return;
  const bool narrow = row.weights == WeightFormat::nvfp4;
  const bool blackwell = row.gpu.starts_with("b");
  if (blackwell) {
    // dsr1_fp8_b200.sh, dsr1_fp4_b200.sh@1fc5d73c: SCHEDULER_RECV_INTERVAL.
    const bool few = row.users < 16 || (!narrow && options.layout.tensor_parallel_size == 4);
    options.prompt_wait.receive_interval = few ? 10 : 30;
    // --max-running-requests, --chunked-prefill-size, --mem-fraction-static.
    const bool eight = options.layout.tensor_parallel_size == 8;
    options.max_num_seqs = narrow ? 256 : (eight ? 128 : 32);
    options.max_num_batched_tokens = narrow ? 16384 : (eight ? 32768 : 8192);
    options.memory_fraction = narrow ? 0.85 : (eight ? 0.82 : 0.95);
  } else if (row.gpu == "h200") {
    // dsr1_fp8_h200.sh.
    const bool short_requests = row.input == 1024 && row.output == 1024;
    options.max_num_seqs = short_requests ? 512 : 256;
    options.max_num_batched_tokens = 32768;
    options.memory_fraction = 0.82;
  }
}

void set_tensorrt(ReplicaOptions& options, const InferencexRow& row) {
  const ReplicaLayout& layout = options.layout;
  const bool short_answers = row.input == 1024 && row.output == 1024;
  const bool data_ranks = layout.data_parallel_size > 1;
  if (row.model.starts_with("llama-3-70b")) {
    // 70b_fp*_trt.sh.
    if (row.gpu == "b200") options.max_num_batched_tokens = 16384;
    if (short_answers && layout.tensor_parallel_size < 8) options.prompt_wait = {20, 0.9, 0, 0};
  } else if (row.model.starts_with("gpt-oss")) {
    // gptoss_fp4_*_trt.sh.
    options.max_num_batched_tokens = 20000;
    options.max_num_seqs = row.gpu == "b200" ? 512 : row.users;
    if (data_ranks && row.gpu == "b200") {
      options.prompt_wait = {0, 0, kBalanceIterations, kBalanceBatching};
    }
    // kv_cache_config: dtype: auto.
    if (row.gpu != "b200") options.kv_cache = KvCacheFormat::bf16;
  } else if (row.model.starts_with("deepseek-v3")) {
    // dsr1_fp*_trt.sh: one prompt a step, in multiples of 64 rows.
    options.max_num_batched_tokens = (row.users + row.input + 64 + 63) / 64 * 64;
    const bool narrow = row.weights == WeightFormat::nvfp4;
    if (short_answers && row.users >= 64 && row.gpu == "b200" && !narrow) {
      options.prompt_wait = {40, 0.8, 0, 0};
    }
    if (data_ranks) {
      options.prompt_wait.balance_iterations = 60;
      options.prompt_wait.balance_batching = 0;
    }
  }
}

}  // namespace

bool set_inferencex_options(ReplicaOptions& options, const InferencexRow& row) {
  ReplicaOptions said = options;
  if (row.engine == "vllm") set_vllm(said, row);
  if (row.engine == "sglang") set_sglang(said, row);
  if (row.engine == "trtllm") set_tensorrt(said, row);
  // What the row states itself stays.
  if (options.max_num_batched_tokens > 0) {
    said.max_num_batched_tokens = options.max_num_batched_tokens;
  }
  if (options.max_num_seqs > 0) said.max_num_seqs = options.max_num_seqs;
  if (options.memory_fraction) said.memory_fraction = options.memory_fraction;
  if (row.states_kv_cache) said.kv_cache = options.kv_cache;
  const bool filled = said != options;
  options = said;
  return filled;
}

}  // namespace meshwright::app
