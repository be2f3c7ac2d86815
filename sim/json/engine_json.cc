// SPDX-License-Identifier: Apache-2.0
// Versions of inference engines as JSON.
#include <algorithm>

#include "sim/json/serving_records.h"

namespace meshwright {
namespace {

constexpr NumberRange kEngineFactor{0.1, 10.0};

const Record<EngineTier>& engine_tier_record() {
  return described([](Record<EngineTier>& r) {
    using T = EngineTier;
    r.about("Defaults of devices with at least so much memory.");
    r.row<&T::memory>(kGibibytes, "Memory of a device, at least.");
    r.required();
    r.row<&T::architecture>("Only devices of this architecture count.").omitted_at_default();
    r.row<&T::except_name>("Devices with this in their name, in small letters, do not count.");
    r.omitted_at_default();
    r.row<&T::max_num_batched_tokens>("Tokens of a step, at most.");
    r.required();
    r.row<&T::max_num_seqs>("Running sequences, at most.");
    r.required();
    r.row<&T::graph_max_batch>(kServingCount, "Largest CUDA graph; 0: the engine's.");
    r.omitted_at_default();
    r.row<&T::graph_max_batch_grouped>(
        kServingCount, "Of four tensor and data ranks or more; 0: graph_max_batch.");
    r.omitted_at_default();
  });
}

const Record<GraphRange>& graph_range_record() {
  return described([](Record<GraphRange>& r) {
    using G = GraphRange;
    r.about("Captured sizes from the first, in steps, to the last.");
    r.row<&G::first>("Smallest.").required();
    r.row<&G::last>("Largest.").required();
    r.row<&G::step>("Distance.").required();
    r.check([](const G& g, ObjectReader& reader) {
      if (g.last < g.first) reader.fail("last", "must be at least \"first\"");
    });
  });
}

const Record<StaticReserve>& static_reserve_record() {
  return described([](Record<StaticReserve>& r) {
    using R = StaticReserve;
    r.about("What a default share leaves free beside chunks, ranks and decode graphs (SGLang).");
    r.row<&R::least_tokens>(kServingCount, "Tokens of a chunk, at least.").omitted_at_default();
    r.row<&R::drafts>(kGibibytes, "With speculation.");
    r.row<&R::prompt_graphs>(graph_range_record, "Sizes of prompts' CUDA graphs, in tokens.");
    r.omitted_at_default();
    r.row<&R::prompt_graph>(kGibibytes, "Each of them.").omitted_at_default();
    r.row<&R::latent_prompt_graphs>(kGibibytes, "All of them with latent attention.");
    r.omitted_at_default();
    r.row<&R::deep_ep>(kGibibytes, "DeepEP's buffers.").omitted_at_default();
    r.row<&R::deep_ep_prompts>(kGibibytes, "More of them where prompts have CUDA graphs.");
    r.omitted_at_default();
    r.row<&R::shrinks_for_images>("A model with an image encoder gets a smaller share.");
    r.omitted_at_default();
    r.row<&R::aiter_share>(
        NumberRange{0.0, 1.0},
        "Of the share, stated or not, under AMD's aiter kernels beyond 8,192 positions.");
    r.omitted_at_default();
  });
}

const Record<EngineCache>& engine_cache_record() {
  return described([](Record<EngineCache>& r) {
    using C = EngineCache;
    r.about("How layers share the cache's blocks, and what a request reserves of them.");
    r.row<&C::group_slack>(NumberRange{0.0, 10.0},
                           "Layers of a kind form groups of as many as the rarest kind has, or as "
                           "the most frequent one if it has fewer than so many times these. 0: "
                           "no groups.");
    r.row<&C::steps_in_flight>(kServingCount, "Steps whose tokens windows reserve in one stage.");
    r.row<&C::state_pages>(kServingCount, "Pages of a state that a sequence reserves.");
  });
}

const Record<EngineMemory>& engine_memory_record() {
  return described([](Record<EngineMemory>& r) {
    using M = EngineMemory;
    r.about("What is left for the key-value cache.");
    r.row<&M::rule>(kMemoryRuleNames, "What the fraction is a share of.");
    r.required();
    r.row<&M::fraction>(NumberRange{0.0, 1.0},
                        "Default share; 0: follows from the device and the layout.");
    r.required();
    r.row<&M::hidden_copies>("Rows of the hidden size alive at the peak of a pass.");
    r.row<&M::ffn_copies>("Rows of the MLP's width alive with them.");
    r.row<&M::sampling_copies>("fp32 logits of max_num_seqs rows alive at the peak of sampling.");
    r.row<&M::outside_alone>(kGibibytes, "Memory outside PyTorch of a rank alone.");
    r.row<&M::outside_grouped>(kGibibytes, "The same with NCCL's buffers.");
    r.row<&M::graphs>(kGibibytes, "Memory of CUDA graphs that is taken from the cache.");
    r.row<&M::graphs_of>(kServingCount, "Sizes that this is of, more or less by their number.");
    r.omitted_at_default();
    r.row<&M::reserve>(static_reserve_record, "Where the share follows from the device.");
    r.omitted_at_default();
  });
}

const Record<FirstTokenSpread>& first_token_record() {
  return described([](Record<FirstTokenSpread>& r) {
    using S = FirstTokenSpread;
    r.about("Relative standard deviations of a request's first token under load.");
    r.row<&S::usual>(NumberRange{0.0, 10.0}, "Of means and medians.");
    r.row<&S::tail>(NumberRange{0.0, 10.0}, "Of percentiles from the 90th on.");
    r.row<&S::disaggregated>(NumberRange{0.0, 10.0}, "Of means and medians behind two pools.");
    r.row<&S::disaggregated_tail>(NumberRange{0.0, 10.0}, "Of percentiles behind two pools.");
    r.row<&S::disaggregated_rate>(NumberRange{0.0, 10.0},
                                  "Of E2E and throughput behind two pools.");
  });
}

const Record<EngineTransfer>& engine_transfer_record() {
  return described([](Record<EngineTransfer>& r) {
    using T = EngineTransfer;
    r.about("How the cache of a prompt moves from a prefill to a decode pool.");
    r.row<&T::handover>(kMicroseconds, "Requests between the schedulers, once a request.");
    r.row<&T::descriptor>(kMicroseconds, "Each block of each layer.");
    r.row<&T::joins_blocks>(
        "Blocks that lie side by side, those of one prefill step, take one descriptor.");
    r.omitted_at_default();
    r.row<&T::rate>(kGigabytesPerSecond,
                    "Of all transfers between two pools, where it is below that of their "
                    "links. 0: theirs.");
  });
}

const Record<EngineHost>& engine_host_record() {
  return described([](Record<EngineHost>& r) {
    using H = EngineHost;
    r.about("Time that the GPU waits for the host.");
    r.row<&H::step>(kMicroseconds, "Once a step.");
    r.row<&H::sequence>(kMicroseconds, "Each running sequence.");
    r.row<&H::prompt_token>(kMicroseconds,
                            "Each token of a prompt, in its step: hashes of blocks, inputs.");
    r.row<&H::input_token>(kMicroseconds, "Each token of a prompt: tokenizer, transport.");
    r.row<&H::layer>(kMicroseconds, "Each layer: gaps between kernels.");
    r.row<&H::expert_layer>(kMicroseconds, "More for a layer with experts.");
    r.row<&H::launches_per_layer>("Kernels of a layer that is no part of a CUDA graph.");
    r.row<&H::overlapped>("The host prepares the next step while this one runs.");
    r.row<&H::request>(kMicroseconds, "Once a request: tokenizer, HTTP, first scheduling.");
  });
}

const Record<EngineFit>& engine_fit_record() {
  return described([](Record<EngineFit>& r) {
    using F = EngineFit;
    r.about("What was fitted, and on what.");
    r.row<&F::sets>("Sets of measured points.");
    r.row<&F::terms>("Keys of this file that were fitted.");
    r.row<&F::held_out_error>(
        "Median error of a step on groups of points that the fit had not seen.");
  });
}

const Record<EngineLearning>& engine_learning_record() {
  return described([](Record<EngineLearning>& r) {
    using L = EngineLearning;
    r.about("What results of this engine on one machine taught.");
    r.row<&L::factor>(kEngineFactor,
                      "Of every step's time; the factors and host times above have it.");
    r.row<&L::spread_ratio>(NumberRange{0.0, 1000.0},
                            "Of a step's spread, over the one that was not learnt.");
    r.row<&L::least_spread>(
        NumberRange{0.0, 10.0},
        "That repeats of one configuration showed; no step's spread is below it.");
    r.row<&L::configurations>(kServingCount, "That were measured.");
  });
}

Record<Engine> make_engine_record() {
  using E = Engine;
  Record<E> r("A version of an inference engine: defaults, scheduler, memory rule, host time.");
  r.file_of({"meshwright.engine/1"}, true);
  r.row<&E::name>("Name of the file.").required();
  r.row<&E::kind>("engine", kEngineKindNames, "The engine.").required();
  r.row<&E::version>("Its version, the first that this file is about.");
  r.required();
  r.row<&E::released>("Year and month of its release: 2026-01.").omitted_at_default();
  r.row<&E::title>("For people.");
  r.row<&E::source>("Where the statements come from.").required();
  r.row<&E::tensor_size_counts_data_ranks>("--tp counts attention's data ranks, too.");
  r.row<&E::order>("scheduler_order", kSchedulerOrderNames,
                   "Which of waiting prompts and running sequences a step takes.");
  r.required();
  r.row<&E::mixes_prefill_and_decode>("One step may hold both.");
  r.row<&E::chunked_prefill>("Long prompts are cut into steps by default.");
  r.row<&E::full_cache>(kFullCacheNames, "What happens when the cache is full.");
  r.row<&E::prefix_caching>("On by default.");
  r.row<&E::max_partial_prefills>("Prompts that a step may cut.");
  r.row<&E::block_size>("Tokens of a block of the cache.");
  r.row<&E::latent_block_size>("The same for latent attention (MLA).");
  r.row<&E::hopper_latent_block_size>(
      kServingCount, "The same on Hopper, in 16 bits without an indexer; 0: latent_block_size.");
  r.omitted_at_default();
  r.row<&E::cache>("cache_groups", engine_cache_record, "Groups of layers that share blocks.");
  r.omitted_at_default();
  r.row<&E::tiers>(engine_tier_record, "Defaults by the device's memory, rising.");
  r.required();
  r.check([](const E& e, ObjectReader& reader) {
    if (e.tiers.empty()) reader.fail("tiers", "must hold at least one entry");
  });
  r.row<&E::shares_chunk>("Attention's data ranks divide the tokens of a step.");
  r.omitted_at_default();
  r.row<&E::throughput_factor>("Of both defaults in its throughput mode.").omitted_at_default();
  r.row<&E::sequences_of_length>(
      kServingCount,
      "Default of sequences: so many times the requests of max_model_len that the cache holds; 0: "
      "the tier's.");
  r.omitted_at_default();
  r.row<&E::least_sequences>(kServingCount, "At least so many; at most the tier's.");
  r.omitted_at_default();
  r.row<&E::draft_sequences>(kServingCount, "Default with speculation; 0: the same.");
  r.omitted_at_default();
  r.row<&E::graphs>(graph_range_record, "Sizes of CUDA graphs.");
  r.row<&E::graph_max_batch>("Largest of them.");
  r.row<&E::graph_sequences>(
      kServingCount, "Graphs end at so many times the rows of max_num_seqs; 0: they do not.");
  r.omitted_at_default();
  r.row<&E::mxfp4_hidden_multiple>("Rows of mxfp4 experts are padded to a multiple of this.");
  r.omitted_at_default();
  r.row<&E::mxfp4_ffn_multiple>("Columns of a rank's mxfp4 experts, too.").omitted_at_default();
  r.row<&E::pads_to_graph>("Batches are padded to the next size.");
  r.row<&E::exchange>("expert_exchange", kExpertExchangeNames,
                      "How tokens reach experts of other ranks by default.");
  r.row<&E::custom_all_reduce>("Small all-reduces inside a node take one or two shots.");
  r.row<&E::one_shot_at_4>(kKibibytes, "Messages below this take one shot on up to 4 ranks.");
  r.row<&E::one_shot_at_8>(kKibibytes, "The same on up to 8 ranks.");
  r.row<&E::custom_all_reduce_max>(kKibibytes, "Larger messages go to NCCL.");
  r.row<&E::memory>(engine_memory_record, "The rule of memory.");
  r.required();
  r.row<&E::host>(engine_host_record, "Host time.");
  r.row<&E::weight_formats>(kWeightFormatNames, "Formats of weights that it loads.");
  r.row<&E::kv_cache_formats>(kKvCacheFormatNames, "Formats of the cache.");
  r.row<&E::decode_context_parallel>("Contexts may be spread over tensor ranks.");
  r.row<&E::time_factor>(kEngineFactor, "Factor on all kernels, for rows of decodes.");
  r.row<&E::prefill_factor>(kEngineFactor, "The same for rows of prompts. Default: time_factor.");
  r.default_from([](Engine& engine) { engine.prefill_factor = engine.time_factor; });
  r.row<&E::relative_spread>(NumberRange{0.0, 10.0}, "Of a step, what remains after the fit.");
  r.row<&E::first_token>("first_token_spread", first_token_record,
                         "Of a request's first token under load.");
  r.row<&E::transfer>(engine_transfer_record, "How a cache moves between pools.");
  r.row<&E::fit>(engine_fit_record, "What was fitted.");
  r.omitted_at_default();
  r.row<&E::learnt>(engine_learning_record, "What results of this engine on one machine taught.");
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
