// SPDX-License-Identifier: Apache-2.0
#include "interop/serving/gone_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <vector>

#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

struct Gone {
  EngineKind engine;
  std::string_view release, options;
};
constexpr std::array kGone{
    Gone{EngineKind::vllm, "0.9.2", "disable-logprobs-during-spec-decoding"},
    Gone{EngineKind::vllm, "0.10.2",
         "num-scheduler-steps use-v2-block-manager multi-step-stream-outputs tokenizer-pool-size "
         "tokenizer-pool-type enable-reasoning"},
    Gone{EngineKind::vllm, "0.12",
         "num-lookahead-slots num-redundant-experts max-seq-len-to-capture guided-decoding-backend "
         "rope-scaling rope-theta"},
    Gone{EngineKind::vllm, "0.14", "cuda-graph-sizes enable-multimodal-encoder-data-parallel"},
    Gone{EngineKind::vllm, "0.17", "logits-processor-pattern disable-log-requests"},
    Gone{EngineKind::vllm, "0.19", "swap-space disable-frontend-multiprocessing"},
    Gone{EngineKind::vllm, "0.28",
         "max-num-partial-prefills max-long-partial-prefills calculate-kv-scales"},
    // "--pp" is the beginning of several options.
    Gone{EngineKind::sglang, "0.5.5", "pp enable-ep-moe enable-deepep-moe enable-flashinfer-moe"},
    Gone{EngineKind::sglang, "0.5.9", "kt-amx-method kt-amx-weight-path load-watch-interval"},
    Gone{EngineKind::sglang, "0.5.12",
         "disable-hicache-numa-detect disaggregation-decode-dp disaggregation-decode-tp "
         "disaggregation-prefill-pp ds-channel-config-path ds-heavy-channel-num "
         "ds-heavy-channel-type ds-heavy-token-num ds-sparse-decode-threshold "
         "enable-double-sparsity mm-max-concurrent-calls mm-per-request-timeout "
         "multi-item-scoring-delimiter speculative-ngram-branch-length "
         "speculative-ngram-max-match-window-size speculative-ngram-min-match-window-size"},
    Gone{EngineKind::sglang, "0.5.14",
         "debug-tensor-dump-inject enable-nan-detection enable-piecewise-cuda-graph "
         "hybrid-kvcache-ratio record-nolora-graph"},
    Gone{EngineKind::sglang, "0.5.16", "enable-deepep-waterfill optimistic-prefill-retries"},
    Gone{EngineKind::sglang, "0.5.18", "torchao-config"},
    Gone{EngineKind::sglang, "0.5.20",
         "collect-tokens-histogram cuda-graph-bs cuda-graph-max-bs custom-sigquit-handler "
         "disable-piecewise-cuda-graph dsa-prefill-cp-mode enable-breakable-cuda-graph "
         "enable-dsa-prefill-context-parallel enable-expert-distribution-metrics "
         "enable-gdn-replayssm-spec enable-nsa-prefill-context-parallel "
         "enable-prefill-context-parallel enforce-piecewise-cuda-graph mamba-scheduler-strategy "
         "nsa-decode-backend nsa-prefill-backend nsa-prefill-cp-mode piecewise-cuda-graph-compiler "
         "piecewise-cuda-graph-max-tokens piecewise-cuda-graph-tokens prefill-cp-mode "
         "prefill-round-robin-balance speculative-dflash-draft-window-size stat-loggers "
         "stream-output"},
    Gone{EngineKind::sglang, "0.5.21", "elastic-ep-rejoin keep-mm-feature-on-device"},
    Gone{EngineKind::sglang, "0.5.22", "cuda-graph-tc-compiler"},
    Gone{EngineKind::sglang, "0.5.23", "speculative-skip-dp-mlp-sync"},
};

// "0.19.1rc2" as 0, 19, 1.
std::vector<int> numbers_of(std::string_view version) {
  std::vector<int> numbers;
  const char* at = version.data();
  const char* const end = at + version.size();
  int number = 0;
  while (at != end) {
    const auto [stopped, error] = std::from_chars(at, end, number);
    if (error != std::errc()) break;
    numbers.push_back(number);
    if (stopped == end || *stopped != '.') break;
    at = stopped + 1;
  }
  return numbers;
}

}  // namespace

std::string_view release_without(EngineKind engine, std::string_view option) {
  for (const Gone& gone : kGone) {
    const std::vector<std::string> names = split_words(gone.options);
    if (gone.engine == engine && std::find(names.begin(), names.end(), option) != names.end()) {
      return gone.release;
    }
  }
  return "";
}

bool is_at_least(std::string_view version, std::string_view release) {
  const std::vector<int> has = numbers_of(version);
  return !has.empty() && has >= numbers_of(release);
}

}  // namespace meshwright::interop
