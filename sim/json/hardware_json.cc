// SPDX-License-Identifier: Apache-2.0
// Devices and clusters as JSON. Rates and times are written in the unit of their friendly key
// (rate_gb_per_s, latency_us) when that reads back to the same bits, else in base units
// (rate_bytes_per_s, latency_seconds); both are read.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <tuple>

#include "sim/json/reader.h"
#include "sim/json/records.h"
#include "sim/names.h"

namespace meshwright {
namespace {

constexpr std::string_view kDeviceSchema = "meshwright.device/1";
constexpr std::string_view kClusterSchema = "meshwright.cluster/1";

struct Unit {
  std::string_view suffix;
  double scale;
  std::string_view base_suffix;
};
constexpr Unit kGibibytes{"_gib", 1073741824.0, "_bytes"};
constexpr Unit kKibibytes{"_kib", 1024.0, "_bytes"};
constexpr Unit kGigabytesPerSecond{"_gb_per_s", 1e9, "_bytes_per_s"};
constexpr Unit kTeraflops{"_tflops", 1e12, "_flops_per_s"};
constexpr Unit kMicroseconds{"_us", 1e6, "_seconds"};
constexpr Unit kNanoseconds{"_ns", 1e9, "_seconds"};

// Times divide (1e-6 is not exact), the others multiply.
double to_base(double value, const Unit& unit) {
  return unit.base_suffix == "_seconds" ? value / unit.scale : value * unit.scale;
}
double from_base(double value, const Unit& unit) {
  return unit.base_suffix == "_seconds" ? value * unit.scale : value / unit.scale;
}

std::string key_of(std::string_view name, std::string_view suffix) {
  return fmt::format("{}{}", name, suffix);
}

void write_amount(Json& json, std::string_view name, double value, const Unit& unit) {
  const double friendly = from_base(value, unit);
  for (const double candidate :
       {friendly, std::nextafter(friendly, 0.0), std::nextafter(friendly, HUGE_VAL)}) {
    if (to_base(candidate, unit) != value) continue;
    json[key_of(name, unit.suffix)] = candidate;
    return;
  }
  json[key_of(name, unit.base_suffix)] = value;
}

// The amount in base units, or `otherwise`.
double read_amount(ObjectReader& reader, std::string_view name, const Unit& unit, double otherwise,
                   NumberRange range = {}) {
  const std::string friendly = key_of(name, unit.suffix), base = key_of(name, unit.base_suffix);
  if (reader.has(friendly) && reader.has(base)) {
    reader.fail(base, fmt::format("is given beside {}", friendly), "keep one of the two");
  }
  if (reader.has(friendly)) return to_base(reader.required_number(friendly, range), unit);
  return reader.optional_number(base, otherwise, range);
}
double require_amount(ObjectReader& reader, std::string_view name, const Unit& unit) {
  const NumberRange positive{.low = 0.0, .low_excluded = true};
  const std::string friendly = key_of(name, unit.suffix), base = key_of(name, unit.base_suffix);
  if (!reader.has(base)) return to_base(reader.required_number(friendly, positive), unit);
  return read_amount(reader, name, unit, 0.0, positive);
}

void check_schema(ObjectReader& reader, std::string_view schema) {
  const std::string given = reader.required_string("schema");
  if (given == schema) return;
  reader.fail("schema", fmt::format("is \"{}\"; this version reads \"{}\"", given, schema));
}

[[noreturn]] void fail_point(const ObjectReader& owner, std::size_t index,
                             const std::string& what) {
  throw InputError(owner.file(), fmt::format("{}/{}", owner.pointer_to("points"), index), what);
}

// Numbers of one row of a compact table of points.
std::vector<double> read_row(const ObjectReader& owner, const nlohmann::json& row,
                             std::size_t index, std::size_t columns, std::string_view what) {
  bool good = row.is_array() && row.size() == columns;
  for (std::size_t i = 0; good && i < columns; ++i) good = row[i].is_number();
  if (!good) fail_point(owner, index, fmt::format("is {}; must be [{}]", row.dump(), what));
  return row.get<std::vector<double>>();
}

void require_positive(const ObjectReader& owner, std::size_t index, double value,
                      std::string_view what) {
  if (value > 0.0 && std::isfinite(value)) return;
  fail_point(owner, index, fmt::format("has a {} of {}; must be > 0", what, value));
}

std::vector<GemmPoint> read_gemm_points(ObjectReader& reader) {
  std::vector<GemmPoint> points;
  if (!reader.has("points")) return points;
  const nlohmann::json& rows = reader.required_array("points");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = read_row(reader, rows[i], i, 6, "batch, m, n, k, seconds, relative spread");
    for (std::size_t c = 0; c < 5; ++c) {
      require_positive(reader, i, row[c], c < 4 ? "size" : "time");
    }
    const auto size = [&row](std::size_t c) { return static_cast<std::int64_t>(row[c]); };
    points.push_back({size(0), size(1), size(2), size(3), seconds(row[4]), row[5]});
  }
  const auto key = [](const GemmPoint& p) { return std::tie(p.m, p.n, p.k, p.batch); };
  std::stable_sort(points.begin(), points.end(),
                   [&](const GemmPoint& a, const GemmPoint& b) { return key(a) < key(b); });
  return points;
}

GemmModel read_gemm(ObjectReader reader) {
  const NumberRange fraction{.low = 0.0, .high = 1.0, .low_excluded = true};
  GemmModel g;
  reader.required_string("precision");
  g.precision = reader.optional_enum("precision", g.precision, kPrecisionNames);
  g.peak = flops_per_second(require_amount(reader, "peak", kTeraflops));
  g.sustained_fraction =
      reader.optional_number("sustained_fraction", g.sustained_fraction, fraction);
  g.tile_m = reader.optional_int("tile_m", g.tile_m, {1, 4096});
  g.tile_n = reader.optional_int("tile_n", g.tile_n, {1, 4096});
  g.ramp_k = reader.optional_number("ramp_k", g.ramp_k);
  g.k_latency = seconds(read_amount(reader, "k_latency", kNanoseconds, 0.0));
  g.wave_quantization =
      reader.optional_number("wave_quantization", g.wave_quantization, {0.0, 1.0, false});
  g.split_latency = seconds(read_amount(reader, "split_latency", kMicroseconds, 0.0));
  g.relative_spread = reader.optional_number("relative_spread", g.relative_spread);
  g.provenance = reader.optional_enum("provenance", g.provenance, kProvenanceNames);
  g.points = read_gemm_points(reader);
  reader.finish();
  return g;
}

AttentionRate read_attention(ObjectReader reader) {
  const NumberRange fraction{.low = 0.0, .high = 2.0, .low_excluded = true};
  AttentionRate a;
  a.head_dim = reader.required_int("head_dim", {1, 65536});
  a.forward_fraction = reader.required_number("forward_fraction", fraction);
  a.backward_fraction = reader.required_number("backward_fraction", fraction);
  a.ramp_keys = reader.optional_number("ramp_keys", a.ramp_keys);
  a.forward_tail_waves = reader.optional_number("forward_tail_waves", a.forward_tail_waves);
  a.backward_tail_waves = reader.optional_number("backward_tail_waves", a.backward_tail_waves);
  a.relative_spread = reader.optional_number("relative_spread", a.relative_spread);
  a.provenance = reader.optional_enum("provenance", a.provenance, kProvenanceNames);
  reader.finish();
  return a;
}

KernelRate read_kernel(ObjectReader reader) {
  KernelRate k;
  k.kernel = reader.required_string("kernel");
  k.rate = bytes_per_second(require_amount(reader, "rate", kGigabytesPerSecond));
  k.relative_spread = reader.optional_number("relative_spread", k.relative_spread);
  k.provenance = reader.optional_enum("provenance", k.provenance, kProvenanceNames);
  reader.finish();
  return k;
}

// Each element of an optional array of objects.
template <typename Record>
std::vector<Record> read_each(ObjectReader& reader, std::string_view key,
                              Record (*read)(ObjectReader)) {
  std::vector<Record> records;
  if (!reader.has(key)) return records;
  const nlohmann::json& array = reader.required_array(key);
  for (std::size_t i = 0; i < array.size(); ++i) {
    const std::string pointer = fmt::format("{}/{}", reader.pointer_to(key), i);
    records.push_back(read(ObjectReader(array[i], reader.file(), pointer)));
  }
  return records;
}

CollectiveCurve read_curve(ObjectReader reader) {
  CollectiveCurve curve;
  reader.required_string("collective");
  curve.collective = reader.optional_enum("collective", curve.collective, kCollectiveNames);
  curve.group_size = reader.required_int("group_size", {2, 1'000'000});
  const nlohmann::json& rows = reader.required_array("points");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = read_row(reader, rows[i], i, 3, "bytes, seconds, relative spread");
    require_positive(reader, i, row[0], "size");
    require_positive(reader, i, row[1], "time");
    curve.points.push_back({bytes(row[0]), seconds(row[1]), row[2]});
  }
  std::stable_sort(curve.points.begin(), curve.points.end(),
                   [](const auto& a, const auto& b) { return a.payload < b.payload; });
  reader.finish();
  return curve;
}

