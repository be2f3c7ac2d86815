// SPDX-License-Identifier: Apache-2.0
// `scontrol show node`, in its usual form and with --oneliner: hosts with GPUs, how many and of
// which kind. Hosts that are down or drained do not count.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include "interop/read_cluster/hostlist.h"
#include "interop/read_cluster/read_cluster.h"
#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/hardware/named_device.h"

namespace meshwright::interop {
namespace {

struct Gres {
  std::string type;
  int count = 0;
};

// "gpu:h100:8(S:0-1)", "gpu:8", "gres/gpu=8": the last number behind "gpu".
std::optional<Gres> gpus_in(const std::string& text) {
  const std::size_t at = text.find("gpu");
  if (at == std::string::npos) return std::nullopt;
  const std::size_t end = std::min(text.find_first_of("(, ", at), text.size());
  const std::string entry = text.substr(at, end - at);
  const std::size_t colon = entry.find_last_of(":=");
  if (colon == std::string::npos) return std::nullopt;
  Gres gres;
  for (const char c : entry.substr(colon + 1)) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0 || gres.count > 100'000)
      return std::nullopt;
    gres.count = 10 * gres.count + (c - '0');
  }
  const std::size_t first = entry.find(':');
  if (first != std::string::npos && first < colon) {
    gres.type = entry.substr(first + 1, colon - first - 1);
  }
  return gres;
}

bool is_out(const std::string& state) {
  for (const char* word : {"DOWN", "DRAIN", "FAIL", "MAINT", "FUTURE", "POWERED_DOWN"}) {
    if (contains(state, word)) return true;
  }
  return false;
}

struct Record {
  std::string names, gres, tres, state;
  Place place;
};

// A record begins at every "NodeName=".
std::vector<Record> records_in(std::string_view text, const std::string& file) {
  std::vector<Record> records;
  int line = 1;
  std::size_t begin = 0;
  const auto take = [&](std::size_t end) {
    const std::string word(text.substr(begin, end - begin));
    const std::size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    // Behind a prefix of a log, too: "0: NodeName=".
    if (key == "NodeName") records.push_back({value, "", "", "", {file, line}});
    if (records.empty()) return;
    if (key == "Gres") records.back().gres = value;
    if (key == "CfgTRES") records.back().tres = value;
    if (key == "State") records.back().state = value;
  };
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : '\n';
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') continue;
    if (i > begin) take(i);
    begin = i + 1;
    if (c == '\n') ++line;
  }
  return records;
}

}  // namespace

ClusterFacts read_slurm_nodes(std::string_view text, const std::string& file) {
  ClusterFacts facts;
  std::map<int, int> hosts_by_gpus;
  std::map<std::string, int> hosts_by_type;
  int without = 0;
  int out = 0;
  for (const Record& record : records_in(text, file)) {
    const int hosts = static_cast<int>(expanded_hostlist(record.names, record.place).size());
    if (hosts == 0) throw InputError(record.place.text(), "", "NodeName= names no host");
    const std::optional<Gres> gres =
        gpus_in(record.gres) ? gpus_in(record.gres) : gpus_in(record.tres);
    if (!gres || gres->count == 0) {
      without += hosts;
    } else if (is_out(record.state)) {
      out += hosts;
    } else {
      hosts_by_gpus[gres->count] += hosts;
      if (!gres->type.empty()) hosts_by_type[gres->type] += hosts;
    }
  }
  if (hosts_by_gpus.empty()) {
    throw InputError(file, "",
                     fmt::format("names no host with GPUs that is up ({} without, {} down "
                                 "or drained)",
                                 without, out));
  }
  if (hosts_by_gpus.size() > 1 || hosts_by_type.size() > 1) {
    std::string kinds;
    for (const auto& [gpus, hosts] : hosts_by_gpus)
      kinds += fmt::format(" {} with {} GPUs;", hosts, gpus);
    for (const auto& [type, hosts] : hosts_by_type) kinds += fmt::format(" {} of {};", hosts, type);
    throw InputError(file, "", "holds several kinds of hosts:" + kinds,
                     "give the nodes of one partition: scontrol show node LIST");
  }
  facts.gpus_per_host = hosts_by_gpus.begin()->first;
  facts.num_hosts = hosts_by_gpus.begin()->second;
  for (const auto& [type, hosts] : hosts_by_type) {
    if (names_a_chip(type)) facts.devices.push_back(type);
  }
  if (without > 0)
    facts.notes.push_back(fmt::format("{} hosts without GPUs are left out", without));
  if (out > 0)
    facts.notes.push_back(fmt::format("{} hosts are down or drained, and left out", out));
  return facts;
}

}  // namespace meshwright::interop
