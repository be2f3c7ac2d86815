// SPDX-License-Identifier: Apache-2.0
// Time of one step of an engine: the decodes of running sequences and the prompts beside them in
// one pass.
//
// Linear layers, experts and all-reduces run once over all rows of the step; attention alone adds
// up (chunked prefill: vLLM, arXiv 2308.16369). What depends on rows alone is tabled when a
// ReplicaCost is made, so that a step costs a few look-ups: about 100 ns.
#pragma once

#include <array>
#include <vector>

#include "sim/block/indexer.h"
#include "sim/hardware/inference_rates.h"
#include "sim/serving/engine.h"
#include "sim/serving/kv_cache.h"
#include "sim/serving/operator_time.h"
#include "sim/serving/row_table.h"

namespace meshwright {

// What one group of tensor ranks runs in one pass. With data ranks each has its own; the slowest
// sets the pace.
struct EngineStep {
  double decode_sequences = 0;  // each with one new token, and its drafts
  double decode_context = 0;    // tokens in the cache of all of them together
  double prefill_tokens = 0;    // new tokens of prompts
  double prefill_sequences = 0;
  double prefill_pairs = 0;  // query-key pairs of a head: sum of T (P + T / 2) over the prompts
};
// Decodes of `sequences` at this context each.
constexpr EngineStep decode_step(double sequences, double context) {
  return {sequences, sequences * context, 0, 0, 0};
}
// `sequences` prompts of `tokens` new tokens behind `prior` cached ones.
constexpr EngineStep prefill_step(double sequences, double tokens, double prior = 0) {
  return {0, 0, sequences * tokens, sequences, sequences * tokens * (prior + tokens / 2)};
}
constexpr EngineStep operator+(const EngineStep& a, const EngineStep& b) {
  return {a.decode_sequences + b.decode_sequences, a.decode_context + b.decode_context,
          a.prefill_tokens + b.prefill_tokens, a.prefill_sequences + b.prefill_sequences,
          a.prefill_pairs + b.prefill_pairs};
}

enum class StepTerm {
  linears,        // products of attention's projections, MLP, shared experts, router
  small_kernels,  // norms, activations, rotary embedding, quantization
  prefill_attention,
  decode_attention,
  experts,
  all_reduce,        // of tensor ranks, and the embedding's
  exchange,          // of tokens between ranks of experts
  context_exchange,  // of partial attention between decode context ranks
  head,              // logits, their gather, sampling
  drafts,            // passes of multi-token prediction
  pipeline,          // sends between stages
  host               // that the GPU waits for
};
inline constexpr std::array kStepTermNames{
    EnumName{StepTerm::linears, "linears"},
    EnumName{StepTerm::small_kernels, "small_kernels"},
    EnumName{StepTerm::prefill_attention, "prefill_attention"},
    EnumName{StepTerm::decode_attention, "decode_attention"},
    EnumName{StepTerm::experts, "experts"},
    EnumName{StepTerm::all_reduce, "all_reduce"},
    EnumName{StepTerm::exchange, "exchange"},
    EnumName{StepTerm::context_exchange, "context_exchange"},
    EnumName{StepTerm::head, "head"},
    EnumName{StepTerm::drafts, "drafts"},
    EnumName{StepTerm::pipeline, "pipeline"},
    EnumName{StepTerm::host, "host"}};
constexpr std::string_view name_of(StepTerm v) { return name_in(kStepTermNames, v); }
inline constexpr std::size_t kNumStepTerms = kStepTermNames.size();

struct StepTime {
  std::array<Seconds, kNumStepTerms> terms{};
  double remainder_spread = 0.0;  // of a step whose remainder was measured
  Seconds total{};                // from its start until its tokens are there, all stages
  Seconds interval{};             // until the next one may start: the slowest stage
  [[nodiscard]] Seconds operator[](StepTerm term) const {
    return terms[static_cast<std::size_t>(term)];
  }
};

// A measured remainder at so many rows (ServedRemainder).
struct RowRemainder {
  double rows = 1, share = 0.0, relative_spread = 0.0;
};
// Between two rows straight in the logarithm of the rows; that of the nearest outside. None: 0.
RowRemainder remainder_at(const std::vector<RowRemainder>& remainders, double rows);

// Layers of a replica that see their context alike.
struct AttendingLayers {
  double layers = 0;
  SeenEntries seen{};
  Bytes index_key{};  // an entry as an indexer reads it; index_pair: a query and an entry
  Flops index_pair{};
  // Positions and entries that a query behind so many tokens sees.
  [[nodiscard]] double keys(double tokens) const {
    const double near = seen.window < tokens ? seen.window : tokens;
    if (seen.rate <= 0) return near;
    const double entries = tokens / seen.rate;
    return near + (seen.most > 0 && seen.most < entries ? seen.most : entries);
  }
};

// What a replica's steps cost, made once for a model, an engine, a layout and a device. Immutable
// and safe to share.
struct ReplicaCost {
  // Whole model, by rows of one group of tensor ranks.
  RowTable linears{}, small_kernels{}, all_reduce{}, exchange{}, experts{};
  RowTable head{};              // by rows that logits are made of
  RowTable draft{};             // one pass of multi-token prediction without attention, by rows
  RowTable context_exchange{};  // by sequences
  RowTable send{};              // one message between stages

