// SPDX-License-Identifier: Apache-2.0
// Replicas and what is predicted of them as JSON.
#include <algorithm>

#include "sim/json/result_records.h"
#include "sim/json/serving_records.h"

namespace meshwright {
namespace {

constexpr IntRange kServingCount{0, 1'000'000'000};

// Bits by their names.
Kind<unsigned> quantized_parts() {
  return {.read =
              [](ObjectReader& reader, const std::string& key, unsigned& bits) {
                bits = 0;
                for (const std::string& word : reader.optional_strings(key)) {
                  bool known = false;
                  for (const auto& [bit, name] : kQuantizedPartNames) {
                    if (name != word) continue;
                    bits |= bit;
                    known = true;
                  }
                  if (!known) reader.fail_choice(key, word, words_of_names(kQuantizedPartNames));
                }
              },
          .write =
              [](Json& json, const std::string& key, const unsigned& bits) {
                Json& list = json[key] = Json::array();
                for (const auto& [bit, name] : kQuantizedPartNames) {
                  if ((bits & bit) != 0) list.push_back(name);
                }
              },
          .schema =
              [] {
                return Json{{"type", "array"},
                            {"items", choice_schema(words_of_names(kQuantizedPartNames))}};
              }};
}

const Record<WeightScheme>& weight_scheme_record() {
  static const Record<WeightScheme> record = [] {
    using W = WeightScheme;
    Record<W> r("How weights are stored.");
    r.row(&W::format, "format", kind::choice(kWeightFormatNames), "Format.");
    r.row(&W::group_size, "group_size", kind::integer(), "int4: weights that share a scale.");
    r.row(&W::zero_points, "zero_points", kind::flag(), "int4: groups have zero points.");
    r.row(&W::quantized, "quantized", quantized_parts(), "Linears in this format.");
    return r;
  }();
  return record;
}

const Record<PromptWait>& prompt_wait_record() {
  static const Record<PromptWait> record = [] {
    using W = PromptWait;
    Record<W> r("How prompts are held back while others decode (TensorRT-LLM, SGLang).");
    r.row(&W::iterations, "iterations", kind::integer(), "Steps at most.");
    r.row(&W::token_share, "token_share", kind::number(),
          "Of max_num_batched_tokens: rows that end the wait.");
    r.row(&W::balance_iterations, "balance_iterations", kind::integer(),
          "Steps at most until every data rank has a prompt.");
    r.row(&W::balance_batching, "balance_batching", kind::integer(), "Steps from then on.");
    r.row(&W::receive_interval, "receive_interval", kind::integer(),
          "Decode steps between two looks for new requests (SGLang).")
        .omitted_at_default();
    return r;
  }();
  return record;
}

const Record<ReplicaWeights>& replica_weights_record() {
  static const Record<ReplicaWeights> record = [] {
    using W = ReplicaWeights;
    const auto amount = kind::base_amount<Bytes>();
    Record<W> r("Bytes of the weights of the rank that needs most.");
    r.row(&W::attention, "attention_bytes", amount, "Attention's projections.");
    r.row(&W::dense, "dense_bytes", amount, "MLP, shared experts, norms and router.");
    r.row(&W::experts, "experts_bytes", amount, "Routed experts.");
    r.row(&W::embedding, "embedding_bytes", amount, "Embedding.");
    r.row(&W::head, "head_bytes", amount, "Head.");
    r.row(&W::drafts, "drafts_bytes", amount, "Multi-token prediction.");
    return r.all_required();
  }();
  return record;
}

const Record<SequenceCache>& sequence_cache_record() {
  static const Record<SequenceCache> record = [] {
    using S = SequenceCache;
    const auto amount = kind::base_amount<Bytes>();
    Record<S> r("What the cache of a sequence takes on a rank.");
    r.row(&S::full_token, "full_token_bytes", amount, "A token in layers with whole contexts.");
    r.row(&S::window_token, "window_token_bytes", amount, "A token in layers with a window.");
    r.row(&S::window, "window_tokens", kind::number(), "Tokens of a window; 0: none.");
    r.row(&S::block_size, "block_size", kind::integer(), "Tokens of a block.");
    return r.all_required();
  }();
  return record;
}

struct NamedStepTerm {
  std::string_view name;
  Seconds time;
  double relative_spread = 0.0;
  Provenance provenance = Provenance::measured;
};
const Record<NamedStepTerm>& step_term_record() {
  static const Record<NamedStepTerm> record = [] {
    using N = NamedStepTerm;
    Record<N> r("A part of a step.");
    r.derived<std::string>("name", kind::text(), "What it is.",
                           [](const N& n) { return std::string(n.name); });
    r.row(&N::time, "time_seconds", kind::base_amount<Seconds>(), "How long it takes.");
    r.row(&N::relative_spread, "relative_spread", kind::number(), "One standard deviation.");
    r.row(&N::provenance, "provenance", kind::choice(kProvenanceNames),
          "Where its rate comes from.");
    return r.all_required();
  }();
  return record;
}

std::vector<NamedStepTerm> step_terms_of(const StepEstimate& step) {
  std::vector<NamedStepTerm> terms;
  for (const auto& [term, name] : kStepTermNames) {
    const auto i = static_cast<std::size_t>(term);
    if (step.time.terms[i].value() <= 0.0) continue;
    terms.push_back({name, step.time.terms[i], step.term_spread[i], step.term_provenance[i]});
  }
  return terms;
}

const Record<ServingTransfer>& serving_transfer_record() {
  static const Record<ServingTransfer> record = [] {
    using T = ServingTransfer;
    const auto text_of = [](std::string_view text) { return std::string(text); };
    Record<T> r("One kind of transfer of a step, as one rank sees it.");
    r.derived<std::string>("name", kind::text(), "What it is.",
                           [=](const T& t) { return text_of(t.transfer.name); });
    r.row_at<Group>(
        [](auto& t) -> auto& { return t.transfer.group; }, "group", kind::choice(kGroupNames),
        "The ranks that take part.");
    r.row_at<Collective>(
        [](auto& t) -> auto& { return t.transfer.collective; }, "collective",
        kind::choice(kCollectiveNames), "Which collective.");
    r.derived<std::string>("algorithm", kind::text(), "How it runs; empty: point to point.",
                           [=](const T& t) { return text_of(t.algorithm); });
    r.row_at<int>(
        [](auto& t) -> auto& { return t.transfer.group_size; }, "group_size", kind::integer(),
        "Ranks.");
    r.row_at<double>(
        [](auto& t) -> auto& { return t.transfer.times_per_step; }, "times_per_step",
        kind::number(), "Calls.");
    r.row_at<Bytes>(
        [](auto& t) -> auto& { return t.transfer.payload; }, "payload_bytes",
        kind::base_amount<Bytes>(), "The array handed to one call.");
    r.derived<double>("sent_per_step_bytes", kind::number(), "What one rank sends.",
                      [](const T& t) { return t.transfer.sent_per_step().value(); });
    r.derived<std::string>("formula", kind::text(), "Of the payload.",
                           [=](const T& t) { return text_of(t.transfer.formula); });
    return r.all_required();
  }();
  return record;
}

const Record<EngineStep>& engine_step_record() {
  static const Record<EngineStep> record = [] {
    using S = EngineStep;
    const auto number = kind::number();
    Record<S> r("What one attention group runs in one pass.");
    r.row(&S::decode_sequences, "decode_sequences", number, "Sequences with one new token.");
    r.row(&S::decode_context, "decode_context_tokens", number, "Their tokens in the cache.");
    r.row(&S::prefill_tokens, "prefill_tokens", number, "New tokens of prompts.");
    r.row(&S::prefill_sequences, "prefill_sequences", number, "Prompts.");
    r.row(&S::prefill_pairs, "prefill_pairs", number, "Query-key pairs of a head.");
    return r.all_required();
  }();
  return record;
}

}  // namespace

const Record<ReplicaLayout>& replica_layout_record() {
  static const Record<ReplicaLayout> record = [] {
    using L = ReplicaLayout;
    const auto size = kind::integer({1, 100'000});
    Record<L> r("How a replica's GPUs share the work.");
    r.row(&L::tensor_parallel_size, "tensor_parallel_size", size,
          "Ranks that share a sequence's heads.");
    r.row(&L::pipeline_parallel_size, "pipeline_parallel_size", size, "Stages.");
    r.row(&L::data_parallel_size, "data_parallel_size", size,
          "Attention's groups that step together.");
    r.row(&L::expert_parallel_size, "expert_parallel_size", size, "Ranks that share the experts.");
    r.row(&L::decode_context_parallel_size, "decode_context_parallel_size", size,
          "Tensor ranks that share a context.");
    return r.all_required();
  }();
  return record;
}

const Record<ReplicaOptions>& replica_options_record() {
  static const Record<ReplicaOptions> record = [] {
    using O = ReplicaOptions;
    Record<O> r("What the engine is started with.");
    r.row(&O::weights, "weights", kind::object(weight_scheme_record), "How weights are stored.");
    r.row(&O::kv_cache, "kv_cache", kind::choice(kKvCacheFormatNames), "Format of the cache.");
    r.row(&O::layout, "layout", kind::object(replica_layout_record), "Parallel sizes.");
    r.row(&O::exchange, "expert_exchange", kind::choice(kExpertExchangeNames),
          "How tokens reach experts of other ranks.");
    r.row(&O::memory_fraction, "memory_fraction", kind::optional_number({0.0, 1.0}),
          "Asked for; absent: the engine's default.");
    r.row(&O::max_num_seqs, "max_num_seqs", kind::integer(kServingCount),
          "Running sequences, at most.");
    r.row(&O::max_num_batched_tokens, "max_num_batched_tokens", kind::integer(kServingCount),
          "Tokens of a step, at most.");
    r.row(&O::max_model_len, "max_model_len", kind::integer(kServingCount), "Tokens of a request.");
    r.row(&O::block_size, "block_size", kind::integer(kServingCount),
          "Tokens of a block of the cache.");
    r.row(&O::prompt_wait, "prompt_wait", kind::object(prompt_wait_record),
          "How prompts are held back.");
    r.omitted_at_default();
    r.row(&O::num_speculative_tokens, "num_speculative_tokens", kind::integer(kServingCount),
          "Drafts a step.");
    r.row(&O::enforce_eager, "enforce_eager", kind::flag(), "No CUDA graphs.");
    return r;
  }();
  return record;
}

const Record<ReplicaMemory>& replica_memory_record() {
  static const Record<ReplicaMemory> record = [] {
    using M = ReplicaMemory;
    const auto amount = kind::base_amount<Bytes>();
    Record<M> r("Memory of the rank that needs most, and what it holds of requests.");
    r.row(&M::device, "device_bytes", amount, "Memory that programs may use.");
    r.row(&M::fraction, "fraction", kind::number({0.0, 1.0}), "The engine's memory fraction.");
    r.row(&M::weights, "weights", kind::object(replica_weights_record), "Weights.");
    r.row(&M::activations, "activations_bytes", amount, "Peak of activations.");
    r.row(&M::outside, "outside_bytes", amount, "CUDA's context and NCCL.");
    r.row(&M::graphs, "graphs_bytes", amount, "CUDA graphs.");
    r.row(&M::unused, "unused_bytes", amount, "Left free.");
    r.row(&M::kv_cache, "kv_cache_bytes", amount, "Key-value cache.");
    r.row(&M::sequence, "sequence", kind::object(sequence_cache_record), "Cache of a sequence.");
    r.row(&M::kv_blocks, "kv_blocks", kind::number(), "Blocks of one attention group.");
    r.row(&M::kv_tokens, "kv_tokens", kind::number(), "Tokens that they hold.");
    return r.all_required();
  }();
  return record;
}

const Record<StepEstimate>& step_estimate_record() {
  static const Record<StepEstimate> record = [] {
    using S = StepEstimate;
    const auto time = kind::base_amount<Seconds>();
    Record<S> r("Time of one step.");
    r.row(&S::step, "step", kind::object(engine_step_record), "What runs.");
    r.row_at<Seconds>(
        [](auto& s) -> auto& { return s.time.total; }, "time_seconds", time,
        "From its start until its tokens are there.");
    r.row_at<Seconds>(
        [](auto& s) -> auto& { return s.time.interval; }, "interval_seconds", time,
        "Until the next may start.");
    r.row(&S::low, "low_seconds", time, "Low end of the 90 % interval.");
    r.row(&S::high, "high_seconds", time, "High end of it.");
    r.row(&S::relative_spread, "relative_spread", kind::number(), "One standard deviation.");
    r.row(&S::provenance, "provenance", kind::choice(kProvenanceNames), "The weakest part's.");
    r.derived<std::vector<NamedStepTerm>>("terms", kind::list(step_term_record),
                                          "Parts that take time.", step_terms_of);
    r.row(&S::transfers, "transfers", kind::list(serving_transfer_record), "What one rank sends.");
    return r.all_required();
  }();
  return record;
}

const Record<ServingEstimate>& serving_estimate_record() {
  static const Record<ServingEstimate> record = [] {
    using E = ServingEstimate;
    const auto number = kind::number();
    Record<E> r("Memory, largest batch and steps of one replica.");
    r.row(&E::options, "options", kind::object(replica_options_record),
          "What the engine is started with, defaults included.");
    r.row(&E::memory, "memory", kind::object(replica_memory_record), "Memory.");
    r.row(&E::fits, "fits", kind::flag(), "Whether the cache holds one request.");
    r.row(&E::largest_batch, "largest_batch", number,
          "Requests that run together, all data ranks.");
    r.row(&E::prefill, "prefill", kind::object(step_estimate_record),
          "First chunk of one prompt alone.");
    r.row(&E::prefill_chunks, "prefill_chunks", number, "Steps of one prompt.");
    r.row(&E::prefill_time, "prefill_time_seconds", kind::base_amount<Seconds>(), "All of them.");
    r.row(&E::decode, "decode", kind::object(step_estimate_record),
          "The batch at its mean context.");
    r.row(&E::tokens_per_second_per_user, "tokens_per_second_per_user", number,
          "Of one sequence, prefills of others left out.");
    r.row(&E::tokens_per_second_per_gpu, "tokens_per_second_per_gpu", number,
          "Output tokens, prefills left out.");
    return r.all_required();
  }();
  return record;
}

}  // namespace meshwright
