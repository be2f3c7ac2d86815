// SPDX-License-Identifier: Apache-2.0
#include "planner/shared_cluster/service_options_json.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/number_text.h"

namespace meshwright::planner {
namespace {

// A rate up to this many requests a second; no service is near it.
constexpr NumberRange kRequestRate{.low = 0.0, .high = 1e6};
constexpr IntRange kRequestTokens{1, 10'000'000};
constexpr NumberRange kTargetSeconds{.low = 0.0, .high = 1e6, .low_excluded = true};

const Record<LoadPoint>& load_point_record() {
  return described([](Record<LoadPoint>& r) {
    using P = LoadPoint;
    r.about("A point of the load curve.");
    r.row<&P::hour>(NumberRange{.low = 0.0, .high = kHoursOfAWeek},
                    "Hours from the start of the period.");
    r.required();
    r.row<&P::requests_per_second>(kRequestRate, "Requests that arrive in a second.");
    r.required();
  });
}

bool is_period(int hours) { return hours == kHoursOfADay || hours == kHoursOfAWeek; }

void check_points(const LoadCurve& curve, ObjectReader& reader) {
  double last = -1.0;
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    const double hour = curve.points[i].hour;
    const std::string key = fmt::format("points/{}/hour", i);
    if (hour <= last) {
      throw InputError(reader.file(), reader.pointer() + "/" + key,
                       fmt::format("must be later than the hour of the point before it, {} (got "
                                   "{})",
                                   number_text(last), number_text(hour)),
                       "sort the points by hour");
    }
    if (hour >= curve.period_hours) {
      throw InputError(
          reader.file(), reader.pointer() + "/" + key,
          fmt::format("must be below the period of {} hours (got {}); the curve repeats after it",
                      curve.period_hours, number_text(hour)));
    }
    last = hour;
  }
}

// One of the two forms, a day or a week, and some request.
void check_curve(const LoadCurve& curve, ObjectReader& reader) {
  if (curve.requests_per_second.empty() == curve.points.empty()) {
    reader.fail("requests_per_second",
                curve.points.empty() ? "is missing: the curve needs 24 or 168 rates, or points"
                                     : "is stated next to points; expected one of them",
                "state requests_per_second or points");
  }
  if (!curve.points.empty()) {
    if (!is_period(curve.period_hours)) {
      reader.fail("period_hours", fmt::format("must be 24 or 168 (got {})", curve.period_hours));
    }
    check_points(curve, reader);
  } else if (!is_period(static_cast<int>(curve.requests_per_second.size()))) {
    reader.fail("requests_per_second",
                fmt::format("must have 24 rates, one an hour of a day, or 168 of a week (got {})",
                            curve.requests_per_second.size()));
  }
  if (peak_rate(curve) <= 0.0) {
    reader.fail(curve.points.empty() ? "requests_per_second" : "points",
                "must have a rate above 0: the service gets no request");
  }
}

const Record<LoadCurve>& load_curve_record() {
  return described([](Record<LoadCurve>& r) {
    using C = LoadCurve;
    r.about("Requests over a day or a week: one rate an hour, or points. It repeats.");
    r.row<&C::requests_per_second>(
        kRequestRate,
        "24 rates of a day, or 168 of a week; each belongs to the start of its hour.");
    r.omitted_at_default();
    r.row<&C::points>(load_point_record, "Points instead; their hours rise.");
    r.omitted_at_default();
    r.row<&C::period_hours>(IntRange{kHoursOfADay, kHoursOfAWeek},
                            "Of points: 24 or 168. Rates have as many hours as there are rates.");
    r.default_from([](C& curve) {
      const auto rates = static_cast<int>(
          std::min<std::size_t>(curve.requests_per_second.size(), kHoursOfAWeek + 1));
      if (is_period(rates)) curve.period_hours = rates;
    });
    r.check([](const C& curve, ObjectReader& reader) {
      const std::size_t rates = curve.requests_per_second.size();
      if (rates == 0 || rates == static_cast<std::size_t>(curve.period_hours)) return;
      reader.fail("requests_per_second",
                  fmt::format("must have 24 rates, one an hour of a day, or 168 of a week, as "
                              "period_hours says (got {})",
                              rates));
    });
    r.row<&C::between>(
        kCurveShapeNames,
        "steps: a rate holds until the next; linear: it changes evenly to the next.");
    r.check([](const C& curve, ObjectReader& reader) { check_curve(curve, reader); });
  });
}

Record<ServiceOptions> make_service_record() {
  using S = ServiceOptions;
  Record<S> r("A service that shares the cluster of the training (meshwright capacity).");
  r.row<&S::model>("A file, or a name of configs/models.").required();
  r.row<&S::engine>("A file, or a name of configs/engines.");
  r.row<&S::weights>(kWeightFormatNames,
                     "Format of the weights; default: the checkpoint's, as serve --weights.");
  r.row<&S::kv_cache>(kKvCacheFormatNames, "Format of the cache.");
  r.row<&S::isl>(kRequestTokens, "Tokens of a prompt.");
  r.row<&S::osl>(kRequestTokens, "Tokens of an answer.");
  r.row<&S::prefix_hit_rate>(kind::fraction(true), "Share of a prompt that is in the cache.");
  r.row<&S::ttft_seconds>(kTargetSeconds, "Longest time to first token.");
  r.row<&S::tpot_seconds>(kTargetSeconds, "Longest time per output token.");
  r.row<&S::e2e_seconds>(kTargetSeconds, "Longest time of a whole request, as a mean.");
  r.row<&S::percentile>(
      NumberRange{.low = 0.0, .high = 99.9},
      "Percentage of requests that meet ttft_seconds and tpot_seconds, simulated; 0: means.");
  r.row<&S::tensor_parallel_size>(IntRange{1, 1024},
                                  "Sizes to search; default: powers of two in the fast domain.");
  r.omitted_at_default();
  r.row<&S::pipeline_parallel_size>(IntRange{1, 1024}, "Sizes to search; default: 1 and 2.");
  r.omitted_at_default();
  r.row<&S::load_curve>(load_curve_record, "Requests by hour.");
  r.required();
  r.row<&S::least_replicas>(IntRange{0, 1'000'000},
                            "Replicas that are held in every hour, at the least.");
  r.row<&S::replica_start_seconds>(
      NumberRange{.low = 0.0, .high = 604800.0},
      "Time until a new replica serves; default: 300, which is assumed.");
  r.row<&S::least_release_hours>(
      IntRange{1, kHoursOfAWeek},
      "GPUs go back to the training for so many hours or more, or not at all.");
  r.row<&S::training_gpus>(
      kTrainingGpusNames,
      "fixed: the training keeps the GPUs that are free in every hour; elastic: it restarts on "
      "the GPUs that are free in the hour.");
  return r;
}

}  // namespace

const Record<ServiceOptions>& service_record() {
  static const Record<ServiceOptions> record = make_service_record();
  return record;
}

std::optional<ServiceOptions> service_section(const Json& job, const std::string& file) {
  if (!job.is_object() || !job.contains("service")) return std::nullopt;
  return service_record().read(job.at("service"), file, "/service");
}

}  // namespace meshwright::planner
