// SPDX-License-Identifier: Apache-2.0
// The same job on several GPU counts.
#include "reports/records/answers.h"
#include "reports/records/parts.h"
#include "reports/text/text.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

const Record<planner::Choice>& scaling_choice_record() {
  static const Record<planner::Choice> record = [] {
    using R = planner::Choice;
    Record<R> r("A layout that no other beats in step time, memory, GPUs and GPU-hours at once.");
    r.row(&R::gpus, "gpus", kind::integer(), "");
    r.rows_of(
        named_layout_record(), [](auto& choice) -> auto& { return choice.layout; });
    r.row(&R::step_time, "step_time_seconds", kind::base_amount<Seconds>(), "");
    r.row(&R::peak_memory, "peak_memory_bytes", kind::base_amount<Bytes>(), "");
    r.row(&R::gpu_seconds, "gpu_seconds", kind::number(), "Of a step.");
    return r.named("ScalingChoice").all_required();
  }();
  return record;
}

// A place in a list, from 0.
Kind<std::size_t> place_kind() {
  const Kind<int> number = kind::integer({.low = 0});
  return {.read =
              [number](ObjectReader& reader, const std::string& key, std::size_t& place) {
                int read = 0;
                number.read(reader, key, read);
                place = static_cast<std::size_t>(read);
              },
          .write = [](Json& json, const std::string& key,
                      const std::size_t& place) { json[key] = place; },
          .schema = number.schema};
}

}  // namespace

const Record<planner::ScalePoint>& scale_point_record() {
  static const Record<planner::ScalePoint> record = [] {
    using R = planner::ScalePoint;
    const Record<R>::Test fits = [](const R& point) { return point.layout.has_value(); };
    const auto name_by = [](std::string (*name)(const Layout&)) {
      return [name](const R& point) { return point.layout ? Json(name(*point.layout)) : Json(); };
    };
    Record<R> r("A GPU count. One that no layout fits has a reason; any other has the rest.");
    r.row(&R::gpus, "gpus", kind::integer(), "").required();
    r.derived("short_name", kind::text().schema(), "", name_by(short_name));
    r.derived("brief_name", kind::text().schema(), "", name_by(brief_name));
    r.row(&R::layout, "layout", kind::optional(kind::object(layout_record)), "");
    r.row(&R::reason, "reason", kind::text(), "").required();
    r.only_if([](const R& point) { return !point.layout; });

    Record<R> rest("");
    rest.row(&R::step_time, "step_time_seconds", kind::base_amount<Seconds>(), "");
    rest.row(&R::step_time_low, "step_time_low_seconds", kind::base_amount<Seconds>(),
             "Begin of the nominal 90 % interval.");
    rest.row(&R::step_time_high, "step_time_high_seconds", kind::base_amount<Seconds>(),
             "Its end.");
    rest.row(&R::peak_memory, "peak_memory_bytes", kind::base_amount<Bytes>(), "");
    rest.row(&R::memory_headroom, "memory_headroom", kind::number(kAnyNumber),
             "Share of the device's memory.");
    rest.row(&R::tokens_per_second_per_gpu, "tokens_per_second_per_gpu", kind::number(), "");
    rest.row(&R::model_flops_utilization, "model_flops_utilization", kind::number(),
             kMfuConvention);
    rest.row(&R::efficiency, "efficiency", kind::number(),
             "Tokens a second a GPU over those of the first count that fits.");
    rest.row(&R::cost, "cost", kind::nullable(kind::number()), kCostAbout);
    rest.row(&R::device_energy_kwh, "device_energy_kwh", kind::nullable(kind::number()), "");
    rest.row(&R::objective, "objective", kind::number(kAnyNumber), "");
    r.rows_of(rest.all_required(), fits);
    return r.named("ScalePoint");
  }();
  return record;
}

const Record<planner::Scaling>& scaling_answer_record() {
  static const Record<planner::Scaling> record = [] {
    using R = planner::Scaling;
    Record<R> r("The GPU counts that were asked for, each with its best layout.");
    r.row(&R::points, "points", kind::list(scale_point_record), "In the order of the counts.");
    r.row(&R::choices, "choices", kind::list(scaling_choice_record), "By GPUs.");
    r.row(&R::best, "best", kind::nullable(place_kind()),
          "Of the points, by the objective; null: none is within the limits.");
    r.check([](const R& scaling, ObjectReader& reader) {
      if (!scaling.best || *scaling.best < scaling.points.size()) return;
      reader.fail("best", "must be a place in \"points\", counted from 0");
    });
    return r.named("Scaling").all_required();
  }();
  return record;
}

}  // namespace meshwright::reports
