// SPDX-License-Identifier: Apache-2.0
// The options of the inference engines: what each says of a replica, or why it changes nothing.
// Sources: vLLM engine/arg_utils.py, SGLang srt/server_args.py, TensorRT-LLM llmapi/llm_args.py.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "interop/read_launch/option_effect.h"
#include "sim/base/serving_formats.h"
#include "sim/hardware/inference_rates.h"

namespace meshwright::interop {

// What an option says.
enum class OptionUse : std::uint8_t {
  nothing,  // changes no predicted number
  refused,  // changes the answer, and no record here can say it
  refused_if_on,
  refused_if_off,          // the engine's file holds it as on
  refused_but_in_prefill,  // a prefill pool must have it
  model,
  tensor,
  pipeline,
  data,
  expert_ranks,
  expert_switch,
  data_attention,  // SGLang: data ranks lie inside the tensor size; TensorRT-LLM: all of it
  context,         // decode context parallel
  memory_fraction,
  max_num_seqs,
  max_num_batched_tokens,
  max_model_len,
  block_size,
  max_cache_tokens,
  graph_max_batch,
  graph_sizes,
  eager,
  not_eager,
  performance_mode,
  no_custom_all_reduce,
  kv_cache,
  quantization,
  data_type,
  exchange,
  async_scheduling,
  no_async_scheduling,
  prefix_caching,
  no_prefix_caching,
  speculation,         // JSON
  speculation_method,  // EAGLE, NEXTN, NGRAM
  draft_tokens,        // SGLang: with the token that is verified
  draft_layers,        // TensorRT-LLM: drafts
  transfer,            // JSON with kv_role
  role,                // prefill or decode
  prefill_worker,      // Dynamo: a switch in place of the role
  decode_worker,
  configuration,    // a file with more options
  node_rank,        // of the process: above 0, it belongs to another one's replica
  follower,         // a switch that says the same
  other_nodes,      // the replica spans nodes
  compilation,      // JSON, or vLLM's level of optimization
  model_overrides,  // JSON put over the model's own configuration
  positions         // stretches the model's positions
};

struct ServingOption {
  std::string_view names;  // "tensor-parallel-size tp"; a last dot stands for all below
  OptionUse use = OptionUse::nothing;
  std::string_view why{};                    // it changes nothing, or is refused
  int words = 1;                             // that follow it
  OptionEffect effect = OptionEffect::time;  // of one that is refused
};

std::span<const ServingOption> serving_options(EngineKind engine);
// nullptr: the engine has no such option, and none alone that begins so where its parser completes
// names. `name` without dashes in front, "-" between words.
const ServingOption* serving_option(EngineKind engine, std::string_view name);
// Why a name is none, with the nearest that is one.
std::string why_unknown_option(EngineKind engine, std::string_view name);
// Tells whether a word of --quantization names a tool whose checkpoints say their format
// themselves: compressed-tensors, ModelOpt.
bool is_quantization_method(std::string_view word);
// The format that another word of --quantization or of quant_algo states.
std::optional<WeightFormat> quantized_format(std::string_view word);
// The word that states a format to this engine; empty: it has none.
std::string_view quantization_word(EngineKind engine, WeightFormat format);
// "--Max_Num-seqs" as the tables spell it: "max-num-seqs".
std::string spelled(std::string_view key);

}  // namespace meshwright::interop
