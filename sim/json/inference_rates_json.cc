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
  r.template row<&R::engine>(kEngineKindNames, "Engine whose kernels these are.");
  r.required();
}
template <typename R>
void add_rate_origin(Record<R>& r) {
  r.template row<&R::relative_spread>("Error of the fit, one standard deviation.");
  r.template row<&R::provenance>(kProvenanceNames, "Where the numbers come from.");
}

template <typename R>
void add_sequence_latency(Record<R>& r) {
  r.template row<&R::sequence_latency>(kMicroseconds,
                                       "Time of each sequence, whatever its length.");
  r.omitted_at_default();
}

const Record<DecodeAttentionRate>& decode_rate_record() {
  return described([](Record<DecodeAttentionRate>& r) {
    using R = DecodeAttentionRate;
    r.about("How fast attention of one new token a sequence reads the cache.");
    add_rate_engine(r);
    r.row<&R::form>(kAttentionFormNames, "Query groups, or one latent vector for all heads (MLA).");
    r.row<&R::kv_cache>(kKvCacheFormatNames, "Format of the cache.");
    r.row<&R::latency>(kMicroseconds, "Time of an empty call.");
    r.row<&R::bandwidth_fraction>(kRateShare, "Share of the memory bandwidth.");
    r.row<&R::compute_fraction>(kRateShare, "Share of the 16-bit peak.");
    r.row<&R::extra_keys>("Keys that each sequence costs beside its context.");
    r.row<&R::index_fraction>(kRateShare,
                              "Share of the memory bandwidth at which an indexer finds entries.");
    r.omitted_at_default();
    r.row<&R::index_latency>(kMicroseconds, "Time of an indexer's empty calls.");
    r.omitted_at_default();
    add_sequence_latency(r);
    add_rate_origin(r);
  });
}

const Record<PrefillAttentionRate>& prefill_rate_record() {
  return described([](Record<PrefillAttentionRate>& r) {
    using R = PrefillAttentionRate;
    r.about("How fast attention of a prompt runs.");
    add_rate_engine(r);
    r.row<&R::form>(kAttentionFormNames, "Query groups, or one latent vector for all heads (MLA).");
    r.row<&R::head_dim>(IntRange{1, 65536}, "Width of a head.");
    r.row<&R::kv_cache>(kKvCacheFormatNames, "Format of the cache.");
    r.row<&R::latency>(kMicroseconds, "Time of an empty call.");
    r.row<&R::fraction>(kRateShare, "Share of the 16-bit peak.");
    r.row<&R::ramp_keys>("Keys at which half of it is reached.");
    r.row<&R::tail_waves>("Waves of blocks that the tail costs.");
    add_sequence_latency(r);
    r.row<&R::hidden_pairs>("Pairs that the causal mask hides are computed, too.");
    r.omitted_at_default();
    add_rate_origin(r);
  });
}

const Record<ExpertRate>& expert_rate_record() {
  return described([](Record<ExpertRate>& r) {
    using R = ExpertRate;
    r.about("How fast the routed experts of a layer run.");
    add_rate_engine(r);
    r.row<&R::format>(kWeightFormatNames, "Format of their weights.");
    r.row<&R::sharding>(kExpertShardingNames,
                        "How experts lie over ranks: all on each, whole on some, or cut.")
        .omitted_at_default();
    r.row<&R::latency>(kMicroseconds, "Time of an empty call.");
    r.row<&R::bandwidth_fraction>(kRateShare, "Share of the memory bandwidth.");
    r.row<&R::compute_fraction>(kRateShare, "Share of the peak of the products' format.");
    r.row<&R::ramp_rows>("Tokens an expert at which products reach half of it.");
    r.row<&R::ramp_width>(
         "Width of an expert on a rank at which weights move at half of the bandwidth share.")
        .omitted_at_default();
    add_rate_origin(r);
  });
}

constexpr PointTable kAllReducePoints{2, 2, "bytes, seconds"};

Kind<std::vector<AllReducePoint>> all_reduce_points() {
  return {
      {.read =
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
       .schema = [] { return points_schema(kAllReducePoints); }}};
}

