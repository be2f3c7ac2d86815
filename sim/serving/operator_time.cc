// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/operator_time.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "sim/base/quadrature.h"
#include "sim/block/transfer_names.h"
#include "sim/collective/collective.h"
#include "sim/collective/collective_model.h"
#include "sim/kernel_time/gemm_model.h"
#include "sim/kernel_time/host.h"
#include "sim/serving/pooled_rates.h"
#include "sim/serving/weights.h"

namespace meshwright {
namespace {

// The rows' first that fits best: the same engine before another, the same format before another.
template <typename Rate, typename Distance>
const Rate* nearest_rate(const std::vector<Rate>& rates, Distance distance) {
  const Rate* best = nullptr;
  int least = 1'000'000'000;
  for (const Rate& rate : rates) {
    const int far = distance(rate);
    if (far >= 0 && far < least) {
      best = &rate;
      least = far;
    }
  }
  return best;
}

KvCacheFormat timed_format(KvCacheFormat format) {
  return format == KvCacheFormat::bf16 ? KvCacheFormat::bf16 : KvCacheFormat::fp8;
}

double streamed(const Device& device, double fraction) {
  return device.memory_bandwidth.value() * fraction;
}

FlopsPerSecond peak_rate(const Device& device, Precision precision) {
  return gemm_model_for(device, precision).peak;
}

FlopsPerSecond sixteen_bit_peak(const Device& device) {
  return peak_rate(device, served_precision(WeightFormat::bf16, device));
}

Layout layout_of_ranks(int ranks) {
  Layout layout;
  layout.tensor_parallel_size = ranks;
  return layout;
}
Placement placed_ranks(int ranks, const ServingCluster& cluster) {
  return place(Group::tensor, layout_of_ranks(ranks), cluster);
}

// Between two measured points the logarithm of the time is straight in that of the payload; below
// the first point the time is its, above the last the rate is. No message takes longer than a
// larger one, whose way it may go.
Seconds on_measured_curve(const std::vector<AllReducePoint>& points, Bytes payload) {
  if (payload >= points.back().payload) {
    return points.back().time * (payload / points.back().payload);
  }
  const auto above = std::lower_bound(
      points.begin(), points.end(), payload,
      [](const AllReducePoint& point, Bytes value) { return point.payload < value; });
  const auto larger = std::min_element(
      above, points.end(),
      [](const AllReducePoint& a, const AllReducePoint& b) { return a.time < b.time; });
  if (above == points.begin()) return larger->time;
  const AllReducePoint& b = *above;
  const AllReducePoint& a = *(above - 1);
  const double share = std::log(payload / a.payload) / std::log(b.payload / a.payload);
  return std::min(a.time * std::pow(b.time / a.time, share), larger->time);
}

const AllReduceCurve* measured_curve(int ranks, const Engine& engine,
                                     const ServingCluster& cluster) {
  if (ranks > cluster.gpus_per_node) return nullptr;
  return nearest_rate(cluster.inference.all_reduce, [&](const AllReduceCurve& curve) {
    return curve.group_size == ranks && curve.engine == engine.kind ? 0 : -1;
  });
}

// Tensor ranks and neighbours of a pipeline sit beside the replica's others; those of an exchange
// are all there are.
Placement placement_of(const Transfer& transfer, const ReplicaLayout& layout,
                       const ServingCluster& cluster) {
  const bool of_layout = transfer.group == Group::tensor || transfer.group == Group::pipeline;
  return of_layout ? place(transfer.group, dense_layout(layout), cluster)
                   : placed_ranks(transfer.group_size, cluster);
}

}  // namespace

Precision served_precision(WeightFormat format, const Device& device) {
  const Precision precision = product_precision(format);
  return device.kind == DeviceKind::cpu && precision == Precision::bf16 ? Precision::fp32
                                                                        : precision;
}

double served_bytes(const Device& device) {
  return bytes_per_element(served_precision(WeightFormat::bf16, device));
}

double read_weight_bytes(const WeightScheme& scheme, const Device& device) {
  return scheme.format == WeightFormat::bf16 ? served_bytes(device)
                                             : quantized_weight_bytes(scheme);
}

DecodeAttentionRate decode_rate(const InferenceRates& rates, EngineKind engine, AttentionForm form,
                                KvCacheFormat kv_cache) {
  const KvCacheFormat format = timed_format(kv_cache);
  const auto distance = [&](const DecodeAttentionRate& rate) {
    if (rate.form != form) return -1;
    return (rate.kv_cache == format ? 0 : 2) + (rate.engine == engine ? 0 : 1);
  };
  if (const auto* found = nearest_rate(rates.decode_attention, distance)) return *found;
  return *nearest_rate(pooled_rates().decode_attention, distance);
}

PrefillAttentionRate prefill_rate(const InferenceRates& rates, EngineKind engine,
                                  AttentionForm form, std::int64_t head_dim,
                                  KvCacheFormat kv_cache) {
  const KvCacheFormat format = timed_format(kv_cache);
  const auto distance = [&](const PrefillAttentionRate& rate) {
    if (rate.form != form) return -1;
    return (rate.kv_cache == format ? 0 : 1) + (rate.engine == engine ? 0 : 2) +
           4 * static_cast<int>(std::abs(rate.head_dim - head_dim));
  };
  if (const auto* found = nearest_rate(rates.prefill_attention, distance)) return *found;
  return *nearest_rate(pooled_rates().prefill_attention, distance);
}

ExpertRate expert_rate(const InferenceRates& rates, EngineKind engine, WeightFormat format,
                       ExpertSharding sharding) {
  // Formats whose kernels nobody timed stand beside those that multiply alike. Sharding counts
  // least: an engine's kernels for other shardings are still its own.
  const auto distance = [&](const ExpertRate& rate) {
    if (product_precision(rate.format) != product_precision(format)) return -1;
    return (rate.format == format ? 0 : 6) + (rate.engine == engine ? 0 : 3) +
           std::abs(static_cast<int>(rate.sharding) - static_cast<int>(sharding));
  };
  if (const auto* found = nearest_rate(rates.experts, distance)) return *found;
  if (const auto* found = nearest_rate(pooled_rates().experts, distance)) return *found;
  return pooled_rates().experts.front();
}

DispatchRate dispatch_rate(const InferenceRates& rates, int nodes) {
  const auto distance = [&](const DispatchRate& rate) { return std::abs(rate.nodes - nodes); };
  if (const auto* found = nearest_rate(rates.dispatch, distance)) return *found;
  return *nearest_rate(pooled_rates().dispatch, distance);
}

Seconds decode_attention_time(Bytes read, Flops work, const DecodeAttentionRate& rate,
                              const Device& device) {
  const Seconds memory = read / bytes_per_second(streamed(device, rate.bandwidth_fraction));
  const Seconds compute = work / (sixteen_bit_peak(device) * rate.compute_fraction);
  return rate.latency + overlapped(memory, compute);
}

Seconds prefill_attention_time(Flops work, double mean_keys, double blocks,
                               const PrefillAttentionRate& rate, const Device& device) {
  const double waves = blocks / device.num_multiprocessors;
  const double fill = mean_keys / (mean_keys + rate.ramp_keys) * waves / (waves + rate.tail_waves);
  return rate.latency + work / (sixteen_bit_peak(device) * (rate.fraction * fill));
}

Seconds expert_time(const ExpertWork& work, const ExpertRate& rate, const Device& device) {
  const Bytes moved = work.weights * (1.0 + rate.ramp_width / work.width) + work.activations;
  const Seconds memory = moved / bytes_per_second(streamed(device, rate.bandwidth_fraction));
  const FlopsPerSecond peak = peak_rate(device, served_precision(rate.format, device));
  const Seconds compute =
      work.products / (peak * rate.compute_fraction) * (1.0 + rate.ramp_rows / work.rows);
  return rate.latency + overlapped(memory, compute);
}

Cost expert_products_cost(double experts, const ExpertShape& shape, const WeightScheme& scheme,
                          const Device& device) {
  const auto whole = [](double size) {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(size)));
  };
  const std::int64_t rows = whole(shape.rows), h = whole(shape.hidden), w = whole(shape.width);
  const Cost up = linear_cost({1, rows, shape.gated ? 2 * w : w, h}, scheme, device);
  const Cost down = linear_cost({1, rows, h, w}, scheme, device);
  return times(up + down, experts);
}

