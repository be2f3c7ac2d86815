// SPDX-License-Identifier: Apache-2.0
#include "calibrate/profile/profile_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "sim/base/job.h"
#include "sim/hardware/cluster.h"
#include "sim/json/reader.h"
#include "sim/json/records.h"

namespace meshwright::calibrate {
namespace {

constexpr std::array kPointKindNames{EnumName{PointKind::gemm, "gemm"},
                                     EnumName{PointKind::kernel, "kernel"},
                                     EnumName{PointKind::memory_copy, "memory_copy"},
                                     EnumName{PointKind::host_link, "host_link"},
                                     EnumName{PointKind::kernel_launch, "kernel_launch"},
                                     EnumName{PointKind::collective, "collective"},
                                     EnumName{PointKind::overlap, "overlap"},
                                     EnumName{PointKind::sustained_gemm, "sustained_gemm"},
                                     EnumName{PointKind::attention, "attention"}};
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
  for (const auto& [name, value] : machine.nccl_variables) json["nccl_variables"][name] = value;
  return json;
}

std::vector<std::pair<std::string, std::string>> texts_of(ObjectReader& reader, const char* key) {
  std::vector<std::pair<std::string, std::string>> texts;
  if (!reader.has(key)) return texts;
  for (const auto& [name, value] : reader.member(key).items()) {
    texts.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return texts;
}

MachineDescription machine_from_json(ObjectReader reader) {
  MachineDescription machine;
  machine.host = reader.required_string("host");
  machine.cpu = reader.required_string("cpu");
  machine.cores = reader.required_int("cores");
  machine.memory = bytes(reader.required_number("memory_bytes"));
  machine.kernel = reader.optional_string("kernel", "");
  machine.load_average = reader.optional_number("load_average", 0.0);
  machine.details = texts_of(reader, "details");
  machine.nccl_variables = texts_of(reader, "nccl_variables");
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

Json to_json(const KernelSizes& sizes) {
  return {{"positions", sizes.positions}, {"batch", sizes.batch},
          {"hidden", sizes.hidden},       {"ffn", sizes.ffn},
          {"heads", sizes.heads},         {"vocab", sizes.vocab}};
}

KernelSizes sizes_from_json(ObjectReader reader) {
  KernelSizes sizes;
  sizes.positions = reader.required_int("positions");
  sizes.batch = reader.required_int("batch");
  sizes.hidden = reader.required_int("hidden");
  sizes.ffn = reader.required_int("ffn");
  sizes.heads = reader.required_int("heads");
  sizes.vocab = reader.required_int("vocab");
  reader.finish();
  return sizes;
}

Json to_json(const AttentionShape& s) {
  return {{"batch", s.batch},         {"heads", s.heads},       {"query_groups", s.query_groups},
          {"positions", s.positions}, {"head_dim", s.head_dim}, {"causal", s.causal},
          {"backward", s.backward},   {"version", s.version}};
}

AttentionShape attention_from_json(ObjectReader reader) {
  AttentionShape s;
  s.batch = reader.required_int("batch");
  s.heads = reader.required_int("heads");
  s.query_groups = reader.required_int("query_groups");
  s.positions = reader.required_int("positions");
  s.head_dim = reader.required_int("head_dim");
  s.causal = reader.optional_bool("causal", s.causal);
  s.backward = reader.optional_bool("backward", s.backward);
  s.version = reader.optional_int("version", s.version, {.low = 0, .high = 9});
  reader.finish();
  return s;
}

Json to_json(const RankSpeed& rank) {
  return {{"rank", rank.rank}, {"local_rank", rank.local_rank}, {"host", rank.host},
          {"gemm", rank.gemm}, {"memory", rank.memory},         {"network", rank.network}};
}

RankSpeed rank_from_json(ObjectReader reader) {
  RankSpeed rank;
  rank.rank = reader.required_int("rank", {.low = 0});
  rank.local_rank = reader.required_int("local_rank", {.low = 0});
  rank.host = reader.required_string("host");
  rank.gemm = reader.required_number("gemm");
  rank.memory = reader.required_number("memory");
  rank.network = reader.required_number("network");
  reader.finish();
  return rank;
}

Json to_json(const Straggler& straggler) {
  Json json{{"what", straggler.what}, {"rank", straggler.rank}};
  if (straggler.other >= 0) json["other_rank"] = straggler.other;
  json["relative_time"] = straggler.relative_time;
  json["score"] = straggler.score;
  json["sentence"] = straggler.sentence;
  return json;
}

Straggler straggler_from_json(ObjectReader reader) {
  Straggler straggler;
  straggler.what = reader.required_string("what");
  straggler.rank = reader.required_int("rank", {.low = 0});
  straggler.other = reader.optional_int("other_rank", -1, {.low = 0});
  straggler.relative_time = reader.required_number("relative_time");
  straggler.score = reader.required_number("score");
  straggler.sentence = reader.required_string("sentence");
  reader.finish();
  return straggler;
}

// A profile stays small on any machine: of a large job only the ranks that are named are kept.
constexpr std::size_t kMostRanks = 1024;

Json ranks_json(const Profile& profile) {
  const auto is_named = [&](int rank) {
    return std::any_of(profile.stragglers.begin(), profile.stragglers.end(),
                       [rank](const Straggler& s) { return s.rank == rank || s.other == rank; });
  };
  Json json = Json::array();
  for (const RankSpeed& rank : profile.ranks) {
    if (profile.ranks.size() <= kMostRanks || is_named(rank.rank)) json.push_back(to_json(rank));
  }
  return json;
}

// Five digits: more than any clock here repeats, and a profile stays small.
double rounded(double value) { return std::strtod(fmt::format("{:.5g}", value).c_str(), nullptr); }

void add_what(Json& json, const MeasuredPoint& point) {
  if (point.multiplies()) {
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
    if (point.sizes) json["sizes"] = to_json(*point.sizes);
  } else if (point.kind == PointKind::host_link) {
    json["direction"] = name_of(point.direction);
  } else if (point.attention) {
    json["precision"] = name_of(point.precision);
    json["attention"] = to_json(*point.attention);
  }
  if (point.kind == PointKind::collective || point.kind == PointKind::overlap) {
    json["collective"] = name_of(point.collective);
    json["tier"] = name_of(point.tier);
    json["group_size"] = point.group_size;
    if (point.ranks_per_node > 0) json["ranks_per_node"] = point.ranks_per_node;
    if (point.groups_per_node > 0) json["groups_per_node"] = point.groups_per_node;
    if (point.stride > 1) json["stride"] = point.stride;
    if (point.cold) json["cold"] = true;
  }
}

void read_what(ObjectReader& reader, MeasuredPoint& point) {
  if (point.multiplies()) {
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
    if (reader.has("sizes")) point.sizes = sizes_from_json(reader.required_object("sizes"));
  } else if (point.kind == PointKind::attention) {
    point.precision = reader.optional_enum("precision", point.precision, kPrecisionNames);
    point.attention = attention_from_json(reader.required_object("attention"));
  } else if (point.kind == PointKind::host_link) {
    point.direction = reader.optional_enum("direction", point.direction, kHostDirectionNames);
  }
  if (point.kind == PointKind::collective || point.kind == PointKind::overlap) {
    point.collective = reader.optional_enum("collective", point.collective, kCollectiveNames);
    point.tier = reader.optional_enum("tier", point.tier, kTierNames);
    point.group_size = reader.required_int("group_size");
    point.ranks_per_node = reader.optional_int("ranks_per_node", 0, {.low = 0});
    point.groups_per_node = reader.optional_int("groups_per_node", 0, {.low = 0});
    point.stride = reader.optional_int("stride", 1);
    point.cold = reader.optional_bool("cold", false);
  }
}

void add_state(Json& json, const MeasuredPoint& point) {
  if (point.state.clock_mhz > 0.0) json["clock_mhz"] = point.state.clock_mhz;
  if (point.state.power_watts > 0.0) json["power_watts"] = point.state.power_watts;
  if (point.state.throttle_reasons != 0) json["throttle_reasons"] = point.state.throttle_reasons;
  if (point.throttled()) json["throttled"] = true;
  if (point.in_cache) json["in_cache"] = true;
}

void read_state(ObjectReader& reader, MeasuredPoint& point) {
  point.state.clock_mhz = reader.optional_number("clock_mhz", 0.0);
  point.state.power_watts = reader.optional_number("power_watts", 0.0);
  point.state.throttle_reasons = static_cast<unsigned long long>(
      reader.optional_int("throttle_reasons", 0, {.low = 0, .high = 0x1FF}));
  reader.optional_bool("throttled", false);  // says again what the reasons say
  point.in_cache = reader.optional_bool("in_cache", false);
}

MeasuredPoint read_measured_point(ObjectReader reader) {
  constexpr NumberRange kPositive{.low = 0.0, .low_excluded = true};
  MeasuredPoint point;
  point.kind = reader.optional_enum("kind", point.kind, kPointKindNames);
  read_what(reader, point);
  point.amount = bytes(reader.required_number("amount_bytes"));
  Measurement& m = point.measurement;
  m.summary.median = seconds(reader.required_number("median_seconds"));
  m.summary.min = seconds(reader.required_number("min_seconds"));
  m.summary.p10 = seconds(reader.required_number("p10_seconds"));
  m.summary.p90 = seconds(reader.required_number("p90_seconds"));
  m.mean = seconds(reader.optional_number("mean_seconds", 0.0, {.low = 0.0}));
  m.rank_mean = seconds(reader.optional_number("rank_mean_seconds", 0.0, {.low = 0.0}));
  m.summary.relative_spread = reader.required_number("relative_spread");
  m.summary.count = reader.required_int("samples");
  m.repetitions = reader.optional_int("repetitions", 1);
  m.stopped = reader.optional_enum("stopped", m.stopped, kStopReasonNames);
  m.repeated = reader.optional_bool("repeated", false);
  m.noisy = reader.optional_bool("noisy", false);
  read_state(reader, point);
  point.source = reader.optional_string("source", "");
  point.algorithm = reader.optional_string("algorithm", "");
  if (point.kind == PointKind::overlap) {
    point.product_alone = seconds(reader.required_number("product_alone_seconds"));
    point.collective_alone = seconds(reader.required_number("collective_alone_seconds", kPositive));
    point.product_beside = seconds(reader.required_number("product_beside_seconds"));
    point.collective_beside = seconds(reader.required_number("collective_beside_seconds"));
  }
  reader.finish();
  return point;
}

template <typename Item, typename Read>
std::vector<Item> read_items(ObjectReader& reader, std::string_view key, const Read& read) {
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
  json["median_seconds"] = rounded(m.summary.median.value());
  json["min_seconds"] = rounded(m.summary.min.value());
  json["p10_seconds"] = rounded(m.summary.p10.value());
  json["p90_seconds"] = rounded(m.summary.p90.value());
  if (m.mean > seconds(0)) json["mean_seconds"] = rounded(m.mean.value());
  if (m.rank_mean > seconds(0)) json["rank_mean_seconds"] = rounded(m.rank_mean.value());
  json["relative_spread"] = rounded(m.summary.relative_spread);
  json["samples"] = m.summary.count;
  json["repetitions"] = m.repetitions;
  json["stopped"] = name_of(m.stopped);
  if (m.repeated) json["repeated"] = true;
  if (m.noisy) json["noisy"] = true;
  add_state(json, point);
  if (!point.source.empty()) json["source"] = point.source;
  if (!point.algorithm.empty()) json["algorithm"] = point.algorithm;
  if (point.kind == PointKind::overlap) {
    json["product_alone_seconds"] = rounded(point.product_alone.value());
    json["collective_alone_seconds"] = rounded(point.collective_alone.value());
    json["product_beside_seconds"] = rounded(point.product_beside.value());
    json["collective_beside_seconds"] = rounded(point.collective_beside.value());
  }
  return json;
}

MeasuredPoint point_from_json(const Json& json, const std::string& file,
                              const std::string& pointer) {
  return read_measured_point(ObjectReader(json, file, pointer));
}

Json to_json(const Profile& profile) {
  Json json{{"schema", kProfileSchema},
            {"created", profile.created},
            {"tool_version", profile.tool_version},
            {"command", profile.command},
            {"machine", to_json(profile.machine)},
            {"cluster", meshwright::to_json(profile.cluster)},
            {"fits", Json::array()},
            {"not_measured", profile.not_measured},
            {"notes", profile.notes},
            {"ranks", ranks_json(profile)},
            {"stragglers", Json::array()},
            {"measurements", Json::array()}};
  if (!profile.onto.empty()) json["onto"] = profile.onto;
  if (profile.num_ranks > 0) json["num_ranks"] = profile.num_ranks;
  for (const Straggler& s : profile.stragglers) json["stragglers"].push_back(to_json(s));
  for (const Fit& fit : profile.fits) json["fits"].push_back(to_json(fit));
  for (const MeasuredPoint& point : profile.points) json["measurements"].push_back(to_json(point));
  return json;
}

Profile profile_from_json(const Json& json, const std::string& file) {
  ObjectReader reader(json, file);
  const std::string schema = reader.required_string("schema");
  if (schema != kProfileSchema) {
    reader.fail("schema", fmt::format("is \"{}\", allowed is \"{}\"", schema, kProfileSchema));
  }
  Profile profile;
  profile.created = reader.required_string("created");
  profile.tool_version = reader.optional_string("tool_version", "");
  profile.command = reader.optional_string("command", "");
  profile.onto = reader.optional_string("onto", "");
  profile.num_ranks = reader.optional_int("num_ranks", 0, {.low = 0});
  profile.machine = machine_from_json(reader.required_object("machine"));
  profile.cluster = cluster_from_json(reader.member("cluster"), file, reader.pointer_to("cluster"));
  profile.fits = read_items<Fit>(reader, "fits", fit_from_json);
  profile.points = read_items<MeasuredPoint>(reader, "measurements", read_measured_point);
  profile.ranks = read_items<RankSpeed>(reader, "ranks", rank_from_json);
  profile.stragglers = read_items<Straggler>(reader, "stragglers", straggler_from_json);
  if (reader.has("not_measured")) {
    for (const auto& subject : reader.required_array("not_measured")) {
      profile.not_measured.push_back(subject.is_string() ? subject.get<std::string>()
                                                         : subject.dump());
    }
  }
  if (reader.has("notes")) {
    for (const auto& note : reader.required_array("notes")) {
      profile.notes.push_back(note.is_string() ? note.get<std::string>() : note.dump());
    }
  }
  reader.finish();
  return profile;
}

}  // namespace meshwright::calibrate
