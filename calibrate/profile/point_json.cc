// SPDX-License-Identifier: Apache-2.0
// The rows of a measured point: those of its kind, and those of the time that it took.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <variant>

#include "calibrate/profile/profile_json.h"

namespace meshwright::calibrate {
namespace {

constexpr IntRange kRankFromZero{.low = 0};

const Record<KernelSizes>& sizes_record() {
  return described([](Record<KernelSizes>& r) {
    using S = KernelSizes;
    r.about("Sizes of the model whose kernel was timed.");
    r.row<&S::positions>("Tokens of a sequence.").required();
    r.row<&S::batch>("Sequences.").required();
    r.row<&S::hidden>("Hidden size.").required();
    r.row<&S::ffn>("Width of the MLP.").required();
    r.row<&S::heads>("Attention heads.").required();
    r.row<&S::vocab>("Tokens of the vocabulary.").required();
    r.row<&S::gated>("The activation is swiglu, else gelu.");
    r.omitted_at_default();
  });
}

const Record<AttentionShape>& attention_shape_record() {
  return described([](Record<AttentionShape>& r) {
    using A = AttentionShape;
    r.about("Shape of a fused attention.");
    r.row<&A::batch>("Sequences.").required();
    r.row<&A::heads>("Query heads.").required();
    r.row<&A::query_groups>("Key-value heads.").required();
    r.row<&A::positions>("Tokens of a sequence.").required();
    r.row<&A::head_dim>("Width of a head.").required();
    r.row<&A::causal>("The masked half is skipped.");
    r.row<&A::backward>("The backward pass was timed.");
    r.row<&A::version>(IntRange{0, 9},
                       "Version of FlashAttention; 0: the fastest kernel of the day.");
  });
}

const Record<PagedAttentionShape>& paged_attention_record() {
  return described([](Record<PagedAttentionShape>& r) {
    using P = PagedAttentionShape;
    r.about("Shape of attention over a paged cache on one tensor rank.");
    r.row<&P::sequences>("Sequences of the pass.").required();
    r.row<&P::rows>("New tokens of each.").required();
    r.row<&P::cached>(kRankFromZero, "Tokens of each in the cache.").required();
    r.row<&P::heads>("Query heads.").required();
    r.row<&P::query_groups>("Key-value heads.").required();
    r.row<&P::head_dim>("Width of a head's key.").required();
    const auto latent = [&r](std::int64_t P::*member, const char* key, const char* about) {
      r.row(member, key, kind::wide_integer(kRankFromZero), about).omitted_at_default();
    };
    latent(&P::latent_rank, "latent_rank", "Numbers of a latent; 0: keys and values are cached.");
    latent(&P::rotary_dim, "rotary_dim", "Numbers of a rotary key beside a latent.");
    latent(&P::value_dim, "value_dim", "Width of a head's value where latents are cached.");
  });
}

const Record<EngineStepShape>& engine_step_record() {
  return described([](Record<EngineStepShape>& r) {
    using E = EngineStepShape;
    r.about("A step of the trial's inference engine around a model without layers.");
    r.row<&E::sequences>("Sequences that decode.").required();
    r.row<&E::vocab>("Logits of each.").required();
  });
}

const Record<CacheCopyShape>& cache_copy_shape_record() {
  return described([](Record<CacheCopyShape>& r) {
    using C = CacheCopyShape;
    r.about("A prompt's cache that goes from one rank to another.");
    r.row<&C::tokens>("Of the prompt.").required();
    r.row<&C::layers>("Of the model.").required();
    r.row<&C::groups>("Key-value heads.").required();
    r.row<&C::key_width>("Numbers of a key, or of a latent.").required();
    r.row<&C::value_width>(kRankFromZero, "Numbers of a value, or of a rotary key.").required();
  });
}

// Five digits: more than any clock here repeats, and a profile stays small.
double rounded(double value) { return std::strtod(fmt::format("{:.5g}", value).c_str(), nullptr); }

Kind<double> rounded_number(NumberRange range = kNotNegative) {
  return kind::number(range).with(
      {.write = [](Json& json, const std::string& key, const double& value) {
        json[key] = rounded(value);
      }});
}
Kind<Seconds> rounded_seconds(NumberRange range = kNotNegative) {
  return kind::of_number<Seconds>(rounded_number(range));
}

const Record<ServedStepShape>& served_step_record() {
  return described([](Record<ServedStepShape>& r) {
    using S = ServedStepShape;
    r.about("A whole step of the trial's inference engine.");
    r.row<&S::prompts>("A step of prompts; else one of decodes.");
    r.row<&S::model>("Name of the model.");
    r.row<&S::layers>("Layers that were run.");
    r.row<&S::tensor_parallel_size>("Ranks that share each layer.");
    r.row<&S::pipeline_parallel_size>("Stages.");
    r.row<&S::sequences>("Sequences of the step.");
    r.row<&S::tokens>("New tokens of each prompt, or tokens in the cache of each sequence.");
    r.row<&S::parts>("parts_seconds", rounded_seconds(),
                     "Predicted sum of the step's parts; 0: not yet predicted.");
    r.all_required();
  });
}

Kind<unsigned long long> throttle_bits() {
  return kind::as<unsigned long long>(
      kind::integer({0, 0x1FF}), [](unsigned long long bits) { return static_cast<int>(bits); },
      [](int bits) { return static_cast<unsigned long long>(bits); });
}

// Kind of a point: the name of the variant's alternative. Reading makes an empty one.
template <typename... T>
Kind<std::variant<T...>> alternative(const std::variant<T...>& /*like*/) {
  using V = std::variant<T...>;
  return kind::named<V>(
      {T::kName...}, [](const V& value) { return value.index(); },
      [](std::size_t place) {
        constexpr std::array<V (*)(), sizeof...(T)> fresh{[] { return V(T{}); }...};
        return fresh[place]();
      });
}

// Part of a point that a row describes. Each returns null if a point of this kind has none.
constexpr auto kProduct = [](auto& p) { return product_of(p.subject); };
constexpr auto kVariant = [](auto& p) {
  auto* product = kProduct(p);
  return product ? &product->variant : nullptr;
};
constexpr auto kShape = [](auto& p) {
  auto* variant = kVariant(p);
  return variant ? &variant->shape : nullptr;
};
constexpr auto kCall = [](auto& p) { return call_of(p.subject); };
template <typename T>
constexpr auto kTimed = [](auto& p) { return std::get_if<T>(&p.subject); };

// A member of such a part; only points that have the part have the key.
template <typename Find, typename Part, typename M>
Record<MeasuredPoint>& part_row(Record<MeasuredPoint>& r, const Find& find, M Part::*member,
                                std::string_view key, const Kind<M>& kind, std::string_view about) {
  r.row_at(
      [=](auto& p) -> auto& { return find(p)->*member; }, key, kind, about);
  return r.only_if([=](const MeasuredPoint& p) { return find(p) != nullptr; });
}

// Absent in older profiles, which found all operands in memory.
void fresh_row(Record<MeasuredPoint>& r, bool FreshOperands::*member, const char* key,
               const char* about) {
  const auto fresh = [](auto& p) {
    auto* variant = kVariant(p);
    return variant ? &variant->fresh : nullptr;
  };
  part_row(r, fresh, member, key, kind::flag(), about).written_if([=](const MeasuredPoint& p) {
    return fresh(p)->*member;
  });
}

void add_product_rows(Record<MeasuredPoint>& r) {
  r.row_at(
      [](auto& p) -> auto& {
        auto* product = kProduct(p);
        return product != nullptr ? product->precision
                                  : std::get<timed::Attention>(p.subject).precision;
      },
      "precision", kPrecisionNames, "Format of the operands.");
  r.only_if(
      [](const MeasuredPoint& p) { return kProduct(p) != nullptr || p.is<timed::Attention>(); });
  const auto size = [&r](std::int64_t GemmShape::*member, const char* key, const char* about) {
    part_row(r, kShape, member, key, kind::wide_integer(), about).required();
  };
  size(&GemmShape::batch, "batch", "GEMMs of a batch.");
  size(&GemmShape::m, "m", "Rows of the result.");
  size(&GemmShape::n, "n", "Columns of the result.");
  size(&GemmShape::k, "k", "Length of the sums.");
  using V = GemmVariant;
  part_row(r, kVariant, &V::transpose_a, "transpose_a", kind::flag(),
           "The first operand is stored transposed.");
  part_row(r, kVariant, &V::transpose_b, "transpose_b", kind::flag(),
           "The second operand is stored transposed.");
  part_row(r, kVariant, &V::accumulate, "accumulate", kind::flag(),
           "The product is added to the result.");
  fresh_row(r, &FreshOperands::a, "fresh_a", "The first operand was just written or read.");
  fresh_row(r, &FreshOperands::b, "fresh_b", "The second operand was just written or read.");
  fresh_row(r, &FreshOperands::c, "fresh_c", "The result's memory was just written or read.");
  part_row(r, kVariant, &V::reused_after, "reused_after_bytes", kind::base_amount<Bytes>(),
           "What a step reads between two uses of the other operands; absent: more than a cache.");
  r.written_if([](const MeasuredPoint& p) {
    const auto* variant = kVariant(p);
    return variant != nullptr && variant->reused_after.value() > 0.0;
  });
}

void add_algorithm_row(Record<MeasuredPoint>& r) {
  const auto gemm = kTimed<timed::Gemm>;
  part_row(r, gemm, &timed::Gemm::fastest, "fastest_algorithm_seconds", rounded_seconds(),
           "Time of the fastest of the library's algorithms, where the median is that of the one "
           "which it names first.");
  r.written_if([=](const MeasuredPoint& p) {
    const auto* timed = gemm(p);
    return timed != nullptr && timed->fastest.value() > 0.0;
  });
}

void add_kernel_rows(Record<MeasuredPoint>& r) {
  using K = timed::Kernel;
  part_row(r, kTimed<K>, &K::name, "kernel", kind::text(), "Name of the kernel.").required();
  part_row(r, kTimed<K>, &K::launches, "launches", kind::integer(),
           "Launches that the model charges.");
  part_row(r, kTimed<K>, &K::sizes, "sizes", kind::optional(kind::object(sizes_record)), "");
  const auto direction = [](auto& p) {
    auto* link = std::get_if<timed::HostLink>(&p.subject);
    auto* copy = std::get_if<timed::CopyOverlap>(&p.subject);
    return link != nullptr ? &link->direction : copy != nullptr ? &copy->direction : nullptr;
  };
  r.row_at(
      [=](auto& p) -> auto& { return *direction(p); }, "direction", kHostDirectionNames,
      "Way to or from the host.");
  r.only_if([=](const MeasuredPoint& p) { return direction(p) != nullptr; });
  part_row(r, kTimed<timed::Attention>, &timed::Attention::shape, "attention",
           kind::object(attention_shape_record), "");
  r.required();
  part_row(r, kTimed<timed::PagedAttention>, &timed::PagedAttention::shape, "paged_attention",
           kind::object(paged_attention_record), "");
  r.required();
  part_row(r, kTimed<timed::EngineStep>, &timed::EngineStep::shape, "engine_step",
           kind::object(engine_step_record), "");
  r.required();
  part_row(r, kTimed<timed::CacheCopy>, &timed::CacheCopy::shape, "cache_copy",
           kind::object(cache_copy_shape_record), "");
  r.required();
  part_row(r, kTimed<timed::ServedStep>, &timed::ServedStep::shape, "served_step",
           kind::object(served_step_record), "");
  r.required();
}

// Written where it is not as in a GroupCall{}.
template <typename M>
void add_call_row(Record<MeasuredPoint>& r, M GroupCall::*member, const char* key,
                  const Kind<M>& kind, const char* about) {
  part_row(r, kCall, member, key, kind, about).written_if([member](const MeasuredPoint& p) {
    return kCall(p)->*member != GroupCall{}.*member;
  });
}

void add_collective_rows(Record<MeasuredPoint>& r) {
  using C = GroupCall;
  part_row(r, kCall, &C::collective, "collective", kind::choice(kCollectiveNames),
           "Which collective.");
  part_row(r, kCall, &C::tier, "tier", kind::choice(kTierNames),
           "Link that the group's traffic crosses.");
  part_row(r, kCall, &C::group_size, "group_size", kind::integer(), "Ranks of the group.");
  r.required();
  add_call_row(r, &C::ranks_per_node, "ranks_per_node", kind::integer(kRankFromZero),
               "Ranks of the group on one node; absent: not recorded.");
  add_call_row(r, &C::groups_per_node, "groups_per_node", kind::integer(kRankFromZero),
               "Groups at work at once on a node.");
  add_call_row(r, &C::stride, "stride", kind::integer(),
               "From one rank of a group to the next, inside a node.");
  add_call_row(r, &C::cold, "cold", kind::flag(),
               "Messages take turns, so that each is in memory.");
}

template <typename M>
void add_measurement(Record<MeasuredPoint>& r, M Measurement::*member, const char* key,
                     const Kind<M>& kind, const char* about) {
  r.row_at(
      [member](auto& p) -> auto& { return p.measurement.*member; }, key, kind, about);
}
template <typename M>
void add_summary(Record<MeasuredPoint>& r, M Summary::*member, const char* key, const Kind<M>& kind,
                 const char* about) {
  r.row_at(
      [member](auto& p) -> auto& { return p.measurement.summary.*member; }, key, std::move(kind),
      about);
  r.required();
}
template <typename M>
void add_state(Record<MeasuredPoint>& r, M DeviceState::*member, const char* key,
               const Kind<M>& kind, const char* about) {
  r.row_at(
      [member](auto& p) -> auto& { return p.state.*member; }, key, kind, about);
  r.omitted_at_default();
}

void add_time_rows(Record<MeasuredPoint>& r) {
  r.row<&MeasuredPoint::amount>("Payload, or bytes read and written.");
  r.required();
  add_summary(r, &Summary::median, "median_seconds", rounded_seconds(), "Median of the samples.");
  add_summary(r, &Summary::min, "min_seconds", rounded_seconds(), "Least of the samples.");
  add_summary(r, &Summary::p10, "p10_seconds", rounded_seconds(), "10th percentile.");
  add_summary(r, &Summary::p90, "p90_seconds", rounded_seconds(), "90th percentile.");
  add_measurement(r, &Measurement::mean, "mean_seconds", rounded_seconds(),
                  "Mean of the samples, each of its slowest rank.");
  r.omitted_at_default();
  add_measurement(r, &Measurement::rank_mean, "rank_mean_seconds", rounded_seconds(),
                  "Mean of the rank that is slowest on average.");
  r.omitted_at_default();
  add_summary(r, &Summary::relative_spread, "relative_spread", rounded_number(),
              "Spread of the samples over their median.");
  add_summary(r, &Summary::count, "samples", kind::integer(), "Number of samples.");
  add_measurement(r, &Measurement::repetitions, "repetitions", kind::integer(),
                  "Calls of which a sample is the mean.");
  add_measurement(r, &Measurement::stopped, "stopped", kind::choice(kStopReasonNames),
                  "Why sampling stopped.");
  add_measurement(r, &Measurement::repeated, "repeated", kind::flag(),
                  "Measured twice; the less noisy run is kept.");
  r.omitted_at_default();
  add_measurement(r, &Measurement::noisy, "noisy", kind::flag(), "Both runs were noisy.");
  r.omitted_at_default();
}

void add_state_rows(Record<MeasuredPoint>& r) {
  add_state(r, &DeviceState::clock_mhz, "clock_mhz", kind::number(), "Clock after the samples.");
  add_state(r, &DeviceState::power_watts, "power_watts", kind::number(),
            "Power after the samples.");
  add_state(r, &DeviceState::throttle_reasons, "throttle_reasons", throttle_bits(),
            "Bits as NVML's clock throttle reasons.");
  r.derived("throttled", kind::flag().schema(), "One of these bits slows the device.",
            [](const MeasuredPoint& p) { return p.throttled() ? Json(true) : Json(); });
  r.row<&MeasuredPoint::in_cache>("Too small to be in memory.");
  r.omitted_at_default();
  r.row<&MeasuredPoint::source>("Tool, file and hash; absent: measured here.");
  r.omitted_at_default();
  add_call_row(r, &GroupCall::algorithm, "algorithm", kind::text(), "What the library chose.");
}

// What both kinds of overlap have.
void add_product_time(Record<MeasuredPoint>& r, Seconds timed::Overlap::*beside_messages,
                      Seconds timed::CopyOverlap::*beside_copies, const char* key,
                      const char* about) {
  const auto time = [=](auto& p) {
    auto* messages = kTimed<timed::Overlap>(p);
    auto* copies = kTimed<timed::CopyOverlap>(p);
    return messages != nullptr ? &(messages->*beside_messages)
           : copies != nullptr ? &(copies->*beside_copies)
                               : nullptr;
  };
  r.row_at(
      [=](auto& p) -> auto& { return *time(p); }, key, rounded_seconds(kNotNegative), about);
  r.only_if([=](const MeasuredPoint& p) { return time(p) != nullptr; }).required();
}

void add_overlap_rows(Record<MeasuredPoint>& r) {
  using O = timed::Overlap;
  using C = timed::CopyOverlap;
  add_product_time(r, &O::product_alone, &C::product_alone, "product_alone_seconds",
                   "GEMMs alone.");
  part_row(r, kTimed<O>, &O::collective_alone, "collective_alone_seconds",
           rounded_seconds(kAboveZero), "Collectives alone.")
      .required();
  part_row(r, kTimed<C>, &C::copy_alone, "copy_alone_seconds", rounded_seconds(kAboveZero),
           "Copies alone.")
      .required();
  add_product_time(r, &O::product_beside, &C::product_beside, "product_beside_seconds",
                   "GEMMs with the others.");
  part_row(r, kTimed<O>, &O::collective_beside, "collective_beside_seconds", rounded_seconds(),
           "Collectives with the others.")
      .required();
  part_row(r, kTimed<C>, &C::copy_beside, "copy_beside_seconds", rounded_seconds(),
           "Copies with the others.")
      .required();
}

void add_step_pass_rows(Record<MeasuredPoint>& r) {
  using S = timed::StepPass;
  const auto step = kTimed<S>;
  part_row(r, step, &S::pass, "pass", kind::choice(kComputePassNames), "Pass of the step.");
  r.required();
  part_row(r, step, &S::model, "model", kind::text(), "Name of the model.").required();
  part_row(r, step, &S::layers, "layers", kind::integer(), "Layers that were run.").required();
  part_row(r, step, &S::tokens, "tokens", kind::wide_integer(), "Tokens of the micro-batch.");
  r.required();
  part_row(r, step, &S::operators, "operators_seconds", rounded_seconds(),
           "Predicted sum of the pass's operators; 0: not yet predicted.");
  r.required();
}

Record<MeasuredPoint> make_point_record() {
  Record<MeasuredPoint> r("A measured point.");
  r.row<&MeasuredPoint::subject>("kind", alternative(Subject{}), "What was timed.").required();
  add_product_rows(r);
  add_algorithm_row(r);
  add_kernel_rows(r);
  add_collective_rows(r);
  add_time_rows(r);
  add_state_rows(r);
  add_overlap_rows(r);
  add_step_pass_rows(r);
  return r;
}

}  // namespace

const Record<MeasuredPoint>& point_record() {
  static const Record<MeasuredPoint> record = make_point_record();
  return record;
}

Json to_json(const MeasuredPoint& point) { return point_record().write(point); }

MeasuredPoint point_from_json(const Json& json, const std::string& file,
                              const std::string& pointer) {
  return point_record().read(json, file, pointer);
}

}  // namespace meshwright::calibrate
