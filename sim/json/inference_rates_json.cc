// SPDX-License-Identifier: Apache-2.0
// Rates of inference engines' kernels as JSON: "inference" of a device.
#include <algorithm>

#include "sim/hardware/inference_rates.h"
#include "sim/json/serving_records.h"

namespace meshwright {
namespace {

constexpr NumberRange kRateShare{.low = 0.0, .high = 1.0, .low_excluded = true};

template <typename R>
void add_rate_engine(Record<R>& r) {
  r.row(&R::engine, "engine", kind::choice(kEngineKindNames), "Engine whose kernels these are.");
  r.required();
}
template <typename R>
void add_rate_origin(Record<R>& r) {
  r.row(&R::relative_spread, "relative_spread", kind::number(),
        "Error of the fit, one standard deviation.");
  r.row(&R::provenance, "provenance", kind::choice(kProvenanceNames),
        "Where the numbers come from.");
}

template <typename R>
void add_sequence_latency(Record<R>& r) {
  r.row(&R::sequence_latency, "sequence_latency", kind::amount<Seconds>(kMicroseconds),
        "Time of each sequence, whatever its length.");
  r.omitted_at_default();
}

const Record<DecodeAttentionRate>& decode_rate_record() {
  static const Record<DecodeAttentionRate> record = [] {
    using R = DecodeAttentionRate;
    Record<R> r("How fast attention of one new token a sequence reads the cache.");
    add_rate_engine(r);
    r.row(&R::form, "form", kind::choice(kAttentionFormNames),
          "Query groups, or one latent vector for all heads (MLA).");
    r.row(&R::kv_cache, "kv_cache", kind::choice(kKvCacheFormatNames), "Format of the cache.");
    r.row(&R::latency, "latency", kind::amount<Seconds>(kMicroseconds), "Time of an empty call.");
    r.row(&R::bandwidth_fraction, "bandwidth_fraction", kind::number(kRateShare),
          "Share of the memory bandwidth.");
    r.row(&R::compute_fraction, "compute_fraction", kind::number(kRateShare),
          "Share of the 16-bit peak.");
    r.row(&R::extra_keys, "extra_keys", kind::number(),
          "Keys that each sequence costs beside its context.");
    add_sequence_latency(r);
    add_rate_origin(r);
    return r;
  }();
  return record;
}

const Record<PrefillAttentionRate>& prefill_rate_record() {
  static const Record<PrefillAttentionRate> record = [] {
    using R = PrefillAttentionRate;
    Record<R> r("How fast attention of a prompt runs.");
    add_rate_engine(r);
    r.row(&R::form, "form", kind::choice(kAttentionFormNames),
          "Query groups, or one latent vector for all heads (MLA).");
    r.row(&R::head_dim, "head_dim", kind::integer({1, 65536}), "Width of a head.");
    r.row(&R::kv_cache, "kv_cache", kind::choice(kKvCacheFormatNames), "Format of the cache.");
    r.row(&R::latency, "latency", kind::amount<Seconds>(kMicroseconds), "Time of an empty call.");
    r.row(&R::fraction, "fraction", kind::number(kRateShare), "Share of the 16-bit peak.");
    r.row(&R::ramp_keys, "ramp_keys", kind::number(), "Keys at which half of it is reached.");
    r.row(&R::tail_waves, "tail_waves", kind::number(), "Waves of blocks that the tail costs.");
    add_sequence_latency(r);
    r.row(&R::hidden_pairs, "hidden_pairs", kind::flag(),
          "Pairs that the causal mask hides are computed, too.");
    r.omitted_at_default();
    add_rate_origin(r);
    return r;
  }();
  return record;
}

const Record<ExpertRate>& expert_rate_record() {
  static const Record<ExpertRate> record = [] {
    using R = ExpertRate;
    Record<R> r("How fast the routed experts of a layer run.");
    add_rate_engine(r);
    r.row(&R::format, "format", kind::choice(kWeightFormatNames), "Format of their weights.");
    r.row(&R::sharding, "sharding", kind::choice(kExpertShardingNames),
          "How experts lie over ranks: all on each, whole on some, or cut.")
        .omitted_at_default();
    r.row(&R::latency, "latency", kind::amount<Seconds>(kMicroseconds), "Time of an empty call.");
    r.row(&R::bandwidth_fraction, "bandwidth_fraction", kind::number(kRateShare),
          "Share of the memory bandwidth.");
    r.row(&R::compute_fraction, "compute_fraction", kind::number(kRateShare),
          "Share of the peak of the products' format.");
    r.row(&R::ramp_rows, "ramp_rows", kind::number(),
          "Tokens an expert at which products reach half of it.");
    r.row(&R::ramp_width, "ramp_width", kind::number(),
          "Width of an expert on a rank at which weights move at half of the bandwidth share.")
        .omitted_at_default();
    add_rate_origin(r);
    return r;
  }();
  return record;
}

constexpr PointTable kAllReducePoints{2, 2, "bytes, seconds"};

Kind<std::vector<AllReducePoint>> all_reduce_points() {
  return {
      .read =
          [](ObjectReader& reader, const std::string& key, std::vector<AllReducePoint>& points) {
            points.clear();
            for (const std::vector<double>& row : read_points(reader, key, kAllReducePoints)) {
              points.push_back({bytes(row[0]), seconds(row[1])});
            }
            std::stable_sort(points.begin(), points.end(),
                             [](const AllReducePoint& a, const AllReducePoint& b) {
                               return a.payload < b.payload;
                             });
            if (points.size() < 2) reader.fail(key, "must hold at least two points");
          },
      .write =
          [](Json& json, const std::string& key, const std::vector<AllReducePoint>& points) {
            Json& rows = json[key] = Json::array();
            for (const AllReducePoint& p : points) {
              rows.push_back(Json::array({p.payload.value(), p.time.value()}));
            }
          },
      .schema = [] { return points_schema(kAllReducePoints); }};
}

const Record<AllReduceCurve>& all_reduce_curve_record() {
  static const Record<AllReduceCurve> record = [] {
    using R = AllReduceCurve;
    Record<R> r("All-reduce of one engine's library inside a CUDA graph.");
    add_rate_engine(r);
    r.row(&R::group_size, "group_size", kind::integer({2, 100'000}), "Ranks.");
    r.required();
    add_rate_origin(r);
    r.row(&R::points, "points", all_reduce_points(), "Measured times by size of the message.");
    r.required();
    return r;
  }();
  return record;
}

const Record<DispatchRate>& dispatch_rate_record() {
  static const Record<DispatchRate> record = [] {
    using R = DispatchRate;
    Record<R> r("An exchange of tokens: DeepEP's low latency, or NVLink's all-to-all.");
    r.row(&R::nodes, "nodes", kind::integer({1, 100'000}), "Nodes that the ranks lie on.");
    r.row(&R::dispatch_latency, "dispatch_latency", kind::amount<Seconds>(kMicroseconds),
          "Time of an empty dispatch.");
    r.row(&R::dispatch_fraction, "dispatch_fraction", kind::number(kRateShare),
          "Share of the link's bandwidth.");
    r.row(&R::combine_latency, "combine_latency", kind::amount<Seconds>(kMicroseconds),
          "Time of an empty combine.");
    r.row(&R::combine_fraction, "combine_fraction", kind::number(kRateShare),
          "Share of the link's bandwidth.");
    add_rate_origin(r);
    return r;
  }();
  return record;
}

const Record<HostStepRate>& host_step_record() {
  static const Record<HostStepRate> record = [] {
    using R = HostStepRate;
    Record<R> r("What the trial's engine does on the host in a step, besides the layers.");
    r.row(&R::step, "step", kind::amount<Seconds>(kMicroseconds), "Time of each step.");
    r.row(&R::sequence, "sequence", kind::amount<Seconds>(kMicroseconds),
          "Time of each sequence that decodes.");
    r.row(&R::logit, "logit", kind::amount<Seconds>(kMicroseconds),
          "Time of each logit of a sequence that gets a token.");
    add_rate_origin(r);
    return r;
  }();
  return record;
}

const Record<CacheCopyRate>& cache_copy_record() {
  static const Record<CacheCopyRate> record = [] {
    using R = CacheCopyRate;
    Record<R> r("Copies of a prompt's cache from one rank to another in the trial's engine.");
    r.row(&R::latency, "latency", kind::amount<Seconds>(kMicroseconds), "Time of an empty one.");
    r.row(&R::rate, "rate", kind::amount<BytesPerSecond>(kGigabytesPerSecond),
          "Bytes a second between two ranks.");
    add_rate_origin(r);
    return r;
  }();
  return record;
}

const Record<ServedRemainder>& served_remainder_record() {
  static const Record<ServedRemainder> record = [] {
    using R = ServedRemainder;
    Record<R> r("A whole step of the trial's engine beside the sum of its parts.");
    r.row(&R::prompts, "prompts", kind::flag(), "A step of prompts; else one of decodes.");
    r.row(&R::tensor_parallel_size, "tensor_parallel_size", kind::integer({1, 100'000}),
          "Ranks that share each layer.");
    r.row(&R::pipeline_parallel_size, "pipeline_parallel_size", kind::integer({1, 100'000}),
          "Stages.");
    r.row(&R::rows, "rows", kind::number({.low = 0.0, .low_excluded = true}), "New tokens.");
    r.row(&R::share, "share", kind::number({kLeastRemainderShare, kMostRemainderShare}),
          "Remainder over the sum of the parts; below 0 where the step was faster.");
    r.row(&R::relative_spread, "relative_spread", kind::number(),
          "Of the whole step, one standard deviation.");
    return r.all_required();
  }();
  return record;
}

}  // namespace

const Record<InferenceRates>& inference_rates_record() {
  static const Record<InferenceRates> record = [] {
    using R = InferenceRates;
    Record<R> r("How fast the kernels of inference engines run on the device.");
    r.named("InferenceRates");
    r.row(&R::source, "source", kind::text(), "What the rates were fitted on.");
    r.row(&R::decode_attention, "decode_attention", kind::list(decode_rate_record),
          "Attention of one new token a sequence.");
    r.omitted_at_default();
    r.row(&R::prefill_attention, "prefill_attention", kind::list(prefill_rate_record),
          "Attention of a prompt.");
    r.omitted_at_default();
    r.row(&R::experts, "experts", kind::list(expert_rate_record), "Routed experts.");
    r.omitted_at_default();
    r.row(&R::all_reduce, "all_reduce", kind::list(all_reduce_curve_record), "Small all-reduces.");
    r.omitted_at_default();
    r.row(&R::dispatch, "dispatch", kind::list(dispatch_rate_record), "Exchange of tokens.");
    r.omitted_at_default();
    r.row(&R::nvlink_all_to_all, "nvlink_all_to_all",
          kind::optional(kind::object(dispatch_rate_record)),
          "TensorRT-LLM's exchange of tokens in one NVLink domain.");
    r.row(&R::host_step, "host_step", kind::optional(kind::object(host_step_record)), "");
    r.row(&R::cache_copy, "cache_copy", kind::optional(kind::object(cache_copy_record)), "");
    r.row(&R::step_remainders, "step_remainders", kind::list(served_remainder_record),
          "Whole steps beside the sums of their parts.");
    r.omitted_at_default();
    return r;
  }();
  return record;
}

InferenceRates inference_rates_from_json(const Json& json, const std::string& file,
                                         const std::string& pointer) {
  return inference_rates_record().read(json, file, pointer);
}

}  // namespace meshwright
