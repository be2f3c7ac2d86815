// SPDX-License-Identifier: Apache-2.0
#include "calibrate/profile_json.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "sim/json/reader.h"
#include "sim/json/records.h"
#include "sim/names.h"

namespace meshwright::calibrate {
namespace {

constexpr std::array kPointKindNames{EnumName{PointKind::gemm, "gemm"},
                                     EnumName{PointKind::kernel, "kernel"},
                                     EnumName{PointKind::memory_copy, "memory_copy"},
                                     EnumName{PointKind::host_link, "host_link"},
                                     EnumName{PointKind::kernel_launch, "kernel_launch"},
                                     EnumName{PointKind::collective, "collective"}};
constexpr std::array kStopReasonNames{EnumName{StopReason::go_on, "go_on"},
                                      EnumName{StopReason::steady, "steady"},
                                      EnumName{StopReason::time_used_up, "time_used_up"},
                                      EnumName{StopReason::enough_samples, "enough_samples"}};

Json to_json(const MachineDescription& machine) {
  Json json{{"host", machine.host},     {"cpu", machine.cpu},
            {"cores", machine.cores},   {"memory_bytes", machine.memory.value()},
            {"kernel", machine.kernel}, {"load_average", machine.load_average},
            {"details", Json::object()}};
  for (const auto& [name, value] : machine.details) json["details"][name] = value;
  return json;
}

MachineDescription machine_from_json(ObjectReader reader) {
  MachineDescription machine;
  machine.host = reader.required_string("host");
  machine.cpu = reader.required_string("cpu");
  machine.cores = reader.required_int("cores");
  machine.memory = bytes(reader.required_number("memory_bytes"));
  machine.kernel = reader.optional_string("kernel", "");
  machine.load_average = reader.optional_number("load_average", 0.0);
  if (reader.has("details")) {
    for (const auto& [name, value] : reader.member("details").items()) {
      machine.details.emplace_back(name,
                                   value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
  reader.finish();
  return machine;
}

Json to_json(const Fit& fit) {
  Json json{{"what", fit.what},
            {"points", fit.points},
            {"relative_spread", fit.relative_spread},
            {"parameters", Json::array()}};
  for (const FittedParameter& p : fit.parameters) {
    // A parameter that the points do not bound has no finite error: null.
    json["parameters"].push_back(
        {{"name", p.name},
         {"value", p.value},
         {"standard_error",
          std::isfinite(p.standard_error) ? Json(p.standard_error) : Json(nullptr)}});
  }
  return json;
}

Fit fit_from_json(ObjectReader reader) {
  Fit fit;
  fit.what = reader.required_string("what");
  fit.points = reader.required_int("points", {.low = 0});
  fit.relative_spread = reader.required_number("relative_spread");
  const auto& parameters = reader.required_array("parameters");
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    ObjectReader p(parameters[i], reader.file(),
                   fmt::format("{}/{}", reader.pointer_to("parameters"), i));
    fit.parameters.push_back({.name = p.required_string("name"),
                              .value = p.required_number("value"),
                              .standard_error = p.optional_number("standard_error", INFINITY)});
    p.finish();
  }
  reader.finish();
  return fit;
}

void add_what(Json& json, const MeasuredPoint& point) {
  if (point.kind == PointKind::gemm) {
    json["precision"] = name_of(point.precision);
    json["batch"] = point.shape.batch;
    json["m"] = point.shape.m;
    json["n"] = point.shape.n;
    json["k"] = point.shape.k;
    json["transpose_a"] = point.transpose_a;
    json["transpose_b"] = point.transpose_b;
    json["accumulate"] = point.accumulate;
  } else if (point.kind == PointKind::kernel) {
    json["kernel"] = point.kernel;
    json["launches"] = point.launches;
  } else if (point.kind == PointKind::collective) {
    json["collective"] = name_of(point.collective);
    json["tier"] = name_of(point.tier);
    json["group_size"] = point.group_size;
  }
}

void read_what(ObjectReader& reader, MeasuredPoint& point) {
  if (point.kind == PointKind::gemm) {
    point.precision = reader.optional_enum("precision", point.precision, kPrecisionNames);
    point.shape = {.batch = reader.required_int("batch"),
                   .m = reader.required_int("m"),
                   .n = reader.required_int("n"),
                   .k = reader.required_int("k")};
    point.transpose_a = reader.optional_bool("transpose_a", false);
    point.transpose_b = reader.optional_bool("transpose_b", false);
    point.accumulate = reader.optional_bool("accumulate", false);
  } else if (point.kind == PointKind::kernel) {
    point.kernel = reader.required_string("kernel");
    point.launches = reader.optional_int("launches", 1);
  } else if (point.kind == PointKind::collective) {
    point.collective = reader.optional_enum("collective", point.collective, kCollectiveNames);
    point.tier = reader.optional_enum("tier", point.tier, kTierNames);
    point.group_size = reader.required_int("group_size");
  }
}

MeasuredPoint point_from_json(ObjectReader reader) {
  MeasuredPoint point;
  point.kind = reader.optional_enum("kind", point.kind, kPointKindNames);
  read_what(reader, point);
  point.amount = bytes(reader.required_number("amount_bytes"));
  Measurement& m = point.measurement;
  m.summary.median = seconds(reader.required_number("median_seconds"));
  m.summary.min = seconds(reader.required_number("min_seconds"));
  m.summary.p10 = seconds(reader.required_number("p10_seconds"));
  m.summary.p90 = seconds(reader.required_number("p90_seconds"));
  m.summary.relative_spread = reader.required_number("relative_spread");
  m.summary.count = reader.required_int("samples");
  m.repetitions = reader.optional_int("repetitions", 1);
  m.stopped = reader.optional_enum("stopped", m.stopped, kStopReasonNames);
  m.repeated = reader.optional_bool("repeated", false);
  m.noisy = reader.optional_bool("noisy", false);
  reader.finish();
  return point;
}

template <typename Item, typename Read>
std::vector<Item> read_all(ObjectReader& reader, std::string_view key, const Read& read) {
  std::vector<Item> items;
  if (!reader.has(key)) return items;
  const auto& array = reader.required_array(key);
  for (std::size_t i = 0; i < array.size(); ++i) {
    items.push_back(read(
        ObjectReader(array[i], reader.file(), fmt::format("{}/{}", reader.pointer_to(key), i))));
  }
  return items;
}

}  // namespace

Json to_json(const MeasuredPoint& point) {
  const Measurement& m = point.measurement;
  Json json{{"kind", name_of(point.kind)}};
  add_what(json, point);
  json["amount_bytes"] = point.amount.value();
  json["median_seconds"] = m.summary.median.value();
  json["min_seconds"] = m.summary.min.value();
  json["p10_seconds"] = m.summary.p10.value();
  json["p90_seconds"] = m.summary.p90.value();
  json["relative_spread"] = m.summary.relative_spread;
  json["samples"] = m.summary.count;
  json["repetitions"] = m.repetitions;
  json["stopped"] = name_of(m.stopped);
  if (m.repeated) json["repeated"] = true;
  if (m.noisy) json["noisy"] = true;
  return json;
}

Json to_json(const Profile& profile) {
  Json json{{"schema", kProfileSchema},
            {"created", profile.created},
            {"tool_version", profile.tool_version},
            {"command", profile.command},
            {"machine", to_json(profile.machine)},
            {"cluster", meshwright::to_json(profile.cluster)},
            {"fits", Json::array()},
            {"notes", profile.notes},
            {"measurements", Json::array()}};
  for (const Fit& fit : profile.fits) json["fits"].push_back(to_json(fit));
  for (const MeasuredPoint& point : profile.points) json["measurements"].push_back(to_json(point));
  return json;
}

Profile profile_from_json(const nlohmann::json& json, const std::string& file) {
  ObjectReader reader(json, file);
  const std::string schema = reader.required_string("schema");
  if (schema != kProfileSchema) {
    reader.fail("schema", fmt::format("is \"{}\", allowed is \"{}\"", schema, kProfileSchema));
  }
  Profile profile;
  profile.created = reader.required_string("created");
  profile.tool_version = reader.optional_string("tool_version", "");
  profile.command = reader.optional_string("command", "");
  profile.machine = machine_from_json(reader.required_object("machine"));
  profile.cluster = cluster_from_json(reader.member("cluster"), file, reader.pointer_to("cluster"));
  profile.fits = read_all<Fit>(reader, "fits", fit_from_json);
  profile.points = read_all<MeasuredPoint>(reader, "measurements", point_from_json);
  if (reader.has("notes")) {
    for (const auto& note : reader.required_array("notes")) {
      profile.notes.push_back(note.is_string() ? note.get<std::string>() : note.dump());
    }
  }
  reader.finish();
  return profile;
}

}  // namespace meshwright::calibrate
