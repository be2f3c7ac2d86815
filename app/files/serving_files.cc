// SPDX-License-Identifier: Apache-2.0
#include "app/files/serving_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "app/files/files.h"
#include "sim/base/error.h"
#include "sim/json/serving_records.h"
#include "sim/record/parse.h"

namespace meshwright::app {

ServingCluster load_serving_cluster(const std::string& path, reports::Origin* origin) {
  ServingCluster found{load_cluster(path, nullptr, origin, 0), {}};
  const std::string file = require_config(path, "clusters", Reading::silent);
  Json json = read_json_file(file);
  std::string pointer = "/device/inference";
  if (json.contains("cluster") && !json.contains("device")) {  // a measured profile
    if (json.contains("inference")) {
      found.inference = inference_rates_from_json(json["inference"], file, "/inference");
      return found;
    }
    json = Json(json["cluster"]);
    pointer = "/cluster" + pointer;
  }
  if (!json.contains("device")) return found;
  std::string source = file;
  Json device = json["device"];
  if (device.is_string()) {
    source = file_of_part(device.get<std::string>(), kDevicePart, file);
    device = read_json_file(source);
    pointer = "/inference";
  }
  if (device.is_object() && device.contains("inference")) {
    found.inference = inference_rates_from_json(device["inference"], source, pointer);
  }
  return found;
}

namespace {

// "vllm-0.23.1" as its engine and 23.001 in units of the second number; "post1" behind it is
// no part of it.
std::optional<std::pair<std::string, double>> engine_version(const std::string& name) {
  const std::size_t dash = name.rfind('-');
  if (dash == std::string::npos || dash + 1 == name.size()) return std::nullopt;
  double value = 0, unit = 1000;
  std::istringstream numbers(name.substr(dash + 1));
  for (std::string part; std::getline(numbers, part, '.'); unit /= 1000) {
    const char* end = part.data() + part.size();
    int number = 0;
    if (std::from_chars(part.data(), end, number).ptr == part.data()) {
      if (unit == 1000) return std::nullopt;
      break;
    }
    value += unit * number;
  }
  return std::pair{name.substr(0, dash), value};
}

// The shipped version of the same engine that is nearest to a name, of those that are wanted.
std::string nearest_version(
    const std::string& name, const std::function<bool(const std::string&)>& wanted =
                                 [](const std::string&) { return true; }) {
  const auto asked = engine_version(name);
  std::string best;
  double least = 0;
  for (const std::string& shipped : config_names("engines")) {
    const auto known = engine_version(shipped);
    if (!asked || !known || known->first != asked->first || !wanted(shipped)) continue;
    const double far = std::abs(known->second - asked->second);
    if (best.empty() || far < least) {
      best = shipped;
      least = far;
    }
  }
  return best;
}

std::string newest_engine(const std::string& kind) {
  std::string newest;
  double most = -1;
  for (const std::string& shipped : config_names("engines")) {
    const auto known = engine_version(shipped);
    if (known && known->first == kind && known->second > most) {
      newest = shipped;
      most = known->second;
    }
  }
  return newest;
}

// Months in which shipped engines were released.
const std::map<std::string, std::string>& release_months() {
  static const std::map<std::string, std::string> months = [] {
    std::map<std::string, std::string> found;
    for (const std::string& name : config_names("engines")) {
      const std::string month = load_engine(name).released;
      if (!month.empty()) found[name] = month;
    }
    return found;
  }();
  return months;
}

// The newest that was released by then, else the oldest; empty: no file of that kind has a month.
std::string engine_of_date(const std::string& kind, const std::string& date) {
  std::string oldest, found;
  const auto& months = release_months();
  for (const auto& [name, month] : months) {
    if (engine_version(name)->first != kind) continue;
    if (oldest.empty() || month < months.at(oldest)) oldest = name;
    if (month <= date && (found.empty() || month > months.at(found))) found = name;
  }
  return found.empty() ? oldest : found;
}

}  // namespace

std::string nearest_engine(const std::string& kind, const std::string& version,
                           const std::string& date) {
  // From a digit that a dot follows.
  std::size_t begin = 0;
  for (; begin < version.size(); ++begin) {
    const std::size_t after = version.find_first_not_of("0123456789", begin);
    const bool digits = after != begin && after != std::string::npos;
    if (digits && version[after] == '.') break;
    if (digits) begin = after;
  }
  if (begin < version.size()) {
    const std::string asked = kind + "-" + version.substr(begin);
    if (std::string found = nearest_version(asked); !found.empty()) return found;
  }
  const std::string dated = date.empty() ? "" : engine_of_date(kind, date);
  return dated.empty() ? newest_engine(kind) : dated;
}

Engine load_engine(const std::string& path, reports::Origin* origin) {
  const std::string nearest = find_config(path, "engines") == path ? nearest_version(path) : "";
  const bool is_name = path.find('/') == std::string::npos && !path.ends_with(".json");
  if (is_name && !nearest.empty() && !std::filesystem::exists(path)) {
    throw InputError(path, "",
                     fmt::format("is no name in configs/engines; there are {}",
                                 fmt::join(config_names("engines"), ", ")),
                     "the nearest version is " + nearest);
  }
  const std::string file = require_config(path, "engines");
  Engine engine =
      engine_from_json(parse_json(read_text_input("engine", file, origin, path), file), file);
  if (engine.name.empty()) engine.name = std::filesystem::path(file).stem().string();
  return engine;
}

Engine with_overlap(Engine engine, bool overlapped) {
  if (engine.host.overlapped == overlapped) return engine;
  const std::string nearest = nearest_version(
      fmt::format("{}-{}", name_of(engine.kind), engine.version), [&](const std::string& shipped) {
        return load_engine(shipped).host.overlapped == overlapped;
      });
  if (nearest.empty()) return engine;
  const Engine other = load_engine(nearest);
  engine.host = other.host;
  engine.time_factor = other.time_factor;
  engine.prefill_factor = other.prefill_factor;
  return engine;
}

}  // namespace meshwright::app
