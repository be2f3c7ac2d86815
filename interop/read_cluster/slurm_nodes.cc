// SPDX-License-Identifier: Apache-2.0
// `scontrol show node`, in its usual form and with --oneliner, and `sinfo` with a column GRES.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>

#include "interop/read_cluster/host_tally.h"
#include "interop/read_cluster/hostlist.h"
#include "interop/read_cluster/read_cluster.h"
#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

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
HostGpus gpus_in(const std::string& text) {
  HostGpus host;
  for (std::string entry : split(without_parentheses(text), ',')) {
    if (entry.starts_with("gres/")) entry.erase(0, 5);
    const std::size_t last = entry.find_last_of(":=");
    const std::size_t first = entry.find_first_of(":=");
    if (last == std::string::npos || entry.substr(0, first) != "gpu") continue;
    const std::string type = first < last ? entry.substr(first + 1, last - first - 1) : "";
    host.add(type, std::strtol(entry.c_str() + last + 1, nullptr, 10));
  }
  if (host.gpus.size() > 1 || host.slices > 0) host.gpus.erase("");
  return host;
}

// States of scontrol and, in lower case and short, of sinfo: "down*", "drng", "futr".
bool is_out(const std::string& state) {
  for (const char* word : {"DOWN", "DRAIN", "DRNG", "FAIL", "MAINT", "FUTURE", "FUTR",
                           "NOT_RESPONDING", "NO_RESPOND", "UNK", "INVAL", "*"}) {
    if (contains_any_case(state, word)) return true;
  }
  return false;
}

constexpr const char* kOnePartition =
    "give the nodes of one partition and one kind: scontrol show node LIST";

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

// Places of sinfo's columns that are read.
struct SinfoColumns {
  std::size_t names = 0, state = 0, gres = 0;
};

// A header of sinfo has NODELIST and STATE.
std::optional<SinfoColumns> sinfo_columns(const std::vector<std::string>& words) {
  const auto at = [&](const char* name) {
    return static_cast<std::size_t>(std::find(words.begin(), words.end(), name) - words.begin());
  };
  const SinfoColumns columns{.names = at("NODELIST"), .state = at("STATE"), .gres = at("GRES")};
  const bool both = columns.names < words.size() && columns.state < words.size();
  return both ? std::optional(columns) : std::nullopt;
}

}  // namespace

ClusterFacts read_slurm_nodes(std::string_view text, const std::string& file) {
  HostTally tally;
  for (const Record& record : records_in(text, file)) {
    const int hosts = static_cast<int>(expanded_hostlist(record.names, record.place).size());
    if (hosts == 0) throw InputError(record.place.text(), "", "NodeName= names no host");
    const HostGpus listed = gpus_in(record.gres);
    const bool said = !listed.gpus.empty() || listed.slices > 0;
    tally.add(hosts, said ? listed : gpus_in(record.tres), !is_out(record.state));
  }
  return tally.facts(file, kOnePartition);
}

bool has_sinfo(std::string_view text) {
  const std::vector<std::string> lines = split_lines(text);
  return std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
    return sinfo_columns(split_words(line)).has_value();
  });
}

ClusterFacts read_sinfo(std::string_view text, const std::string& file) {
  std::optional<SinfoColumns> columns;
  std::map<std::string, std::pair<std::string, std::string>> hosts;  // GRES and state by name
  int number = 0;
  for (const std::string& line : split_lines(text)) {
    ++number;
    const std::vector<std::string> words = split_words(line);
    if (const auto header = sinfo_columns(words)) {
      columns = header;
      if (columns->gres == words.size()) {
        throw InputError(file, "", "has no column GRES, which says the GPUs of a host",
                         "sinfo -N -o \"%N %G %T\"");
      }
      continue;
    }
    if (!columns || words.size() <= std::max({columns->names, columns->gres, columns->state}))
      continue;
    // A host is listed in the rows of all its partitions.
    for (const std::string& host : expanded_hostlist(words[columns->names], {file, number})) {
      hosts[host] = {words[columns->gres], words[columns->state]};
    }
  }
  HostTally tally;
  for (const auto& [host, said] : hosts) tally.add(1, gpus_in(said.first), !is_out(said.second));
  return tally.facts(file, "give the hosts of one partition: sinfo -p NAME -N -o \"%N %G %T\"");
}

}  // namespace meshwright::interop