  DecodeAttentionRate decode_rate{};
  PrefillAttentionRate prefill_rate{};
  Bytes decode_key{};    // of one token in one layer of a rank, as attention reads it
  Bytes decode_query{};  // query and output of one sequence in one layer
  Flops decode_pair{};   // of one sequence and one key in one layer of a rank
  Flops prefill_pair{};  // of one query and one key in one layer of a rank
  Flops sparse_pair{};   // the same where kernels read chosen positions; 0: they do not
  double heads = 1;      // of a rank
  std::vector<AttendingLayers> attending{};
  double linear_layers = 0;      // delta nets
  Bytes decode_state{};          // that one sequence's states in one layer move
  Seconds prefill_scan{};        // of one prompt token in one layer
  FlopsPerSecond device_peak{};  // 16-bit
  BytesPerSecond memory_bandwidth{};
  double multiprocessors = 1;
  double context_ranks = 1;

  Seconds host_step{}, host_sequence{}, host_eager{};  // eager: launches of a step without a graph
  Seconds host_prompt_token{};
  Seconds host_sample{};  // of each sequence that gets a token, where the host takes it
  int stages = 1;
  int data_ranks = 1;
  int drafts = 0;
  int graph_most = 0;
  bool eager = false;
  double time_factor = 1.0, prefill_factor = 1.0;  // for rows of decodes, of prompts
  std::array<double, kNumStepTerms> spread{};
  std::array<Provenance, kNumStepTerms> provenance{};
  double own_spread = 0.0;    // of a whole step, what the engine's fit left
  double spread_ratio = 1.0;  // of the whole spread, as results of this engine taught it
  double least_spread = 0.0;  // what repeats of one configuration differ by
  std::vector<GraphRange> graphs{};
  bool pads_to_graph = true;
  std::vector<RowRemainder> decode_remainders{}, prompt_remainders{};  // rows ascend
};

// How many times as long as predicted a host takes for steps that only decode, and for prompts.
struct HostTimeRatios {
  double decode = 1.0, prompt = 1.0;
  bool operator==(const HostTimeRatios&) const = default;
};
// Steps of that host. In a step with both kinds of rows the ratios are weighted by them.
ReplicaCost on_host(ReplicaCost cost, const HostTimeRatios& ratios);

StepTime step_time(const ReplicaCost& cost, const EngineStep& step);
// Relative standard deviation of a step, from those of its terms and of the engine's fit; where
// results of the engine were learnt from, their share of it, and no less than repeats differ by.
double step_spread(const ReplicaCost& cost, const StepTime& time);
Provenance step_provenance(const ReplicaCost& cost, const StepTime& time);

// Time between two tokens of a request while `sequences` run and nothing else: with stages each
// takes its share of them, and a sequence gets a token when all stages have passed.
Seconds decode_interval(const ReplicaCost& cost, double sequences, double context);

}  // namespace meshwright