Link read_link(ObjectReader reader) {
  const NumberRange fraction{.low = 0.0, .high = 2.0};
  Link l;
  l.name = reader.optional_string("name", "");
  l.bandwidth = bytes_per_second(require_amount(reader, "bandwidth", kGigabytesPerSecond));
  l.bandwidth_fraction =
      reader.optional_number("bandwidth_fraction", l.bandwidth_fraction, {0.0, 2.0, true});
  l.ring_end_cost = reader.optional_number("ring_end_cost", l.ring_end_cost);
  l.sharp_bandwidth_fraction =
      reader.optional_number("sharp_bandwidth_fraction", l.sharp_bandwidth_fraction, fraction);
  l.sharp_min_group = reader.optional_int("sharp_min_group", l.sharp_min_group, {0, 1'000'000});
  l.base_latency = seconds(read_amount(reader, "base_latency", kMicroseconds, 0.0));
  l.latency = seconds(read_amount(reader, "latency", kMicroseconds, 0.0));
  l.ramp_latency = seconds(read_amount(reader, "ramp_latency", kMicroseconds, 0.0));
  l.ramp_bytes = bytes(read_amount(reader, "ramp", kKibibytes, 0.0));
  l.provenance = reader.optional_enum("provenance", l.provenance, kProvenanceNames);
  l.relative_spread = reader.optional_number("relative_spread", l.relative_spread);
  l.curves = read_each<CollectiveCurve>(reader, "curves", read_curve);
  reader.finish();
  return l;
}