Cost linear_cost(GemmShape shape, const WeightScheme& scheme, const Device& device) {
  const Precision precision = served_precision(scheme.format, device);
  if (scheme.format == WeightFormat::bf16) return gemm_cost(shape, precision, device);
  const GemmModel& model = gemm_model_for(device, precision);
  const double stored = quantized_weight_bytes(scheme);
  // What the product's own format would read of the weights, and what is read.
  const double weights = static_cast<double>(shape.batch) * static_cast<double>(shape.k) *
                         static_cast<double>(shape.n);
  const BytesPerSecond rate = bytes_per_second(streamed(device, device.memory_bandwidth_fraction));
  const Seconds own = gemm_traffic(shape, model.precision) / rate;
  const Seconds read = own + bytes(weights * (stored - bytes_per_element(model.precision))) / rate;
  const Seconds whole = gemm_model_time(shape, model, device) - device.kernel_launch;
  // time^3 = compute^3 + memory^3 (GemmModel): the memory's part is exchanged.
  const double compute_cubed =
      std::max(0.0, std::pow(whole.value(), 3.0) - std::pow(own.value(), 3.0));
  const Seconds compute = seconds(std::cbrt(compute_cubed));
  const bool same = model.precision == precision;
  return {device.kernel_launch + overlapped(compute, read), model.relative_spread,
          same ? model.provenance : Provenance::assumed};
}

