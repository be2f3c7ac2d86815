// SPDX-License-Identifier: Apache-2.0
// Errors of the GEMM and the collective model on measured tables that are given on the command
// line, on shapes and sizes that the fit never saw:
//   GEMM: held out where (7 * (n / 32) + 3 * (k / 32)) mod 5 = 0, so whole (n, k) pairs;
//   collectives: held out where round(log2(bytes)) mod 3 = 0, so whole sizes.
// Several frameworks' times of one shape count as their geometric mean; several library versions'
// as their median.
//
// hardware_accuracy NAME CLUSTER.json SYSTEM GEMM.csv NCCL.csv [OUT.svg]
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include "sim/base/error.h"
#include "sim/collective/collective_model.h"
#include "sim/json/records.h"
#include "sim/kernel_time/gemm_model.h"
#include "sim/record/json.h"
#include "tests/accuracy/csv_rows.h"
#include "tests/accuracy/scatter_svg.h"

namespace meshwright::accuracy {
namespace {

namespace fs = std::filesystem;

struct Sample {
  TimedPoint time;
  double size = 0.0;  // FLOPs or bytes
  bool held_out = false;
};

Json read_json(const fs::path& path) {
  std::ifstream in(path);
  if (!in) throw InputError(path.string(), "", "no such file");
  return Json::parse(in);
}

Cluster load_cluster(const fs::path& path) {
  Json json = read_json(path);
  if (json.at("device").is_string()) {
    json["device"] = read_json(path.parent_path() / json["device"].get<std::string>());
  }
  return cluster_from_json(json, path.string());
}

const GemmModel& bf16_model(const Device& device) {
  for (const GemmModel& g : device.gemm) {
    if (g.precision == Precision::bf16) return g;
  }
  throw InputError(device.name, "", "has no bf16 GEMM model");
}

std::vector<Sample> gemm_samples(const std::string& file, const Device& device) {
  // Shape -> framework -> logarithms of its times.
  std::map<std::array<std::int64_t, 3>, std::map<std::string, std::vector<double>>> shapes;
  for_each_row(file, [&](const Row& row) {
    shapes[{std::stoll(row.at("m")), std::stoll(row.at("n")), std::stoll(row.at("k"))}]
          [row.at("framework")]
              .push_back(std::log(std::stod(row.at("latency_ms")) * 1e-3));
  });
  const GemmModel& model = bf16_model(device);
  std::vector<Sample> samples;
  for (const auto& [mnk, frameworks] : shapes) {
    double sum = 0.0;
    for (const auto& [name, logs] : frameworks) {
      double own = 0.0;
      for (const double x : logs) own += x;
      sum += own / static_cast<double>(logs.size());
    }
    const GemmShape shape{1, mnk[0], mnk[1], mnk[2]};
    const double measured = std::exp(sum / static_cast<double>(frameworks.size()));
    samples.push_back({{measured, gemm_model_time(shape, model, device).value()},
                       gemm_flops(shape).value(),
                       (mnk[1] / 32 * 7 + mnk[2] / 32 * 3) % 5 == 0});
  }
  return samples;
}

// Broadcast and send are not in the tables.
const std::map<std::string, Collective> kCollectives{{"all_reduce", Collective::all_reduce},
                                                     {"all_gather", Collective::all_gather},
                                                     {"reduce_scatter", Collective::reduce_scatter},
                                                     {"alltoall", Collective::all_to_all}};

std::vector<Sample> collective_samples(const std::string& file, const std::string& system,
                                       const Cluster& cluster) {
  std::map<std::tuple<Collective, int, double>, std::vector<double>> calls;
  for_each_row(file, [&](const Row& row) {
    const auto found = kCollectives.find(row.at("collective"));
    const double size = std::stod(row.at("message_bytes"));
    if (row.at("system") != system || row.at("dtype") != "half" || found == kCollectives.end() ||
        size < 1024.0 || size > 8.6e9) {
      return;
    }
    calls[{found->second, std::stoi(row.at("num_gpus")), size}].push_back(
        std::stod(row.at("latency_us")) * 1e-6);
  });
  std::vector<Sample> samples;
  for (auto& [call, times] : calls) {
    const auto& [collective, n, size] = call;
    if (n > cluster.gpus_per_node) continue;
    std::sort(times.begin(), times.end());
    const Seconds model = collective_model_time(collective, bytes(size), {n, n, 1, 1}, cluster);
    samples.push_back(
        {{times[times.size() / 2], model.value()}, size, std::lround(std::log2(size)) % 3 == 0});
  }
  return samples;
}

void print_errors(const std::string& what, const std::vector<Sample>& samples,
                  const std::function<bool(const Sample&)>& wanted) {
  std::vector<double> errors;
  for (const Sample& s : samples) {
    if (!wanted(s)) continue;
    errors.push_back(100.0 * std::abs(s.time.modelled_seconds / s.time.measured_seconds - 1.0));
  }
  if (errors.empty()) return;
  std::sort(errors.begin(), errors.end());
  fmt::print("| {} | {} | {:.1f} | {:.1f} | {:.0f} |\n", what, errors.size(),
             errors[errors.size() / 2], errors[errors.size() * 9 / 10], errors.back());
}

std::vector<TimedPoint> held_out(const std::vector<Sample>& samples) {
  std::vector<TimedPoint> points;
  for (const Sample& s : samples) {
    if (s.held_out) points.push_back(s.time);
  }
  return points;
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() < 5) {
    fmt::print(stderr,
               "usage: hardware_accuracy NAME CLUSTER.json SYSTEM GEMM.csv NCCL.csv [OUT.svg]\n");
    return 2;
  }
  const std::string& name = arguments[0];
  const Cluster cluster = load_cluster(arguments[1]);
  const auto gemms = gemm_samples(arguments[3], cluster.device);
  const auto calls = collective_samples(arguments[4], arguments[2], cluster);
  const auto large = [](const Sample& s) { return s.size >= 1e9; };
  print_errors(name + " GEMM >= 1 GFLOP, held out", gemms,
               [&](const Sample& s) { return s.held_out && large(s); });
  print_errors(name + " GEMM < 1 GFLOP, held out", gemms,
               [&](const Sample& s) { return s.held_out && !large(s); });
  print_errors(name + " collectives, held out", calls, [](const Sample& s) { return s.held_out; });
  print_errors(name + " collectives, fitted", calls, [](const Sample& s) { return !s.held_out; });
  if (arguments.size() < 6) return 0;
  std::ofstream out(arguments[5]);
  out << scatter_svg(name, {{"bf16 GEMM, held-out (n, k) pairs", held_out(gemms)},
                            {"collectives inside a node, held-out sizes", held_out(calls)}});
  if (!out) throw SystemError("cannot write " + arguments[5]);
  return 0;
}

}  // namespace
}  // namespace meshwright::accuracy

int main(int argc, char** argv) {
  try {
    return meshwright::accuracy::run({argv + 1, argv + argc});
  } catch (const std::exception& e) {
    fmt::print(stderr, "hardware_accuracy: {}\n", e.what());
    return 2;
  }
}