Json write_gemm(const GemmModel& g) {
  Json j;
  j["precision"] = name_of(g.precision);
  write_amount(j, "peak", g.peak.value(), kTeraflops);
  j["sustained_fraction"] = g.sustained_fraction;
  j["tile_m"] = g.tile_m;
  j["tile_n"] = g.tile_n;
  j["ramp_k"] = g.ramp_k;
  write_amount(j, "k_latency", g.k_latency.value(), kNanoseconds);
  j["wave_quantization"] = g.wave_quantization;
  write_amount(j, "split_latency", g.split_latency.value(), kMicroseconds);
  j["relative_spread"] = g.relative_spread;
  j["provenance"] = name_of(g.provenance);
  if (g.points.empty()) return j;
  Json& points = j["points"] = Json::array();
  for (const GemmPoint& p : g.points) {
    points.push_back(Json::array({p.batch, p.m, p.n, p.k, p.time.value(), p.relative_spread}));
  }
  return j;
}

Json write_attention(const AttentionRate& a) {
  return {{"head_dim", a.head_dim},
          {"forward_fraction", a.forward_fraction},
          {"backward_fraction", a.backward_fraction},
          {"ramp_keys", a.ramp_keys},
          {"forward_tail_waves", a.forward_tail_waves},
          {"backward_tail_waves", a.backward_tail_waves},
          {"relative_spread", a.relative_spread},
          {"provenance", name_of(a.provenance)}};
}

Json write_kernel(const KernelRate& k) {
  Json j{{"kernel", k.kernel}};
  write_amount(j, "rate", k.rate.value(), kGigabytesPerSecond);
  j["relative_spread"] = k.relative_spread;
  j["provenance"] = name_of(k.provenance);
  return j;
}