std::string_view all_reduce_algorithm(Bytes payload, int ranks, const Engine& engine,
                                      const ServingCluster& cluster) {
  if (ranks <= 1) return "";
  const bool custom = engine.custom_all_reduce && ranks <= cluster.fast_domain() && ranks <= 8;
  if (!custom || payload > engine.custom_all_reduce_max) {
    return collective_algorithm(Collective::all_reduce, payload, placed_ranks(ranks, cluster),
                                cluster);
  }
  if (ranks == 2) return "one-shot";
  return payload < (ranks <= 4 ? engine.one_shot_at_4 : engine.one_shot_at_8) ? "one-shot"
                                                                              : "two-shot";
}

Seconds shot_all_reduce_time(Bytes payload, int ranks, const Link& link) {
  const double n = ranks;
  const Seconds one = kOneShotLatency + payload * (n - 1.0) / (link.bandwidth * kOneShotFraction);
  const Seconds two =
      kTwoShotLatency + payload * (2.0 * (n - 1.0) / n) / (link.bandwidth * kTwoShotFraction);
  return std::min(one, two);
}

Cost all_reduce_cost(Bytes payload, int ranks, const Engine& engine,
                     const ServingCluster& cluster) {
  if (ranks <= 1 || payload.value() <= 0.0) return {};
  if (const AllReduceCurve* curve = measured_curve(ranks, engine, cluster)) {
    return {on_measured_curve(curve->points, payload), curve->relative_spread, curve->provenance};
  }
  const Cost library =
      collective_cost(Collective::all_reduce, payload, placed_ranks(ranks, cluster), cluster);
  const bool custom = engine.custom_all_reduce && ranks <= cluster.fast_domain() && ranks <= 8;
  if (!custom) return library;
  const Seconds shots = shot_all_reduce_time(payload, ranks, cluster.intra_node);
  if (shots >= library.time) return library;
  return {shots, kShotSpread, Provenance::extrapolated};
}

ExpertExchange used_exchange(const ReplicaOptions& options, const ServingCluster& cluster) {
  if (options.exchange == ExpertExchange::automatic) {
    return ExpertExchange::all_gather_reduce_scatter;
  }
  if (options.exchange != ExpertExchange::nvlink_all_to_all) return options.exchange;
  const ReplicaLayout& l = options.layout;
  const int ranks = l.tensor_parallel_size * l.data_parallel_size;
  const bool has = cluster.inference.nvlink_all_to_all.has_value() &&
                   expert_sharding(l) == ExpertSharding::expert_parallel &&
                   ranks <= cluster.fast_domain();
  return has ? options.exchange : ExpertExchange::all_gather_reduce_scatter;
}

double ranks_of_token(double ranks, double topk) {
  return ranks * (1.0 - std::pow(1.0 - 1.0 / ranks, topk));
}

Cost transfer_cost(const Transfer& t, const ReplicaOptions& options, const Engine& engine,
                   const ServingCluster& cluster) {
  if (t.collective == Collective::all_reduce) {
    return all_reduce_cost(t.payload, t.group_size, engine, cluster);
  }
  const Placement placement = placement_of(t, options.layout, cluster);
  const auto kernel = [&](const DispatchRate& rate, Bytes moved) {
    const bool back = t.name == transfer_names::kTokenCombine;
    const BytesPerSecond reached =
        cluster.intra_node.bandwidth * (back ? rate.combine_fraction : rate.dispatch_fraction);
    return Cost{(back ? rate.combine_latency : rate.dispatch_latency) + moved / reached,
                rate.relative_spread, rate.provenance};
  };
  if (t.group == Group::expert) {
    const ExpertExchange exchange = used_exchange(options, cluster);
    if (exchange == ExpertExchange::deepep_low_latency) {
      return kernel(dispatch_rate(cluster.inference, placement.num_nodes), t.payload);
    }
    if (exchange == ExpertExchange::nvlink_all_to_all) {
      return kernel(*cluster.inference.nvlink_all_to_all, t.sent());
    }
  }
  return collective_cost(t.collective, t.payload, placement, cluster);
}

std::string_view transfer_algorithm(const Transfer& t, const ReplicaLayout& layout,
                                    const Engine& engine, const ServingCluster& cluster) {
  if (t.collective == Collective::send_recv) return "";
  if (t.collective == Collective::all_reduce) {
    return all_reduce_algorithm(t.payload, t.group_size, engine, cluster);
  }
  return collective_algorithm(t.collective, t.payload, placement_of(t, layout, cluster), cluster);
}

}  // namespace meshwright