const Record<AllReduceCurve>& all_reduce_curve_record() {
  return described([](Record<AllReduceCurve>& r) {
    using R = AllReduceCurve;
    r.about("All-reduce of one engine's library inside a CUDA graph.");
    add_rate_engine(r);
    r.row<&R::group_size>(IntRange{2, 100'000}, "Ranks.");
    r.required();
    add_rate_origin(r);
    r.row<&R::points>(all_reduce_points(), "Measured times by size of the message.");
    r.required();
  });
}

const Record<DispatchRate>& dispatch_rate_record() {
  return described([](Record<DispatchRate>& r) {
    using R = DispatchRate;
    r.about("An exchange of tokens: DeepEP's low latency, or NVLink's all-to-all.");
    r.row<&R::nodes>(IntRange{1, 100'000}, "Nodes that the ranks lie on.");
    r.row<&R::dispatch_latency>(kMicroseconds, "Time of an empty dispatch.");
    r.row<&R::dispatch_fraction>(kRateShare, "Share of the link's bandwidth.");
    r.row<&R::combine_latency>(kMicroseconds, "Time of an empty combine.");
    r.row<&R::combine_fraction>(kRateShare, "Share of the link's bandwidth.");
    add_rate_origin(r);
  });
}

const Record<HostStepRate>& host_step_record() {
  return described([](Record<HostStepRate>& r) {
    using R = HostStepRate;
    r.about("What the trial's engine does on the host in a step, besides the layers.");
    r.row<&R::step>(kMicroseconds, "Time of each step.");
    r.row<&R::sequence>(kMicroseconds, "Time of each sequence that decodes.");
    r.row<&R::logit>(kMicroseconds, "Time of each logit of a sequence that gets a token.");
    add_rate_origin(r);
  });
}

const Record<CacheCopyRate>& cache_copy_record() {
  return described([](Record<CacheCopyRate>& r) {
    using R = CacheCopyRate;
    r.about("Copies of a prompt's cache from one rank to another in the trial's engine.");
    r.row<&R::latency>(kMicroseconds, "Time of an empty one.");
    r.row<&R::rate>(kGigabytesPerSecond, "Bytes a second between two ranks.");
    add_rate_origin(r);
  });
}

const Record<ServedRemainder>& served_remainder_record() {
  return described([](Record<ServedRemainder>& r) {
    using R = ServedRemainder;
    r.about("A whole step of the trial's engine beside the sum of its parts.");
    r.row<&R::prompts>("A step of prompts; else one of decodes.");
    r.row<&R::tensor_parallel_size>(IntRange{1, 100'000}, "Ranks that share each layer.");
    r.row<&R::pipeline_parallel_size>(IntRange{1, 100'000}, "Stages.");
    r.row<&R::rows>(NumberRange{.low = 0.0, .low_excluded = true}, "New tokens.");
    r.row<&R::share>(NumberRange{kLeastRemainderShare, kMostRemainderShare},
                     "Remainder over the sum of the parts; below 0 where the step was faster.");
    r.row<&R::relative_spread>("Of the whole step, one standard deviation.");
    r.all_required();
  });
}

}  // namespace

const Record<InferenceRates>& inference_rates_record() {
  return described([](Record<InferenceRates>& r) {
    using R = InferenceRates;
    r.about("How fast the kernels of inference engines run on the device.");
    r.named("InferenceRates");
    r.row<&R::source>("What the rates were fitted on.");
    r.row<&R::decode_attention>(decode_rate_record, "Attention of one new token a sequence.");
    r.omitted_at_default();
    r.row<&R::prefill_attention>(prefill_rate_record, "Attention of a prompt.");
    r.omitted_at_default();
    r.row<&R::experts>(expert_rate_record, "Routed experts.");
    r.omitted_at_default();
    r.row<&R::all_reduce>(all_reduce_curve_record, "Small all-reduces.");
    r.omitted_at_default();
    r.row<&R::dispatch>(dispatch_rate_record, "Exchange of tokens.");
    r.omitted_at_default();
    r.row<&R::nvlink_all_to_all>(dispatch_rate_record,
                                 "TensorRT-LLM's exchange of tokens in one NVLink domain.");
    r.row<&R::host_step>(host_step_record);
    r.row<&R::cache_copy>(cache_copy_record);
    r.row<&R::step_remainders>(served_remainder_record,
                               "Whole steps beside the sums of their parts.");
    r.omitted_at_default();
  });
}

InferenceRates inference_rates_from_json(const Json& json, const std::string& file,
                                         const std::string& pointer) {
  return inference_rates_record().read(json, file, pointer);
}

}  // namespace meshwright