Json write_curve(const CollectiveCurve& curve) {
  Json j{{"collective", name_of(curve.collective)}, {"group_size", curve.group_size}};
  Json& points = j["points"] = Json::array();
  for (const CollectivePoint& p : curve.points) {
    points.push_back(Json::array({p.payload.value(), p.time.value(), p.relative_spread}));
  }
  return j;
}

Json write_link(const Link& l) {
  Json j{{"name", l.name}};
  write_amount(j, "bandwidth", l.bandwidth.value(), kGigabytesPerSecond);
  j["bandwidth_fraction"] = l.bandwidth_fraction;
  j["ring_end_cost"] = l.ring_end_cost;
  j["sharp_bandwidth_fraction"] = l.sharp_bandwidth_fraction;
  j["sharp_min_group"] = l.sharp_min_group;
  write_amount(j, "base_latency", l.base_latency.value(), kMicroseconds);
  write_amount(j, "latency", l.latency.value(), kMicroseconds);
  write_amount(j, "ramp_latency", l.ramp_latency.value(), kMicroseconds);
  write_amount(j, "ramp", l.ramp_bytes.value(), kKibibytes);
  j["provenance"] = name_of(l.provenance);
  j["relative_spread"] = l.relative_spread;
  if (l.curves.empty()) return j;
  Json& curves = j["curves"] = Json::array();
  for (const CollectiveCurve& curve : l.curves) curves.push_back(write_curve(curve));
  return j;
}

template <typename Record>
void write_each(Json& json, std::string_view key, const std::vector<Record>& records,
                Json (*write)(const Record&)) {
  if (records.empty()) return;
  Json& array = json[std::string(key)] = Json::array();
  for (const Record& record : records) array.push_back(write(record));
}

}  // namespace

