// SPDX-License-Identifier: Apache-2.0
// `scontrol show node`, in its usual form and with --oneliner: hosts with GPUs, how many and of
// which kind. Hosts that are down or drained, or whose GPUs are split into MIG slices, do not
// count.
#include <fmt/format.h>

#include <cstdlib>
#include <map>

#include "interop/read_cluster/hostlist.h"
#include "interop/read_cluster/read_cluster.h"
#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/hardware/named_device.h"

namespace meshwright::interop {
namespace {

constexpr int kMostGpusListed = 100'000;

// GPUs of a host by their type, "" where none is said; MIG slices apart.
struct Gres {
  std::map<std::string, int> gpus;
  int slices = 0;
};

// Sockets and indices in parentheses, which hold commas: "gpu:h100:8(S:0,2)".
std::string without_parentheses(const std::string& text) {
  std::string plain;
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' ? 1 : 0;
    if (depth == 0) plain += c;
    depth -= c == ')' && depth > 0 ? 1 : 0;
  }
  return plain;
}

// "gpu:h100:8" and "gpu:8" of Gres=, "gres/gpu:h100=8" and "gres/gpu=8" of CfgTRES=, which has the
// sum beside the types.
Gres gpus_in(const std::string& text) {
  Gres gres;
  for (std::string entry : split(without_parentheses(text), ',')) {
    if (entry.starts_with("gres/")) entry.erase(0, 5);
    const std::size_t last = entry.find_last_of(":=");
    const std::size_t first = entry.find_first_of(":=");
    if (last == std::string::npos || entry.substr(0, first) != "gpu") continue;
    const long count = std::strtol(entry.c_str() + last + 1, nullptr, 10);
    if (count < 1 || count > kMostGpusListed) continue;
    const std::string type = first < last ? entry.substr(first + 1, last - first - 1) : "";
    (names_a_slice(type) ? gres.slices : gres.gpus[type]) += static_cast<int>(count);
  }
  if (gres.gpus.size() > 1 || gres.slices > 0) gres.gpus.erase("");
  return gres;
}

bool is_out(const std::string& state) {
  for (const char* word : {"DOWN", "DRAIN", "FAIL", "MAINT", "FUTURE", "NOT_RESPONDING",
                           "NO_RESPOND", "UNKNOWN", "INVAL", "*"}) {
    if (contains(state, word)) return true;
  }
  return false;
}

// "4 h100 and 4 a100".
std::string kind_of(const Gres& gres) {
  std::string text;
  for (const auto& [type, count] : gres.gpus) {
    append_to_list(text, " and ", fmt::format("{} {}", count, type.empty() ? "GPUs" : type));
  }
  return text;
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
  std::map<std::string, int> hosts_by_kind;
  Gres known;  // of the hosts that count
  int without = 0;
  int out = 0;
  int sliced = 0;
  for (const Record& record : records_in(text, file)) {
    const int hosts = static_cast<int>(expanded_hostlist(record.names, record.place).size());
    if (hosts == 0) throw InputError(record.place.text(), "", "NodeName= names no host");
    const Gres listed = gpus_in(record.gres);
    const Gres gres = listed.gpus.empty() && listed.slices == 0 ? gpus_in(record.tres) : listed;
    if (gres.slices > 0) {
      sliced += hosts;
    } else if (gres.gpus.empty()) {
      without += hosts;
    } else if (is_out(record.state)) {
      out += hosts;
    } else {
      hosts_by_kind[kind_of(gres)] += hosts;
      known = gres;
    }
  }
  std::string left_out;
  const auto add = [&](int hosts, const char* why) {
    if (hosts > 0) append_to_list(left_out, ", ", fmt::format("{} {}", hosts, why));
  };
  add(without, "without GPUs");
  add(out, "down, drained or not responding");
  add(sliced, "with GPUs in MIG slices");
  if (hosts_by_kind.empty()) {
    throw InputError(file, "",
                     fmt::format("names no host with whole GPUs that is up ({})", left_out));
  }
  if (hosts_by_kind.size() > 1 || known.gpus.size() > 1) {
    std::string kinds;
    for (const auto& [kind, hosts] : hosts_by_kind) {
      append_to_list(kinds, "; ", fmt::format("{} with {}", hosts, kind));
    }
    throw InputError(file, "", "holds hosts with several kinds of GPUs: " + kinds,
                     "give the nodes of one partition and one kind: scontrol show node LIST");
  }
  const auto& [type, gpus] = *known.gpus.begin();
  facts.gpus_per_host = gpus;
  facts.num_hosts = hosts_by_kind.begin()->second;
  if (names_a_chip(type)) facts.devices.push_back(type);
  if (!left_out.empty()) facts.notes.push_back("hosts that are left out: " + left_out);
  return facts;
}

}  // namespace meshwright::interop
