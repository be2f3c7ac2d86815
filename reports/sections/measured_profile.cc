// SPDX-License-Identifier: Apache-2.0
#include "reports/sections/measured_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "reports/html/blocks.h"
#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/sections/section_parts.h"
#include "reports/text/text.h"
#include "sim/base/statistics.h"

namespace meshwright::reports {
namespace {

const Record<NoiseOfKind>& noise_of_kind_record() {
  return described([](Record<NoiseOfKind>& r) {
    using R = NoiseOfKind;
    r.about("How well points of one kind repeat.");
    r.row<&R::kind>("What was timed.");
    r.row<&R::num_points>(kind::count());
    r.rows<&R::median_relative_spread, &R::worst_relative_spread>();
    r.row<&R::noisy>(IntRange{.low = 0}, "Points that differed when repeated.");
    r.derived("point_columns", kind::texts().schema(), "", [](const R&) {
      return Json{"median_seconds", "relative_spread"};
    });
    r.row<&R::points>(kind::number_rows(2));
    r.named("NoiseOfKind").all_required();
  });
}

const Record<RankTimes>& rank_times_record() {
  return described([](Record<RankTimes>& r) {
    using R = RankTimes;
    r.about("A rank's times over those of the median rank; 0: not measured.");
    r.row<&R::rank>(IntRange{.low = 0});
    r.row<&R::local_rank>(IntRange{.low = 0}, "Number on its host.");
    r.rows<&R::host, &R::gemm, &R::memory, &R::network>();
    r.named("RankTimes").all_required();
  });
}

const Record<Straggler>& straggler_record() {
  return described([](Record<Straggler>& r) {
    using R = Straggler;
    r.about("A rank or link that is slow.");
    r.row<&R::what>();
    r.row<&R::rank>(IntRange{.low = 0});
    r.row<&R::other_rank>(IntRange{.low = 0}, "Of a link.");
    r.written_if([](const R& straggler) { return straggler.other_rank.has_value(); });
    r.row<&R::relative_time>("Over the median.");
    r.row<&R::score>(kAnyNumber, "Distance from the median in deviations.");
    r.row<&R::sentence>();
    r.named("Straggler").all_required();
  });
}

std::optional<std::string> text_in(ObjectReader& profile, const char* key) {
  return profile.has(key) ? std::optional(profile.required_string(key)) : std::nullopt;
}

// A list of the profile; empty where it is not there.
template <typename T>
std::vector<T> list_in(ObjectReader& profile, const char* key, RecordOf<T> record) {
  std::vector<T> list;
  if (profile.has(key)) kind::list(record).read(profile, key, list);
  return list;
}

struct TimedPoint {
  std::string kind{};
  double median = 0.0, spread = -1.0;
  bool noisy = false;
};

std::vector<TimedPoint> timed_points(ObjectReader& profile) {
  std::vector<TimedPoint> points;
  if (!profile.has("measurements")) return points;
  const std::string pointer = profile.pointer_to("measurements");
  for (const Json& measured : profile.required_array("measurements")) {
    ObjectReader reader(measured, profile.file(), fmt::format("{}/{}", pointer, points.size()));
    points.push_back({.kind = reader.required_string("kind"),
                      .median = reader.optional_number("median_seconds", 0.0),
                      .spread = reader.optional_number("relative_spread", -1.0),
                      .noisy = reader.optional_bool("noisy", false)});
  }
  return points;
}

double worst(const std::vector<double>& spreads) {
  return *std::max_element(spreads.begin(), spreads.end());
}

std::string noise_sentence(const std::vector<double>& spreads, int noisy) {
  return fmt::format(
      "{} points were timed. One standard deviation of a point is {} of its time in the median and "
      "{} at worst. {} stayed noisy when measured a second time.",
      count_text(static_cast<std::int64_t>(spreads.size())), percent_text(upper_median(spreads)),
      percent_text(worst(spreads)), noisy == 0 ? "None" : count_text(noisy));
}

std::optional<NoisePart> noise_of(const std::vector<TimedPoint>& points) {
  std::map<std::string, std::vector<const TimedPoint*>> by_kind;
  for (const TimedPoint& point : points) {
    if (point.median > 0.0 && point.spread >= 0.0) by_kind[point.kind].push_back(&point);
  }
  if (by_kind.empty()) return {};
  NoisePart noise;
  std::vector<double> all;
  int noisy = 0;
  for (const auto& [name, timed] : by_kind) {
    NoiseOfKind& kind = noise.kinds.emplace_back();
    std::vector<double> spreads;
    for (const TimedPoint* point : timed) {
      spreads.push_back(point->spread);
      kind.noisy += point->noisy ? 1 : 0;
      kind.points.push_back({point->median, point->spread});
    }
    kind.kind = name;
    kind.num_points = static_cast<std::int64_t>(timed.size());
    kind.median_relative_spread = upper_median(spreads);
    kind.worst_relative_spread = worst(spreads);
    all.insert(all.end(), spreads.begin(), spreads.end());
    noisy += kind.noisy;
  }
  noise.sentence = noise_sentence(all, noisy);
  return noise;
}

std::string devices_sentence(const DevicesPart& devices) {
  if (!devices.stragglers.empty()) {
    return fmt::format(
        "{} of {} ranks or links are slower than their peers. A job runs at the speed of the "
        "slowest.",
        devices.stragglers.size(), devices.ranks.size());
  }
  double slowest = 0.0;  // over the median rank, of what was measured of it
  for (const RankTimes& rank : devices.ranks) {
    slowest = std::max({slowest, rank.gemm, rank.memory, rank.network});
  }
  if (slowest <= 0.0) return "No rank is slower than its peers.";
  return fmt::format("None of {} ranks is slow: the slowest takes {} times the median rank's time.",
                     devices.ranks.size(), significant(slowest, 3));
}

// "1.04", or nothing where it was not measured.
std::string relative_time(double time) { return time > 0.0 ? significant(time, 3) : ""; }

constexpr std::size_t kMostRanks = 256;  // of a table; the record has all

std::string ranks_table(const std::vector<RankTimes>& ranks) {
  html::TableRows rows;
  for (const RankTimes& rank : ranks) {
    if (rows.size() == kMostRanks) break;
    rows.push_back({fmt::format("{}", rank.rank), html::escape(rank.host),
                    fmt::format("{}", rank.local_rank), relative_time(rank.gemm),
                    relative_time(rank.memory), relative_time(rank.network)});
  }
  return html::table("Time of each rank over the median rank's; above 1 is slower",
                     {{"rank", true},
                      {"host"},
                      {"device", true},
                      {"GEMM", true},
                      {"memory", true},
                      {"network", true}},
                     rows);
}

}  // namespace

const Record<ProfileFacts>& profile_facts_record() {
  return described([](Record<ProfileFacts>& r) {
    using R = ProfileFacts;
    r.about("Who measured, when, and how much.");
    r.rows<&R::created, &R::tool_version, &R::command>();
    r.row<&R::measured_points>(kind::count());
    r.named("ProfileFacts");
  });
}

const Record<NoisePart>& noise_record() {
  return described([](Record<NoisePart>& r) {
    r.about("How well the profile's points repeat.");
    r.row<&NoisePart::sentence>();
    r.row<&NoisePart::kinds>(noise_of_kind_record);
    r.named("Noise").all_required();
  });
}

const Record<DevicesPart>& devices_record() {
  return described([](Record<DevicesPart>& r) {
    using R = DevicesPart;
    r.about("How the profile's ranks compare.");
    r.row<&R::sentence>();
    r.row<&R::ranks>(rank_times_record);
    r.row<&R::stragglers>(straggler_record);
    r.named("Devices").all_required();
  });
}

void fill_from_profile(CalibrationPart& calibration, const Json& profile) {
  if (!profile.is_object()) return;
  ObjectReader reader(profile, "the measured profile");
  const std::vector<TimedPoint> points = timed_points(reader);
  calibration.profile = {.created = text_in(reader, "created"),
                         .tool_version = text_in(reader, "tool_version"),
                         .command = text_in(reader, "command"),
                         .measured_points = {}};
  if (reader.has("measurements")) {
    calibration.profile->measured_points = static_cast<std::int64_t>(points.size());
  }
  calibration.noise = noise_of(points);
  DevicesPart devices{.ranks = list_in<RankTimes>(reader, "ranks", rank_times_record),
                      .stragglers = list_in<Straggler>(reader, "stragglers", straggler_record)};
  devices.sentence = devices_sentence(devices);
  if (!devices.ranks.empty()) calibration.devices = std::move(devices);
  // Notes of the calibrator: noisy points, skipped points, a loaded machine.
  calibration.flagged = reader.optional_strings("notes");
}

std::string profile_page(const std::optional<ProfileFacts>& profile) {
  if (!profile) return "";
  return fmt::format("<p>Measured {} with <code>{}</code>: {} points.</p>\n",
                     html::escape(profile->created.value_or("")),
                     html::escape(profile->command.value_or("")),
                     profile->measured_points.value_or(0));
}

std::string noise_page(const std::optional<NoisePart>& noise) {
  if (!noise) return "";
  html::TableRows rows;
  for (const NoiseOfKind& kind : noise->kinds) {
    rows.push_back({html::escape(spoken(kind.kind)), fmt::format("{}", kind.num_points),
                    fmt::format("{:.1f}", kind.median_relative_spread * 100.0),
                    fmt::format("{:.1f}", kind.worst_relative_spread * 100.0),
                    fmt::format("{}", kind.noisy)});
  }
  return "<h3>Noise of the measurements</h3>\n" + html::paragraph(noise->sentence) +
         html::figure("noise", "One standard deviation of each measured point over its time.") +
         html::table("Noise by what was timed",
                     {{"timed"},
                      {"points", true},
                      {"median 1σ, %", true},
                      {"worst 1σ, %", true},
                      {"noisy when repeated", true}},
                     rows);
}

std::string devices_page(const std::optional<DevicesPart>& devices) {
  if (!devices) return "";
  std::vector<std::string> slow;
  for (const Straggler& straggler : devices->stragglers) slow.push_back(straggler.sentence);
  return "<h3>Slow devices</h3>\n" + html::paragraph(devices->sentence) +
         (slow.empty() ? "" : html::list(slow)) +
         html::details("Every rank", ranks_table(devices->ranks));
}

}  // namespace meshwright::reports
