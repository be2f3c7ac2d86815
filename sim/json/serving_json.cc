// SPDX-License-Identifier: Apache-2.0
// Replicas and what is predicted of them as JSON.
#include <algorithm>

#include "sim/json/result_records.h"
#include "sim/json/serving_records.h"

namespace meshwright {
namespace {

const Record<WeightScheme>& weight_scheme_record() {
  return described([](Record<WeightScheme>& r) {
    using W = WeightScheme;
    r.about("How weights are stored.");
    r.row<&W::format>(kWeightFormatNames, "Format.");
    r.row<&W::group_size>("int4: weights that share a scale.");
    r.row<&W::zero_points>("int4: groups have zero points.");
    r.row<&W::quantized>(kQuantizedPartNames, "Linears in this format.");
  });
}

const Record<PromptWait>& prompt_wait_record() {
  return described([](Record<PromptWait>& r) {
    using W = PromptWait;
    r.about("How prompts are held back while others decode (TensorRT-LLM, SGLang).");
    r.row<&W::iterations>("Steps at most.");
    r.row<&W::token_share>("Of max_num_batched_tokens: rows that end the wait.");
    r.row<&W::balance_iterations>("Steps at most until every data rank has a prompt.");
    r.row<&W::balance_batching>("Steps from then on.");
    r.row<&W::receive_interval>("Decode steps between two looks for new requests (SGLang).")
        .omitted_at_default();
  });
}

const Record<ReplicaWeights>& replica_weights_record() {
  return described([](Record<ReplicaWeights>& r) {
    using W = ReplicaWeights;
    r.about("Bytes of the weights of the rank that needs most.");
    r.row<&W::attention>("Attention's projections.");
    r.row<&W::dense>("MLP, shared experts, norms and router.");
    r.row<&W::experts>("Routed experts.");
    r.row<&W::embedding>("Embedding.");
    r.row<&W::head>("Head.");
    r.row<&W::drafts>("Multi-token prediction.");
    r.all_required();
  });
}

const Record<CacheGroups>& cache_groups_record() {
  return described([](Record<CacheGroups>& r) {
    using G = CacheGroups;
    r.about("Groups of layers that share the cache's blocks.");
    r.row<&G::full>(kServingCount, "Groups with whole contexts.");
    r.row<&G::window>(kServingCount, "Groups with a window.");
    r.row<&G::linear>(kServingCount, "Groups with states.");
    r.row<&G::layers>("Layers of a group.");
    r.row<&G::block>("One block of a group.");
    r.row<&G::window_tokens>("Tokens of windows that a request reserves.");
    r.row<&G::window_blocks>(kServingCount, "Blocks beside them.");
    r.row<&G::state_blocks>(kServingCount, "Blocks of states.");
    r.all_required();
  });
}

const Record<SequenceCache>& sequence_cache_record() {
  return described([](Record<SequenceCache>& r) {
    using S = SequenceCache;
    r.about("What the cache of a sequence takes on a rank.");
    r.row<&S::full_token>("A token in layers with whole contexts.");
    r.row<&S::window_token>("A token in layers with a window.");
    r.row<&S::window>("window_tokens", "Tokens of a window; 0: none.");
    r.row<&S::state>("State of a sequence in layers with linear attention.");
    r.omitted_at_default();
    r.row<&S::block_size>("Tokens of a block.");
    r.all_required();
    r.row<&S::groups>(cache_groups_record, "Groups of layers that share blocks.");
    r.omitted_at_default();
  });
}

struct NamedStepTerm {
  std::string_view name;
  Seconds time;
  double relative_spread = 0.0;
  Provenance provenance = Provenance::measured;
};
const Record<NamedStepTerm>& step_term_record() {
  return described([](Record<NamedStepTerm>& r) {
    using N = NamedStepTerm;
    r.about("A part of a step.");
    r.derived<std::string>("name", kind::text(), "What it is.",
                           [](const N& n) { return std::string(n.name); });
    r.row<&N::time>("How long it takes.");
    r.row<&N::relative_spread>("One standard deviation.");
    r.row<&N::provenance>(kProvenanceNames, "Where its rate comes from.");
    r.all_required();
  });
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
    r.row_at(
        [](auto& t) -> auto& { return t.transfer.group; }, "group", kGroupNames,
        "The ranks that take part.");
    r.row_at(
        [](auto& t) -> auto& { return t.transfer.collective; }, "collective", kCollectiveNames,
        "Which collective.");
    r.row<&T::term>(kStepTermNames, "The term of the step that has its seconds.");
    r.derived<std::string>("algorithm", kind::text(), "How it runs; empty: point to point.",
                           [=](const T& t) { return text_of(t.algorithm); });
    r.row_at(
        [](auto& t) -> auto& { return t.transfer.group_size; }, "group_size", "Ranks.");
    r.row_at(
        [](auto& t) -> auto& { return t.transfer.times_per_step; }, "times_per_step", "Calls.");
    r.row_at(
        [](auto& t) -> auto& { return t.transfer.payload; }, "payload_bytes",
        "The array handed to one call.");
    r.derived<double>("sent_per_step_bytes", kind::number(), "What one rank sends.",
                      [](const T& t) { return t.transfer.sent_per_step().value(); });
    r.derived<std::string>("formula", kind::text(), "Of the payload.",
                           [=](const T& t) { return text_of(t.transfer.formula); });
    return r.all_required();
  }();
  return record;
}

const Record<EngineStep>& engine_step_record() {
  return described([](Record<EngineStep>& r) {
    using S = EngineStep;
    r.about("What one attention group runs in one pass.");
    r.row<&S::decode_sequences>("Sequences with one new token.");
    r.row<&S::decode_context>("decode_context_tokens", "Their tokens in the cache.");
    r.row<&S::prefill_tokens>("New tokens of prompts.");
    r.row<&S::prefill_sequences>("Prompts.");
    r.row<&S::prefill_pairs>("Query-key pairs of a head.");
    r.all_required();
  });
}

}  // namespace

