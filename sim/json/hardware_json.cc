// SPDX-License-Identifier: Apache-2.0
// Devices as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "sim/base/job.h"
#include "sim/hardware/device.h"
#include "sim/json/amount_json.h"
#include "sim/json/records.h"

namespace meshwright {
namespace {

constexpr std::string_view kDeviceSchema = "meshwright.device/1";

std::vector<GemmPoint> read_gemm_points(ObjectReader& reader) {
  std::vector<GemmPoint> points;
  if (!reader.has("points")) return points;
  const Json& rows = reader.required_array("points");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row =
        read_point(reader, rows[i], i, 6, 5, "batch, m, n, k, seconds, relative spread");
    const auto size = [&](std::size_t c) {
      constexpr double kLargest = 1e12;
      const bool whole = row[c] <= kLargest && row[c] == std::floor(row[c]);
      if (!whole) fail_point(reader, i, fmt::format("has a size of {}; must be whole", row[c]));
      return static_cast<std::int64_t>(row[c]);
    };
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

AttentionRate read_attention_efficiency(ObjectReader reader) {
  const NumberRange fraction{.low = 0.0, .high = 2.0, .low_excluded = true};
  AttentionRate a;
  a.head_dim = reader.required_int("head_dim", {1, 65536});
  a.version = reader.optional_int("version", a.version, {0, 9});
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
          {"version", a.version},
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

}  // namespace

// Where a GPU's file does not say: PyTorch 2.1's context takes 0.47 to 0.92 GiB (ml-engineering,
// bigscience), a communicator 0.53 to 0.67 on an A100 (nccl issue 964).
constexpr Bytes kContextMemory = gibibytes(0.75);
constexpr Bytes kCommunicatorMemory = gibibytes(0.6);

Device device_from_json(const Json& json, const std::string& file, const std::string& pointer) {
  ObjectReader reader(json, file, pointer);
  check_schema(reader, kDeviceSchema);
  Device d;
  d.name = reader.required_string("name");
  d.source = reader.optional_string("source", "");
  d.num_multiprocessors = reader.required_int("num_multiprocessors", {1, 100'000});
  // Files of before `kind` was written: only a core was one multiprocessor.
  const DeviceKind meant = d.num_multiprocessors == 1 ? DeviceKind::cpu : DeviceKind::gpu;
  d.kind = reader.optional_enum("kind", meant, kDeviceKindNames);
  d.architecture = reader.optional_string("architecture", "");
  d.memory = bytes(require_amount(reader, "memory", kGibibytes));
  if (d.kind == DeviceKind::gpu) {
    d.context_memory =
        bytes(read_amount(reader, "context_memory", kGibibytes, kContextMemory.value()));
    d.communicator_memory =
        bytes(read_amount(reader, "communicator_memory", kGibibytes, kCommunicatorMemory.value()));
  }
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
  d.sustained_clock_fraction = reader.optional_number("sustained_clock_fraction",
                                                      d.sustained_clock_fraction, {0.0, 1.0, true});
  d.time_jitter = reader.optional_number("time_jitter", d.time_jitter, {0.0, 10.0});
  d.power_watts = reader.stated_number("power_watts");
  d.gemm = read_each<GemmModel>(reader, "gemm", read_gemm);
  if (d.gemm.empty()) reader.fail("gemm", "must hold at least one number format");
  d.block_scaling = reader.optional_bool("block_scaling", d.block_scaling);
  d.attention = read_each<AttentionRate>(reader, "attention", read_attention_efficiency);
  d.kernels = read_each<KernelRate>(reader, "kernels", read_kernel);
  reader.finish();
  return d;
}

Json to_json(const Device& d) {
  Json j{{"schema", kDeviceSchema}, {"name", d.name}, {"source", d.source}};
  j["kind"] = name_of(d.kind);
  if (!d.architecture.empty()) j["architecture"] = d.architecture;
  j["num_multiprocessors"] = d.num_multiprocessors;
  write_amount(j, "memory", d.memory.value(), kGibibytes);
  if (d.kind == DeviceKind::gpu) {
    write_amount(j, "context_memory", d.context_memory.value(), kGibibytes);
    write_amount(j, "communicator_memory", d.communicator_memory.value(), kGibibytes);
  }
  write_amount(j, "memory_bandwidth", d.memory_bandwidth.value(), kGigabytesPerSecond);
  j["memory_bandwidth_fraction"] = d.memory_bandwidth_fraction;
  j["memory_provenance"] = name_of(d.memory_provenance);
  write_amount(j, "kernel_launch", d.kernel_launch.value(), kMicroseconds);
  write_amount(j, "host_launch", d.host_launch.value(), kMicroseconds);
  j["overlap_slowdown"] = d.overlap_slowdown;
  write_amount(j, "host_link", d.host_link.value(), kGigabytesPerSecond);
  j["sustained_clock_fraction"] = d.sustained_clock_fraction;
  if (d.time_jitter > 0.0) j["time_jitter"] = d.time_jitter;
  j["power_watts"] = d.power_watts.value_or(0.0);
  write_each<GemmModel>(j, "gemm", d.gemm, write_gemm);
  j["block_scaling"] = d.block_scaling;
  write_each<AttentionRate>(j, "attention", d.attention, write_attention);
  write_each<KernelRate>(j, "kernels", d.kernels, write_kernel);
  return j;
}

}  // namespace meshwright
