// SPDX-License-Identifier: Apache-2.0
// The same job on several GPU counts.
#include "reports/records/answers.h"
#include "reports/records/parts.h"
#include "reports/text/text.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

const Record<planner::Choice>& scaling_choice_record() {
  return described([](Record<planner::Choice>& r) {
    using R = planner::Choice;
    r.about("A layout that no other beats in step time, memory, GPUs and GPU-hours at once.");
    r.row<&R::gpus>();
    r.rows_of(
        named_layout_record(), [](auto& choice) -> auto& { return choice.layout; });
    r.rows<&R::step_time, &R::peak_memory>();
    r.row<&R::gpu_seconds>("Of a step.");
    r.named("ScalingChoice").all_required();
  });
}

// A place in a list, from 0.
Kind<std::size_t> place_kind() {
  return kind::as<std::size_t>(
      kind::integer({.low = 0}), [](std::size_t place) { return static_cast<int>(place); },
      [](int place) { return static_cast<std::size_t>(place); });
}

}  // namespace

const Record<planner::ScalePoint>& scale_point_record() {
  static const Record<planner::ScalePoint> record = [] {
    using R = planner::ScalePoint;
    const auto fits = [](const R& point) { return point.layout.has_value(); };
    const auto name_by = [](std::string (*name)(const Layout&)) {
      return [name](const R& point) { return point.layout ? Json(name(*point.layout)) : Json(); };
    };
    Record<R> r("A GPU count. One that no layout fits has a reason; any other has the rest.");
    r.row<&R::gpus>().required();
    r.derived("short_name", kind::text().schema(), "", name_by(short_name));
    r.derived("brief_name", kind::text().schema(), "", name_by(brief_name));
    r.row<&R::layout>(layout_record);
    r.row<&R::reason>().required();
    r.only_if([](const R& point) { return !point.layout; });

    Record<R> rest("");
    rest.row<&R::step_time>();
    rest.row<&R::step_time_low>("Begin of the nominal 90 % interval.");
    rest.row<&R::step_time_high>("Its end.");
    rest.row<&R::peak_memory>();
    rest.row<&R::memory_headroom>(kAnyNumber, "Share of the device's memory.");
    rest.row<&R::tokens_per_second_per_gpu>();
    rest.row<&R::model_flops_utilization>(kMfuConvention);
    rest.row<&R::efficiency>("Tokens a second a GPU over those of the first count that fits.");
    rest.row<&R::cost>(nullable(), kCostAbout);
    rest.row<&R::device_energy_kwh>(nullable());
    rest.row<&R::objective>(kAnyNumber);
    r.rows_of(rest.all_required(), fits);
    return r.named("ScalePoint");
  }();
  return record;
}

const Record<planner::Scaling>& scaling_answer_record() {
  return described([](Record<planner::Scaling>& r) {
    using R = planner::Scaling;
    r.about("The GPU counts that were asked for, each with its best layout.");
    r.row<&R::points>(scale_point_record, "In the order of the counts.");
    r.row<&R::choices>(scaling_choice_record, "By GPUs.");
    r.row<&R::best>(nullable(place_kind()),
                    "Of the points, by the objective; null: none is within the limits.");
    r.check([](const R& scaling, ObjectReader& reader) {
      if (!scaling.best || *scaling.best < scaling.points.size()) return;
      reader.fail("best", "must be a place in \"points\", counted from 0");
    });
    r.named("Scaling").all_required();
  });
}

}  // namespace meshwright::reports