const Record<ReplicaLayout>& replica_layout_record() {
  return described([](Record<ReplicaLayout>& r) {
    using L = ReplicaLayout;
    r.about("How a replica's GPUs share the work.");
    r.row<&L::tensor_parallel_size>(IntRange{1, 100'000}, "Ranks that share a sequence's heads.");
    r.row<&L::pipeline_parallel_size>(IntRange{1, 100'000}, "Stages.");
    r.row<&L::data_parallel_size>(IntRange{1, 100'000}, "Attention's groups that step together.");
    r.row<&L::expert_parallel_size>(IntRange{1, 100'000}, "Ranks that share the experts.");
    r.row<&L::decode_context_parallel_size>(IntRange{1, 100'000},
                                            "Tensor ranks that share a context.");
    r.all_required();
  });
}

const Record<ReplicaOptions>& replica_options_record() {
  return described([](Record<ReplicaOptions>& r) {
    using O = ReplicaOptions;
    r.about("What the engine is started with.");
    r.row<&O::weights>(weight_scheme_record, "How weights are stored.");
    r.row<&O::kv_cache>(kKvCacheFormatNames, "Format of the cache.");
    r.row<&O::layout>(replica_layout_record, "Parallel sizes.");
    r.row<&O::exchange>("expert_exchange", kExpertExchangeNames,
                        "How tokens reach experts of other ranks.");
    r.row<&O::memory_fraction>(NumberRange{0.0, 1.0}, "Asked for; absent: the engine's default.");
    r.row<&O::max_num_seqs>(kServingCount, "Running sequences, at most.");
    r.row<&O::max_num_batched_tokens>(kServingCount, "Tokens of a step, at most.");
    r.row<&O::max_model_len>(kServingCount, "Tokens of a request.");
    r.row<&O::block_size>(kServingCount, "Tokens of a block of the cache.");
    r.row<&O::prompt_wait>(prompt_wait_record, "How prompts are held back.");
    r.omitted_at_default();
    r.row<&O::num_speculative_tokens>(kServingCount, "Drafts a step.");
    r.row<&O::enforce_eager>("No CUDA graphs.");
    r.row<&O::throughput_mode>("Its mode for throughput: larger defaults.");
    r.row<&O::role>(kPoolRoleNames, "What the pool does.");
    r.row<&O::max_cache_tokens>(kServingCount, "Tokens of the cache, at most.");
  });
}

const Record<ReplicaMemory>& replica_memory_record() {
  return described([](Record<ReplicaMemory>& r) {
    using M = ReplicaMemory;
    r.about("Memory of the rank that needs most, and what it holds of requests.");
    r.row<&M::device>("Memory that programs may use.");
    r.row<&M::fraction>(NumberRange{0.0, 1.0}, "The engine's memory fraction.");
    r.row<&M::weights>(replica_weights_record, "Weights.");
    r.row<&M::activations>("Peak of activations.");
    r.row<&M::outside>("CUDA's context and NCCL.");
    r.row<&M::graphs>("CUDA graphs.");
    r.row<&M::unused>("Left free.");
    r.row<&M::kv_cache>("Key-value cache.");
    r.row<&M::sequence>(sequence_cache_record, "Cache of a sequence.");
    r.row<&M::kv_blocks>("Blocks of one attention group.");
    r.row<&M::kv_tokens>("Tokens that they hold.");
    r.all_required();
  });
}

const Record<StepEstimate>& step_estimate_record() {
  static const Record<StepEstimate> record = [] {
    using S = StepEstimate;
    Record<S> r("Time of one step.");
    r.row<&S::step>(engine_step_record, "What runs.");
    r.row_at(
        [](auto& s) -> auto& { return s.time.total; }, "time_seconds",
        "From its start until its tokens are there.");
    r.row_at(
        [](auto& s) -> auto& { return s.time.interval; }, "interval_seconds",
        "Until the next may start.");
    r.row<&S::low>("Low end of the 90 % interval.");
    r.row<&S::high>("High end of it.");
    r.row<&S::relative_spread>("One standard deviation.");
    r.row<&S::provenance>(kProvenanceNames, "The weakest part's.");
    r.derived<std::vector<NamedStepTerm>>("terms", kind::list(step_term_record),
                                          "Parts that take time.", step_terms_of);
    r.row<&S::transfers>(serving_transfer_record, "What one rank sends.");
    return r.all_required();
  }();
  return record;
}

const Record<ServingEstimate>& serving_estimate_record() {
  return described([](Record<ServingEstimate>& r) {
    using E = ServingEstimate;
    r.about("Memory, largest batch and steps of one replica.");
    r.row<&E::options>(replica_options_record,
                       "What the engine is started with, defaults included.");
    r.row<&E::memory>(replica_memory_record, "Memory.");
    r.row<&E::fits>("Whether the cache holds one request.");
    r.row<&E::largest_batch>("Requests that run together, all data ranks.");
    r.row<&E::prefill>(step_estimate_record, "First chunk of one prompt alone.");
    r.row<&E::prefill_chunks>("Steps of one prompt.");
    r.row<&E::prefill_time>("All of them.");
    r.row<&E::decode>(step_estimate_record, "The batch at its mean context.");
    r.row<&E::tokens_per_second_per_user>("Of one sequence, prefills of others left out.");
    r.row<&E::tokens_per_second_per_gpu>("Output tokens, prefills left out.");
    r.all_required();
  });
}

}  // namespace meshwright