Device device_from_json(const nlohmann::json& json, const std::string& file,
                        const std::string& pointer) {
  ObjectReader reader(json, file, pointer);
  check_schema(reader, kDeviceSchema);
  Device d;
  d.name = reader.required_string("name");
  d.source = reader.optional_string("source", "");
  d.num_multiprocessors = reader.required_int("num_multiprocessors", {1, 100'000});
  d.memory = bytes(require_amount(reader, "memory", kGibibytes));
  d.memory_bandwidth =
      bytes_per_second(require_amount(reader, "memory_bandwidth", kGigabytesPerSecond));
  d.memory_bandwidth_fraction = reader.optional_number(
      "memory_bandwidth_fraction", d.memory_bandwidth_fraction, {0.0, 1.5, true});
  d.memory_provenance =
      reader.optional_enum("memory_provenance", d.memory_provenance, kProvenanceNames);
  d.kernel_launch = seconds(read_amount(reader, "kernel_launch", kMicroseconds, 0.0));
  d.host_launch = seconds(read_amount(reader, "host_launch", kMicroseconds, 0.0));
  d.overlap_slowdown = reader.optional_number("overlap_slowdown", d.overlap_slowdown, {0.0, 1.0});
  d.host_link = bytes_per_second(read_amount(reader, "host_link", kGigabytesPerSecond, 0.0));
  d.power_watts = reader.optional_number("power_watts", d.power_watts);
  d.gemm = read_each<GemmModel>(reader, "gemm", read_gemm);
  if (d.gemm.empty()) reader.fail("gemm", "must hold at least one number format");
  d.attention = read_each<AttentionRate>(reader, "attention", read_attention);
  d.kernels = read_each<KernelRate>(reader, "kernels", read_kernel);
  reader.finish();
  return d;
}

Framework read_framework(ObjectReader reader) {
  constexpr NumberRange kFactor{0.1, 10.0};
  Framework f;
  f.name = reader.required_string("name");
  f.source = reader.optional_string("source", "");
  f.gemm_time_factor = reader.optional_number("gemm_time_factor", 1.0, kFactor);
  f.kernel_time_factor = reader.optional_number("kernel_time_factor", 1.0, kFactor);
  f.collective_time_factor = reader.optional_number("collective_time_factor", 1.0, kFactor);
  f.host_launch = seconds(read_amount(reader, "host_launch", kMicroseconds, 0.0));
  f.micro_batch_overhead = seconds(read_amount(reader, "micro_batch_overhead", kMicroseconds, 0.0));
  f.step_overhead = seconds(read_amount(reader, "step_overhead", kMicroseconds, 0.0));
  f.relative_spread = reader.optional_number("relative_spread", 0.0, {0.0, 1.0});
  reader.finish();
  return f;
}

Json write_framework(const Framework& f) {
  Json j{{"name", f.name}, {"source", f.source}};
  j["gemm_time_factor"] = f.gemm_time_factor;
  j["kernel_time_factor"] = f.kernel_time_factor;
  j["collective_time_factor"] = f.collective_time_factor;
  write_amount(j, "host_launch", f.host_launch.value(), kMicroseconds);
  write_amount(j, "micro_batch_overhead", f.micro_batch_overhead.value(), kMicroseconds);
  write_amount(j, "step_overhead", f.step_overhead.value(), kMicroseconds);
  j["relative_spread"] = f.relative_spread;
  return j;
}

Cluster cluster_from_json(const nlohmann::json& json, const std::string& file,
                          const std::string& pointer) {
  ObjectReader reader(json, file, pointer);
  check_schema(reader, kClusterSchema);
  Cluster c;
  c.name = reader.required_string("name");
  c.source = reader.optional_string("source", "");
  c.device = device_from_json(reader.member("device"), file, reader.pointer_to("device"));
  c.gpus_per_node = reader.required_int("gpus_per_node", {1, 100'000});
  c.num_nodes = reader.optional_int("num_nodes", c.num_nodes, {1, 1'000'000});
  c.intra_node = read_link(reader.required_object("intra_node"));
  c.inter_node = c.num_nodes == 1 && !reader.has("inter_node")
                     ? Link{}
                     : read_link(reader.required_object("inter_node"));
  c.nics_per_node = reader.optional_int("nics_per_node", c.nics_per_node, {0, 100'000});
  c.nodes_per_leaf = reader.optional_int("nodes_per_leaf", c.nodes_per_leaf, {1, 1'000'000});
  c.spine_oversubscription = reader.optional_number("spine_oversubscription",
                                                    c.spine_oversubscription, {1.0, 1000.0, false});
  c.price_per_gpu_hour = reader.optional_number("price_per_gpu_hour", c.price_per_gpu_hour);
  if (reader.has("framework")) c.framework = read_framework(reader.required_object("framework"));
  reader.finish();
  return c;
}

Json to_json(const Device& d) {
  Json j{{"schema", kDeviceSchema}, {"name", d.name}, {"source", d.source}};
  j["num_multiprocessors"] = d.num_multiprocessors;
  write_amount(j, "memory", d.memory.value(), kGibibytes);
  write_amount(j, "memory_bandwidth", d.memory_bandwidth.value(), kGigabytesPerSecond);
  j["memory_bandwidth_fraction"] = d.memory_bandwidth_fraction;
  j["memory_provenance"] = name_of(d.memory_provenance);
  write_amount(j, "kernel_launch", d.kernel_launch.value(), kMicroseconds);
  write_amount(j, "host_launch", d.host_launch.value(), kMicroseconds);
  j["overlap_slowdown"] = d.overlap_slowdown;
  write_amount(j, "host_link", d.host_link.value(), kGigabytesPerSecond);
  j["power_watts"] = d.power_watts;
  write_each<GemmModel>(j, "gemm", d.gemm, write_gemm);
  write_each<AttentionRate>(j, "attention", d.attention, write_attention);
  write_each<KernelRate>(j, "kernels", d.kernels, write_kernel);
  return j;
}

Json to_json(const Cluster& c) {
  Json j{{"schema", kClusterSchema}, {"name", c.name}, {"source", c.source}};
  j["device"] = to_json(c.device);
  j["gpus_per_node"] = c.gpus_per_node;
  j["num_nodes"] = c.num_nodes;
  j["intra_node"] = write_link(c.intra_node);
  if (c.inter_node.bandwidth.value() > 0.0) j["inter_node"] = write_link(c.inter_node);
  j["nics_per_node"] = c.nics_per_node;
  j["nodes_per_leaf"] = c.nodes_per_leaf;
  j["spine_oversubscription"] = c.spine_oversubscription;
  j["price_per_gpu_hour"] = c.price_per_gpu_hour;
  if (!(c.framework == Framework{})) j["framework"] = write_framework(c.framework);
  return j;
}

}  // namespace meshwright
