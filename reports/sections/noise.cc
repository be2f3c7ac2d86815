// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "reports/sections/sections_json.h"
#include "reports/text.h"
#include "sim/base/statistics.h"

namespace meshwright::reports {
namespace {

struct Kind {
  std::vector<double> spreads;
  int noisy = 0;
  Json points = Json::array();  // [median seconds, relative spread]
};

double number_or(const Json& json, const char* key, double default_value) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? found->get<double>() : default_value;
}

void add_noise(std::map<std::string, Kind>& kinds, const Json& point) {
  if (!point.is_object() || !point.contains("kind") || !point["kind"].is_string()) return;
  const double spread = number_or(point, "relative_spread", -1.0);
  const double median = number_or(point, "median_seconds", 0.0);
  if (spread < 0.0 || median <= 0.0) return;
  Kind& kind = kinds[point["kind"].get<std::string>()];
  kind.spreads.push_back(spread);
  kind.noisy += point.value("noisy", false) ? 1 : 0;
  kind.points.push_back({median, spread});
}

std::string noise_sentence(const std::vector<double>& spreads, int noisy) {
  return fmt::format(
      "{} points were timed: one standard deviation of a point is {} of its time in the median and "
      "{} at worst; {} stayed noisy when measured a second time.",
      count_text(static_cast<std::int64_t>(spreads.size())), percent_text(upper_median(spreads)),
      percent_text(*std::max_element(spreads.begin(), spreads.end())),
      noisy == 0 ? "none" : count_text(noisy));
}

Json array_of(const Json& profile, const char* key) {
  const auto found = profile.find(key);
  return found != profile.end() && found->is_array() ? *found : Json::array();
}

// The slowest over the median rank, of what was measured of it.
double slowest(const Json& ranks) {
  double most = 0.0;
  for (const Json& rank : ranks) {
    for (const char* what : {"gemm", "memory", "network"}) {
      most = std::max(most, number_or(Json(rank), what, 0.0));
    }
  }
  return most;
}

std::string devices_sentence(const Json& ranks, const Json& stragglers) {
  if (ranks.empty()) return "";
  if (!stragglers.empty()) {
    return fmt::format(
        "{} of {} ranks or links are slower than their peers; a job runs at the pace "
        "of the slowest.",
        stragglers.size(), ranks.size());
  }
  const double most = slowest(ranks);
  if (most <= 0.0) return "No rank stands out.";
  return fmt::format("No rank of {} stands out; the slowest takes {} times the median rank's time.",
                     ranks.size(), significant(most, 3));
}

}  // namespace

Json noise_section(const Json& profile) {
  std::map<std::string, Kind> kinds;
  if (profile.is_object() && profile.contains("measurements")) {
    for (const Json& point : profile["measurements"]) add_noise(kinds, point);
  }
  if (kinds.empty()) return {};
  std::vector<double> all;
  int noisy = 0;
  Json json{{"sentence", ""}, {"kinds", Json::array()}};
  for (auto& [name, kind] : kinds) {
    all.insert(all.end(), kind.spreads.begin(), kind.spreads.end());
    noisy += kind.noisy;
    json["kinds"].push_back(
        {{"kind", name},
         {"num_points", kind.spreads.size()},
         {"median_relative_spread", upper_median(kind.spreads)},
         {"worst_relative_spread", *std::max_element(kind.spreads.begin(), kind.spreads.end())},
         {"noisy", kind.noisy},
         {"point_columns", {"median_seconds", "relative_spread"}},
         {"points", std::move(kind.points)}});
  }
  json["sentence"] = noise_sentence(all, noisy);
  return json;
}

Json devices_section(const Json& profile) {
  if (!profile.is_object()) return {};
  Json ranks = array_of(profile, "ranks");
  Json stragglers = array_of(profile, "stragglers");
  if (ranks.empty()) return {};
  const std::string text = devices_sentence(ranks, stragglers);
  return {{"sentence", text}, {"ranks", std::move(ranks)}, {"stragglers", std::move(stragglers)}};
}

}  // namespace meshwright::reports
