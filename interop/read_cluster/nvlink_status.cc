// SPDX-License-Identifier: Apache-2.0
// `nvidia-smi nvlink -s`: "GPU 0: NAME (UUID: ...)", then a line for each link, "Link 0: 26.562
// GB/s" or "Link 0: <inactive>". The rate is that of the wire, one way.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "interop/read_cluster/read_cluster.h"
#include "sim/base/error.h"
#include "sim/base/number_text.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

// What a link carries of its wire's rate: 16 of 17 symbols behind the forward error correction of
// NVLink 4 and 5 (450 of 478.1 GB/s with 18 links, 900 of 956.25), 32 of 33 on V100 (150 of 154.7),
// all of it on A100 (300 of 300).
struct LinkRate {
  double wire, data;  // GB/s
};
constexpr LinkRate kLinkRates[] = {{53.125, 50.0}, {26.5625, 25.0}, {25.78125, 25.0}, {25.0, 25.0}};

// GB/s of data; nothing for a rate that no generation here has.
std::optional<double> data_rate(double wire) {
  constexpr double kPrinted = 0.002;  // the tool cuts digits
  for (const LinkRate& rate : kLinkRates) {
    if (std::abs(rate.wire - wire) < kPrinted) return rate.data;
  }
  return std::nullopt;
}

struct GpuLinks {
  int up = 0, down = 0;
  double wire = 0.0;  // GB/s of one link
};

// The text behind "Link N:", empty for another line: "C2C Link 0:", "Link layer:" of ibstat.
std::string link_status(const std::string& line) {
  const std::vector<std::string> words = split_words(line);
  if (words.size() < 3 || words[0] != "Link") return "";
  const std::size_t digits = words[1].find_first_not_of("0123456789");
  return digits > 0 && digits + 1 == words[1].size() && words[1].back() == ':' ? words[2] : "";
}

// By GPU, as the tool numbers them.
std::map<std::string, GpuLinks> links_in(std::string_view text) {
  std::map<std::string, GpuLinks> all;
  std::string gpu;
  for (const std::string& line : split_lines(text)) {
    const std::vector<std::string> words = split_words(line);
    if (words.size() > 1 && words[0] == "GPU" && words[1].back() == ':') gpu = words[1];
    const std::string status = link_status(line);
    if (status.empty() || gpu.empty()) continue;
    const double wire = std::atof(status.c_str());
    GpuLinks& links = all[gpu];
    ++(wire > 0.0 ? links.up : links.down);
    links.wire = std::max(links.wire, wire);
  }
  return all;
}

}  // namespace

bool has_nvlink_status(std::string_view text) { return !links_in(text).empty(); }

ClusterFacts read_nvlink_status(std::string_view text, const std::string& file) {
  const std::map<std::string, GpuLinks> all = links_in(text);
  GpuLinks most;
  std::string fewer;
  for (const auto& [gpu, links] : all) {
    if (links.up > most.up) most = links;
  }
  for (const auto& [gpu, links] : all) {
    const std::string name = gpu.substr(0, gpu.size() - 1);
    if (links.up < most.up) append_to_list(fewer, ", ", fmt::format("GPU {} ({})", name, links.up));
  }
  if (most.up == 0) throw InputError(file, "", "all NVLinks are inactive");
  ClusterFacts facts;
  facts.gpus_per_host = static_cast<int>(all.size());
  if (const std::optional<double> data = data_rate(most.wire)) {
    facts.nvlink_gb_per_s = *data * most.up;
  } else {
    facts.notes.push_back(fmt::format(
        "a link's wire has {} GB/s, which share is data is not known: the cluster's rate is kept",
        number_text(most.wire)));
  }
  if (!fewer.empty()) {
    facts.notes.push_back(fmt::format(
        "{} of {} NVLinks are up on most GPUs, and fewer on {}: the rate is as if all were up",
        most.up, most.up + most.down, fewer));
  }
  return facts;
}

}  // namespace meshwright::interop
