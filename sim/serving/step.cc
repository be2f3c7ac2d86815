// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/step.h"

#include <algorithm>
#include <cmath>

#include "sim/base/quadrature.h"
#include "sim/kernel_time/host.h"

namespace meshwright {
namespace {

// Keys that attention reads, and in front of it all keys of an indexer.
Seconds decode_layer_seconds(const ReplicaCost& cost, const EngineStep& step,
                             const AttendingLayers& layer) {
  const DecodeAttentionRate& rate = cost.decode_rate;
  const double sequences = step.decode_sequences;
  const double passes = 1.0 + cost.drafts;
  const double mean = step.decode_context / sequences;
  const double keys = layer.keys(mean) * sequences;
  const Bytes read = cost.decode_key * (keys + rate.extra_keys * sequences) +
                     cost.decode_query * (sequences * passes);
  const Flops work = cost.decode_pair * (keys * passes);
  const Seconds memory = read / (cost.memory_bandwidth * rate.bandwidth_fraction);
  const Seconds compute = work / (cost.device_peak * rate.compute_fraction);
  Seconds sum = rate.latency + rate.sequence_latency * sequences + overlapped(memory, compute);
  if (layer.index_key > bytes(0)) {
    const double scanned = step.decode_context / layer.seen.rate;
    const Seconds scan = layer.index_key * scanned / (cost.memory_bandwidth * rate.index_fraction);
    const Seconds scores = layer.index_pair * (scanned * passes) / cost.device_peak;
    sum += rate.index_latency + overlapped(scan, scores);
  }
  return sum;
}

Seconds decode_attention_seconds(const ReplicaCost& cost, const EngineStep& step) {
  const double sequences = step.decode_sequences;
  Seconds sum;
  for (const AttendingLayers& layer : cost.attending) {
    sum += decode_layer_seconds(cost, step, layer) * layer.layers;
  }
  if (cost.linear_layers > 0) {
    const Bytes moved = cost.decode_state * (sequences * (1.0 + cost.drafts));
    const auto& rate = cost.decode_rate;
    sum += (rate.latency + rate.sequence_latency * sequences +
            moved / (cost.memory_bandwidth * rate.bandwidth_fraction)) *
           cost.linear_layers;
  }
  return sum;
}

Seconds prefill_attention_seconds(const ReplicaCost& cost, const EngineStep& step) {
  const double tokens = step.prefill_tokens;
  const double blocks = cost.heads * std::max(step.prefill_sequences, std::ceil(tokens / 128.0));
  const double waves = blocks / cost.multiprocessors;
  const PrefillAttentionRate& rate = cost.prefill_rate;
  const double sequences = std::max(1.0, step.prefill_sequences);
  const double hidden = rate.hidden_pairs ? tokens * tokens / (2.0 * sequences) : 0.0;
  const auto attention = [&](double seen, Flops pair) {
    const double pairs = seen + hidden;
    const double keys = pairs / tokens;
    const double fill = keys / (keys + rate.ramp_keys) * waves / (waves + rate.tail_waves);
    return rate.latency + rate.sequence_latency * sequences +
           pair * pairs / (cost.device_peak * (rate.fraction * fill));
  };
  Seconds sum;
  for (const AttendingLayers& layer : cost.attending) {
    const double all = step.prefill_pairs;
    const auto [window, rate_of_entries, most] = layer.seen;
    double seen = std::min(all, window * tokens);
    if (rate_of_entries > 0) {
      const double entries = all / rate_of_entries;
      seen += most > 0 ? std::min(entries, most * tokens) : entries;
    }
    Seconds one =
        attention(seen, cost.sparse_pair > flops(0) ? cost.sparse_pair : cost.prefill_pair);
    // Short contexts are attended whole, masked, by narrower products.
    if (cost.sparse_pair > flops(0)) one = std::min(one, attention(all, cost.prefill_pair));
    if (layer.index_pair > flops(0)) {
      one += rate.latency +
             layer.index_pair * (all / rate_of_entries) / (cost.device_peak * rate.fraction);
    }
    sum += one * layer.layers;
  }
  if (cost.linear_layers > 0) {
    sum += (rate.latency + cost.prefill_scan * tokens) * cost.linear_layers;
  }
  return sum;
}

int padded_rows(const ReplicaCost& cost, int rows) {
  return cost.pads_to_graph ? next_graph_size(rows, cost.graphs, cost.graph_most) : rows;
}

// Of a step with both kinds of rows, weighted by them.
RowRemainder step_remainder(const ReplicaCost& cost, double decodes, double prompts) {
  if (prompts <= 0.0) return remainder_at(cost.decode_remainders, decodes);
  const RowRemainder p = remainder_at(cost.prompt_remainders, prompts);
  if (decodes <= 0.0) return p;
  const RowRemainder d = remainder_at(cost.decode_remainders, decodes);
  const double way = prompts / (decodes + prompts);
  return {decodes + prompts, d.share + way * (p.share - d.share),
          d.relative_spread + way * (p.relative_spread - d.relative_spread)};
}

}  // namespace

RowRemainder remainder_at(const std::vector<RowRemainder>& remainders, double rows) {
  if (remainders.empty()) return {};
  if (rows <= remainders.front().rows) return remainders.front();
  if (rows >= remainders.back().rows) return remainders.back();
  const auto above =
      std::lower_bound(remainders.begin(), remainders.end(), rows,
                       [](const RowRemainder& one, double value) { return one.rows < value; });
  const RowRemainder &b = *above, &a = *(above - 1);
  const double way = std::log(rows / a.rows) / std::log(b.rows / a.rows);
  return {rows, a.share + way * (b.share - a.share),
          a.relative_spread + way * (b.relative_spread - a.relative_spread)};
}

ReplicaCost on_host(ReplicaCost cost, const HostTimeRatios& ratios) {
  const auto slow = [](std::vector<RowRemainder>& remainders, double ratio) {
    if (remainders.empty()) remainders.emplace_back();
    for (RowRemainder& one : remainders) one.share = (1.0 + one.share) * ratio - 1.0;
  };
  slow(cost.decode_remainders, ratios.decode);
  slow(cost.prompt_remainders, ratios.prompt);
  return cost;
}

StepTime step_time(const ReplicaCost& cost, const EngineStep& step) {
  StepTime time;
  const auto at = [&](StepTerm term) -> Seconds& {
    return time.terms[static_cast<std::size_t>(term)];
  };
  const double passes = 1.0 + cost.drafts;
  const double decodes = step.decode_sequences * passes;
  double rows = decodes + step.prefill_tokens;
  if (rows <= 0.0) return time;
  // Steps with prompts run in pieces, whose sizes engines pad as well; above the largest size every
  // kernel is launched by itself.
  const bool graph = !cost.eager && rows <= cost.graph_most;
  if (graph && step.prefill_tokens == 0.0)
    rows = padded_rows(cost, static_cast<int>(std::ceil(rows)));
  const double sampled = decodes + step.prefill_sequences;

  const RowPosition here = row_position(rows);
  at(StepTerm::linears) = seconds(cost.linears.at(here));
  at(StepTerm::small_kernels) = seconds(cost.small_kernels.at(here));
  at(StepTerm::experts) = seconds(cost.experts.at(here));
  at(StepTerm::all_reduce) = seconds(cost.all_reduce.at(here));
  at(StepTerm::exchange) = seconds(cost.exchange.at(here));
  at(StepTerm::head) = seconds(cost.head.at(sampled));
  if (step.decode_sequences > 0) {
    at(StepTerm::decode_attention) = decode_attention_seconds(cost, step);
    if (cost.context_ranks > 1) {
      at(StepTerm::context_exchange) = seconds(cost.context_exchange.at(decodes));
    }
    if (cost.drafts > 0) {
      // A draft's layer is one of the first kind.
      const Seconds attention = cost.attending.empty()
                                    ? Seconds{}
                                    : decode_layer_seconds(cost, step, cost.attending.front());
      at(StepTerm::drafts) = (seconds(cost.draft.at(step.decode_sequences)) + attention) *
                             static_cast<double>(cost.drafts);
    }
  }
  if (step.prefill_tokens > 0)
    at(StepTerm::prefill_attention) = prefill_attention_seconds(cost, step);
  at(StepTerm::pipeline) = seconds(cost.send.at(here)) * (cost.stages - 1.0);

  // A mixed step's kernels do both kinds of rows at once: the factors are weighted by rows.
  const double prompts = step.prefill_tokens / (decodes + step.prefill_tokens);
  const double factor = cost.time_factor + prompts * (cost.prefill_factor - cost.time_factor);
  Seconds kernels;
  for (Seconds& term : time.terms) {
    term *= factor;
    kernels += term;
  }
  Seconds host = cost.host_step + cost.host_sequence * step.decode_sequences +
                 cost.host_sample * sampled + cost.host_prompt_token * step.prefill_tokens;
  // The GPU waits where launches take longer than kernels.
  if (!graph) host += std::max(seconds(0), cost.host_eager - kernels);
  at(StepTerm::host) = host;
  time.total = kernels + host;
  const RowRemainder remainder = step_remainder(cost, decodes, step.prefill_tokens);
  time.remainder_spread = remainder.relative_spread;
  if (remainder.share != 0.0) {
    for (Seconds& term : time.terms) term *= 1.0 + remainder.share;
    time.total *= 1.0 + remainder.share;
  }
  time.interval = time.total / static_cast<double>(cost.stages);
  return time;
}

double step_spread(const ReplicaCost& cost, const StepTime& time) {
  // A whole step was timed: how it moved says more than its parts. The engine's own spread is what
  // the host moves by until a service runs.
  if (time.remainder_spread > 0.0) {
    return std::max(cost.least_spread, in_quadrature(time.remainder_spread, cost.own_spread));
  }
  double square = 0.0;
  for (std::size_t i = 0; i < kNumStepTerms; ++i) {
    const double part = time.terms[i] / time.total * cost.spread[i];
    square += part * part;
  }
  const double spread = in_quadrature(std::sqrt(square), cost.own_spread);
  return std::max(cost.least_spread, cost.spread_ratio * spread);
}

Provenance step_provenance(const ReplicaCost& cost, const StepTime& time) {
  Provenance worst = Provenance::measured;
  for (std::size_t i = 0; i < kNumStepTerms; ++i) {
    if (time.terms[i].value() > 0.0) worst = weakest(worst, cost.provenance[i]);
  }
  return worst;
}

Seconds decode_interval(const ReplicaCost& cost, double sequences, double context) {
  return step_time(cost, decode_step(sequences / cost.stages, context)).total;
}

}  // namespace meshwright
