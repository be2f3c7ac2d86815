// SPDX-License-Identifier: Apache-2.0
// Versions of inference engines as JSON.
#include <algorithm>

#include "sim/json/serving_records.h"

namespace meshwright {
namespace {

constexpr NumberRange kEngineFactor{0.1, 10.0};
constexpr IntRange kServingCount{0, 1'000'000'000};

const Record<EngineTier>& engine_tier_record() {
  static const Record<EngineTier> record = [] {
    using T = EngineTier;
    Record<T> r("Defaults of devices with at least so much memory.");
    r.row(&T::memory, "memory", kind::amount<Bytes>(kGibibytes), "Memory of a device, at least.");
    r.required();
    r.row(&T::except_architecture, "except_architecture", kind::text(),
          "Devices of this architecture do not count.");
    r.omitted_at_default();
    r.row(&T::max_num_batched_tokens, "max_num_batched_tokens", kind::integer(),
          "Tokens of a step, at most.");
    r.required();
    r.row(&T::max_num_seqs, "max_num_seqs", kind::integer(), "Running sequences, at most.");
    r.required();
    r.row(&T::graph_max_batch, "graph_max_batch", kind::integer(kServingCount),
          "Largest CUDA graph; 0: the engine's.");
    r.omitted_at_default();
    return r;
  }();
  return record;
}

const Record<GraphRange>& graph_range_record() {
  static const Record<GraphRange> record = [] {
    using G = GraphRange;
    Record<G> r("Captured sizes from the first, in steps, to the last.");
    r.row(&G::first, "first", kind::integer(), "Smallest.").required();
    r.row(&G::last, "last", kind::integer(), "Largest.").required();
    r.row(&G::step, "step", kind::integer(), "Distance.").required();
    r.check([](const G& g, ObjectReader& reader) {
      if (g.last < g.first) reader.fail("last", "must be at least \"first\"");
    });
    return r;
  }();
  return record;
}

const Record<EngineMemory>& engine_memory_record() {
  static const Record<EngineMemory> record = [] {
    using M = EngineMemory;
    Record<M> r("What is left for the key-value cache.");
    r.row(&M::rule, "rule", kind::choice(kMemoryRuleNames), "What the fraction is a share of.");
    r.required();
    r.row(&M::fraction, "fraction", kind::number({0.0, 1.0}),
          "Default share; 0: follows from the device and the layout.");
    r.required();
    r.row(&M::hidden_copies, "hidden_copies", kind::number(),
          "Rows of the hidden size alive at the peak of a pass.");
    r.row(&M::ffn_copies, "ffn_copies", kind::number(), "Rows of the MLP's width alive with them.");
    r.row(&M::sampling_copies, "sampling_copies", kind::number(),
          "fp32 logits of max_num_seqs rows alive at the peak of sampling.");
    r.row(&M::outside_alone, "outside_alone", kind::amount<Bytes>(kGibibytes),
          "Memory outside PyTorch of a rank alone.");
    r.row(&M::outside_grouped, "outside_grouped", kind::amount<Bytes>(kGibibytes),
          "The same with NCCL's buffers.");
    r.row(&M::graphs, "graphs", kind::amount<Bytes>(kGibibytes),
          "Memory of CUDA graphs that is taken from the cache.");
    return r;
  }();
  return record;
}

const Record<FirstTokenSpread>& first_token_record() {
  static const Record<FirstTokenSpread> record = [] {
    using S = FirstTokenSpread;
    const auto spread = kind::number({0.0, 10.0});
    Record<S> r("Relative standard deviations of a request's first token under load.");
    r.row(&S::usual, "usual", spread, "Of means and medians.");
    r.row(&S::tail, "tail", spread, "Of percentiles from the 90th on.");
    r.row(&S::disaggregated, "disaggregated", spread, "Of means and medians behind two pools.");
    r.row(&S::disaggregated_tail, "disaggregated_tail", spread, "Of percentiles behind two pools.");
    r.row(&S::disaggregated_rate, "disaggregated_rate", spread,
          "Of E2E and throughput behind two pools.");
    return r;
  }();
  return record;
}

const Record<EngineTransfer>& engine_transfer_record() {
  static const Record<EngineTransfer> record = [] {
    using T = EngineTransfer;
    const auto time = kind::amount<Seconds>(kMicroseconds);
    Record<T> r("How the cache of a prompt moves from a prefill to a decode pool.");
    r.row(&T::handover, "handover", time, "Requests between the schedulers, once a request.");
    r.row(&T::descriptor, "descriptor", time, "Each block of each layer.");
    r.row(&T::joins_blocks, "joins_blocks", kind::flag(),
          "Blocks that lie side by side, those of one prefill step, take one descriptor.");
    r.omitted_at_default();
    r.row(&T::rate, "rate", kind::amount<BytesPerSecond>(kGigabytesPerSecond),
          "Of all transfers between two pools, where it is below that of their links. 0: theirs.");
    return r;
  }();
  return record;
}

const Record<EngineHost>& engine_host_record() {
  static const Record<EngineHost> record = [] {
    using H = EngineHost;
    const auto time = kind::amount<Seconds>(kMicroseconds);
    Record<H> r("Time that the GPU waits for the host.");
    r.row(&H::step, "step", time, "Once a step.");
    r.row(&H::sequence, "sequence", time, "Each running sequence.");
    r.row(&H::prompt_token, "prompt_token", time,
          "Each token of a prompt, in its step: hashes of blocks, inputs.");
    r.row(&H::input_token, "input_token", time, "Each token of a prompt: tokenizer, transport.");
    r.row(&H::layer, "layer", time, "Each layer: gaps between kernels.");
    r.row(&H::expert_layer, "expert_layer", time, "More for a layer with experts.");
    r.row(&H::launches_per_layer, "launches_per_layer", kind::number(),
          "Kernels of a layer that is no part of a CUDA graph.");
    r.row(&H::overlapped, "overlapped", kind::flag(),
          "The host prepares the next step while this one runs.");
    r.row(&H::request, "request", time, "Once a request: tokenizer, HTTP, first scheduling.");
    return r;
  }();
  return record;
}

const Record<EngineFit>& engine_fit_record() {
  static const Record<EngineFit> record = [] {
    using F = EngineFit;
    Record<F> r("What was fitted, and on what.");
    r.row(&F::sets, "sets", kind::texts(), "Sets of measured points.");
    r.row(&F::terms, "terms", kind::texts(), "Keys of this file that were fitted.");
    r.row(&F::held_out_error, "held_out_error", kind::optional_number(),
          "Median error of a step on groups of points that the fit had not seen.");
    return r;
  }();
  return record;
}

const Record<EngineLearning>& engine_learning_record() {
  static const Record<EngineLearning> record = [] {
    using L = EngineLearning;
    Record<L> r("What results of this engine on one machine taught.");
    r.row(&L::factor, "factor", kind::number(kEngineFactor),
          "Of every step's time; the factors and host times above have it.");
    r.row(&L::spread_ratio, "spread_ratio", kind::number({0.0, 1000.0}),
          "Of a step's spread, over the one that was not learnt.");
    r.row(&L::least_spread, "least_spread", kind::number({0.0, 10.0}),
          "That repeats of one configuration showed; no step's spread is below it.");
    r.row(&L::configurations, "configurations", kind::integer(kServingCount),
          "That were measured.");
    return r;
  }();
  return record;
}

template <typename Enum, std::size_t N>
Kind<std::vector<Enum>> list_of_names(const std::array<EnumName<Enum>, N>& names) {
  return {.read =
              [names](ObjectReader& reader, const std::string& key, std::vector<Enum>& values) {
                values.clear();
                for (const std::string& word : reader.optional_strings(key)) {
                  const auto found =
                      std::find_if(names.begin(), names.end(),
                                   [&](const auto& entry) { return entry.name == word; });
                  if (found == names.end()) reader.fail_choice(key, word, words_of_names(names));
                  values.push_back(found->value);
                }
              },
          .write =
              [names](Json& json, const std::string& key, const std::vector<Enum>& values) {
                Json& list = json[key] = Json::array();
                for (const Enum value : values) list.push_back(name_in(names, value));
              },
          .schema =
              [names] {
                return Json{{"type", "array"}, {"items", choice_schema(words_of_names(names))}};
              }};
}

Record<Engine> make_engine_record() {
  using E = Engine;
  Record<E> r("A version of an inference engine: defaults, scheduler, memory rule, host time.");
  r.file_of({"meshwright.engine/1"}, true);
  r.row(&E::name, "name", kind::text(), "Name of the file.").required();
  r.row(&E::kind, "engine", kind::choice(kEngineKindNames), "The engine.").required();
  r.row(&E::version, "version", kind::text(), "Its version, the first that this file is about.");
  r.required();
  r.row(&E::released, "released", kind::text(), "Year and month of its release: 2026-01.")
      .omitted_at_default();
  r.row(&E::title, "title", kind::text(), "For people.");
  r.row(&E::source, "source", kind::text(), "Where the statements come from.").required();
  r.row(&E::tensor_size_counts_data_ranks, "tensor_size_counts_data_ranks", kind::flag(),
        "--tp counts attention's data ranks, too.");
  r.row(&E::order, "scheduler_order", kind::choice(kSchedulerOrderNames),
        "Which of waiting prompts and running sequences a step takes.");
  r.required();
  r.row(&E::mixes_prefill_and_decode, "mixes_prefill_and_decode", kind::flag(),
        "One step may hold both.");
  r.row(&E::chunked_prefill, "chunked_prefill", kind::flag(),
        "Long prompts are cut into steps by default.");
  r.row(&E::full_cache, "full_cache", kind::choice(kFullCacheNames),
        "What happens when the cache is full.");
  r.row(&E::prefix_caching, "prefix_caching", kind::flag(), "On by default.");
  r.row(&E::max_partial_prefills, "max_partial_prefills", kind::integer(),
        "Prompts that a step may cut.");
  r.row(&E::block_size, "block_size", kind::integer(), "Tokens of a block of the cache.");
  r.row(&E::latent_block_size, "latent_block_size", kind::integer(),
        "The same for latent attention (MLA).");
  r.row(&E::tiers, "tiers", kind::list(engine_tier_record),
        "Defaults by the device's memory, rising.");
  r.required();
  r.check([](const E& e, ObjectReader& reader) {
    if (e.tiers.empty()) reader.fail("tiers", "must hold at least one entry");
  });
  r.row(&E::graphs, "graphs", kind::list(graph_range_record), "Sizes of CUDA graphs.");
  r.row(&E::graph_max_batch, "graph_max_batch", kind::integer(), "Largest of them.");
  r.row(&E::pads_to_graph, "pads_to_graph", kind::flag(), "Batches are padded to the next size.");
  r.row(&E::exchange, "expert_exchange", kind::choice(kExpertExchangeNames),
        "How tokens reach experts of other ranks by default.");
  r.row(&E::custom_all_reduce, "custom_all_reduce", kind::flag(),
        "Small all-reduces inside a node take one or two shots.");
  r.row(&E::one_shot_at_4, "one_shot_at_4", kind::amount<Bytes>(kKibibytes),
        "Messages below this take one shot on up to 4 ranks.");
  r.row(&E::one_shot_at_8, "one_shot_at_8", kind::amount<Bytes>(kKibibytes),
        "The same on up to 8 ranks.");
  r.row(&E::custom_all_reduce_max, "custom_all_reduce_max", kind::amount<Bytes>(kKibibytes),
        "Larger messages go to NCCL.");
  r.row(&E::memory, "memory", kind::object(engine_memory_record), "The rule of memory.");
  r.required();
  r.row(&E::host, "host", kind::object(engine_host_record), "Host time.");
  r.row(&E::weight_formats, "weight_formats", list_of_names(kWeightFormatNames),
        "Formats of weights that it loads.");
  r.row(&E::kv_cache_formats, "kv_cache_formats", list_of_names(kKvCacheFormatNames),
        "Formats of the cache.");
  r.row(&E::decode_context_parallel, "decode_context_parallel", kind::flag(),
        "Contexts may be spread over tensor ranks.");
  r.row(&E::time_factor, "time_factor", kind::number(kEngineFactor),
        "Factor on all kernels, for rows of decodes.");
  r.row(&E::prefill_factor, "prefill_factor", kind::number(kEngineFactor),
        "The same for rows of prompts. Default: time_factor.");
  r.default_from([](Engine& engine) { engine.prefill_factor = engine.time_factor; });
  r.row(&E::relative_spread, "relative_spread", kind::number({0.0, 10.0}),
        "Of a step, what remains after the fit.");
  r.row(&E::first_token, "first_token_spread", kind::object(first_token_record),
        "Of a request's first token under load.");
  r.row(&E::transfer, "transfer", kind::object(engine_transfer_record),
        "How a cache moves between pools.");
  r.row(&E::fit, "fit", kind::object(engine_fit_record), "What was fitted.");
  r.omitted_at_default();
  r.row(&E::learnt, "learnt", kind::object(engine_learning_record),
        "What results of this engine on one machine taught.");
  r.omitted_at_default();
  return r;
}

}  // namespace

const Record<Engine>& engine_record() {
  static const Record<Engine> record = make_engine_record();
  return record;
}

Engine engine_from_json(const Json& json, const std::string& file, const std::string& pointer) {
  return engine_record().read(json, file, pointer);
}

}  // namespace meshwright
