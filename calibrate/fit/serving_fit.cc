// SPDX-License-Identifier: Apache-2.0
#include "calibrate/fit/serving_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <tuple>

#include "calibrate/fit/least_squares.h"
#include "sim/base/quadrature.h"
#include "sim/base/statistics.h"
#include "sim/kernel_time/gemm_model.h"
#include "sim/serving/operator_time.h"

namespace meshwright::calibrate {
namespace {

// The trial takes keys by 64 (trial/serving/paged_attention.h): a sequence has 32 more on average.
constexpr double kMeanPadding = 32.0;
constexpr double kNumberBytes = 4.0;  // the trial's cores work in fp32
constexpr double kLeastRateSpread = 0.02;
constexpr double kLeastRate = 1e-6;
constexpr double kLeastByteSeconds = 1e-13;  // no memory is faster

using Points = std::vector<const MeasuredPoint*>;

const PagedAttentionShape& shape_of(const MeasuredPoint& p) {
  return p.as<timed::PagedAttention>()->shape;
}

AttentionForm form_of(const MeasuredPoint& p) {
  return shape_of(p).is_latent() ? AttentionForm::latent : AttentionForm::grouped;
}
std::string named_by_form(const char* what, AttentionForm form) {
  return form == AttentionForm::latent ? fmt::format("{}, latent", what) : what;
}

// The formulas of sim/serving/replica_cost.cc: of one query and key over all heads of the rank.
// Latent: decodes work on latents, and prompts are counted as if keys and values were made.
Flops decode_pair(const PagedAttentionShape& s) {
  const auto width = s.is_latent() ? 2.0 * static_cast<double>(2 * s.latent_rank + s.rotary_dim)
                                   : 4.0 * static_cast<double>(s.head_dim);
  return flops(width * static_cast<double>(s.heads));
}
Flops prefill_pair(const PagedAttentionShape& s) {
  if (!s.is_latent()) return decode_pair(s);
  const auto width = static_cast<double>(s.head_dim + s.rotary_dim + s.value_dim);
  return flops(2.0 * width * static_cast<double>(s.heads));
}
// A latent attention multiplies by the up projection, which a step counts among its linears.
Seconds up_projection_time(const PagedAttentionShape& s, const Device& device) {
  if (!s.is_latent()) return {};
  return linear_cost({1, s.sequences * s.rows, s.heads * (s.head_dim + s.value_dim), s.latent_rank},
                     WeightScheme{}, device)
      .time;
}

Seconds decode_time(const PagedAttentionShape& s, const DecodeAttentionRate& rate,
                    const Device& device) {
  const auto sequences = static_cast<double>(s.sequences);
  const double keys = sequences * static_cast<double>(s.cached + s.rows);
  const double key = kNumberBytes * static_cast<double>(s.cached_numbers());
  const std::int64_t widths = s.is_latent() ? 2 * s.latent_rank + s.rotary_dim : 2 * s.head_dim;
  const double query = kNumberBytes * static_cast<double>(s.heads * widths);
  const Bytes read = bytes(key * (keys + rate.extra_keys * sequences) + query * sequences);
  return decode_attention_time(read, decode_pair(s) * keys, rate, device) +
         rate.sequence_latency * sequences + up_projection_time(s, device);
}

Seconds prefill_time(const PagedAttentionShape& s, const PrefillAttentionRate& rate,
                     const Device& device) {
  const auto sequences = static_cast<double>(s.sequences);
  const double tokens = sequences * static_cast<double>(s.rows);
  // All pairs of a rectangle, those that the mask hides among them.
  const double keys = static_cast<double>(s.cached + s.rows);
  return prefill_attention_time(prefill_pair(s) * (tokens * keys), keys, 1.0, rate, device) +
         rate.sequence_latency * sequences + up_projection_time(s, device);
}

std::vector<double> medians_of(const Points& points) {
  std::vector<double> times;
  for (const MeasuredPoint* p : points) times.push_back(p->time().value());
  return times;
}

DecodeAttentionRate decode_rate_of(std::span<const double> parameters) {
  DecodeAttentionRate rate;
  rate.latency = seconds(parameters[0]);
  rate.sequence_latency = seconds(parameters[1]);
  rate.bandwidth_fraction = std::clamp(parameters[2], kLeastRate, 1.0);
  rate.compute_fraction = 1.0;
  rate.extra_keys = kMeanPadding;
  return rate;
}

PrefillAttentionRate prefill_rate_of(std::span<const double> parameters, int head_dim) {
  PrefillAttentionRate rate;
  rate.head_dim = head_dim;
  rate.latency = {};
  rate.sequence_latency = seconds(parameters[0]);
  rate.fraction = std::clamp(parameters[1], kLeastRate, 1.0);
  rate.ramp_keys = parameters[2];
  rate.tail_waves = 0.0;
  rate.hidden_pairs = true;
  return rate;
}

void fit_decode(InferenceRates& rates, const Device& device, const Points& points,
                std::vector<Fit>& fits) {
  if (points.size() <= 3) return;
  const LogFit fit = fit_log_space(
      {1e-6, 5e-6, 0.3},
      [&](std::span<const double> parameters, std::size_t i) {
        return decode_time(shape_of(*points[i]), decode_rate_of(parameters), device).value();
      },
      medians_of(points));
  DecodeAttentionRate rate = decode_rate_of(fit.parameters);
  rate.relative_spread = std::max(kLeastRateSpread, fit.relative_spread);
  rate.provenance = Provenance::fitted;
  rate.form = form_of(*points.front());
  fits.push_back({.what = named_by_form("decode attention over a paged cache", rate.form),
                  .parameters = {{"latency_seconds", rate.latency.value(), 0.0},
                                 {"sequence_latency_seconds", rate.sequence_latency.value(), 0.0},
                                 {"bandwidth_fraction", rate.bandwidth_fraction, 0.0}},
                  .relative_spread = rate.relative_spread,
                  .points = static_cast<int>(points.size())});
  rates.decode_attention.push_back(rate);
}

void fit_prefill(InferenceRates& rates, const Device& device, const Points& points,
                 std::vector<Fit>& fits) {
  if (points.size() <= 3) return;
  const PagedAttentionShape& any = shape_of(*points.front());
  const std::int64_t both =
      any.is_latent() ? any.head_dim + any.rotary_dim + any.value_dim : 2 * any.head_dim;
  const auto head_dim = static_cast<int>(both / 2);
  const LogFit fit = fit_log_space(
      {5e-6, 0.3, 30.0},
      [&](std::span<const double> parameters, std::size_t i) {
        return prefill_time(shape_of(*points[i]), prefill_rate_of(parameters, head_dim), device)
            .value();
      },
      medians_of(points));
  PrefillAttentionRate rate = prefill_rate_of(fit.parameters, head_dim);
  rate.relative_spread = std::max(kLeastRateSpread, fit.relative_spread);
  rate.provenance = Provenance::fitted;
  rate.form = form_of(*points.front());
  fits.push_back({.what = named_by_form("prompts' attention over a paged cache", rate.form),
                  .parameters = {{"sequence_latency_seconds", rate.sequence_latency.value(), 0.0},
                                 {"fraction", rate.fraction, 0.0},
                                 {"ramp_keys", rate.ramp_keys, 0.0}},
                  .relative_spread = rate.relative_spread,
                  .points = static_cast<int>(points.size())});
  rates.prefill_attention.push_back(rate);
}

void fit_host(InferenceRates& rates, const Points& points, std::vector<Fit>& fits) {
  if (points.size() <= 3) return;
  const LogFit fit = fit_log_space(
      {2e-5, 1e-6, 1e-9},
      [&](std::span<const double> parameters, std::size_t i) {
        const EngineStepShape& s = points[i]->as<timed::EngineStep>()->shape;
        const auto sequences = static_cast<double>(s.sequences);
        return parameters[0] + sequences * parameters[1] +
               sequences * static_cast<double>(s.vocab) * parameters[2];
      },
      medians_of(points));
  HostStepRate rate;
  rate.step = seconds(fit.parameters[0]);
  rate.sequence = seconds(fit.parameters[1]);
  rate.logit = seconds(fit.parameters[2]);
  rate.relative_spread = std::max(kLeastRateSpread, fit.relative_spread);
  fits.push_back({.what = "host's part of an engine's step",
                  .parameters = {{"step_seconds", rate.step.value(), 0.0},
                                 {"sequence_seconds", rate.sequence.value(), 0.0},
                                 {"logit_seconds", rate.logit.value(), 0.0}},
                  .relative_spread = rate.relative_spread,
                  .points = static_cast<int>(points.size())});
  rates.host_step = rate;
}

void fit_cache_copies(InferenceRates& rates, const Points& points, std::vector<Fit>& fits) {
  if (points.size() <= 2) return;
  const LogFit fit = fit_log_space(
      {2e-5, 1e-9},
      [&](std::span<const double> parameters, std::size_t i) {
        return parameters[0] + parameters[1] * points[i]->amount.value();
      },
      medians_of(points));
  CacheCopyRate rate;
  rate.latency = seconds(fit.parameters[0]);
  rate.rate = bytes_per_second(1.0 / std::max(kLeastByteSeconds, fit.parameters[1]));
  rate.relative_spread = std::max(kLeastRateSpread, fit.relative_spread);
  fits.push_back({.what = "caches that change replicas",
                  .parameters = {{"latency_seconds", rate.latency.value(), 0.0},
                                 {"bytes_per_second", rate.rate.value(), 0.0}},
                  .relative_spread = rate.relative_spread,
                  .points = static_cast<int>(points.size())});
  rates.cache_copy = rate;
}

// Steps of one size are one, of several models, too.
void set_remainders(InferenceRates& rates, const std::vector<MeasuredPoint>& points) {
  std::map<std::tuple<bool, int, int, std::int64_t>, std::vector<ServedRemainder>> same;
  for (const MeasuredPoint& p : points) {
    const auto* step = p.as<timed::ServedStep>();
    if (step == nullptr || step->shape.parts <= seconds(0)) continue;
    const ServedStepShape& s = step->shape;
    const std::int64_t rows = s.prompts ? s.sequences * s.tokens : s.sequences;
    same[{s.prompts, s.tensor_parallel_size, s.pipeline_parallel_size, rows}].push_back(
        {s.prompts, s.tensor_parallel_size, s.pipeline_parallel_size, static_cast<double>(rows),
         p.time() / s.parts - 1.0,
         std::max(kLeastRateSpread, p.measurement.summary.relative_spread)});
  }
  for (const auto& [key, all] : same) {
    ServedRemainder one = all.front();
    std::vector<double> shares;
    for (const ServedRemainder& r : all) {
      shares.push_back(r.share);
      one.relative_spread = std::max(one.relative_spread, r.relative_spread);
    }
    one.relative_spread = in_quadrature(one.relative_spread, standard_deviation(shares));
    one.share = std::clamp(mean(shares), kLeastRemainderShare, kMostRemainderShare);
    rates.step_remainders.push_back(one);
  }
}

}  // namespace

InferenceRates fit_serving(const Device& device, const std::vector<MeasuredPoint>& points,
                           std::vector<Fit>& fits) {
  InferenceRates rates;
  if (device.kind != DeviceKind::cpu || device.gemm.empty()) return rates;
  std::map<AttentionForm, Points> decodes, prompts;
  Points steps, copies;
  for (const MeasuredPoint& p : points) {
    if (p.is<timed::EngineStep>()) steps.push_back(&p);
    if (p.is<timed::CacheCopy>()) copies.push_back(&p);
    if (!p.is<timed::PagedAttention>()) continue;
    (shape_of(p).rows == 1 ? decodes : prompts)[form_of(p)].push_back(&p);
  }
  for (const auto& [form, points_of] : decodes) fit_decode(rates, device, points_of, fits);
  for (const auto& [form, points_of] : prompts) fit_prefill(rates, device, points_of, fits);
  fit_host(rates, steps, fits);
  fit_cache_copies(rates, copies, fits);
  set_remainders(rates, points);
  if (!(rates == InferenceRates{})) rates.source = "measured by meshwright calibrate";
  return rates;
}

}  // namespace meshwright::calibrate
