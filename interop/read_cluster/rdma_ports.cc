// SPDX-License-Identifier: Apache-2.0
// RDMA ports of one host: ibstat, ibstatus (infiniband-diags), ibv_devinfo (rdma-core) and
// ibdev2netdev (MLNX_OFED). Ports that are up on InfiniBand carry training; without any, the
// fastest ones on Ethernet do. ibdev2netdev's "(Down)" is of the IP interface: InfiniBand works
// without.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <optional>

#include "interop/read_cluster/read_cluster.h"
#include "sim/base/error.h"
#include "sim/base/number_text.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr std::size_t kMostPorts = 1024;

struct RdmaPort {
  std::optional<bool> infiniband;  // else Ethernet
  std::optional<bool> up;
  double gigabits = 0.0;  // a second; 0: not said
};
using RdmaPorts = std::map<std::pair<std::string, int>, RdmaPort>;  // by device and port

// A key of a line and its value: "Link layer: InfiniBand", "link_layer:  InfiniBand".
struct Setting {
  std::string key, value;
};

Setting setting_in(const std::string& line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string::npos) return {};
  std::string key;
  append_to_list(key, " ", fmt::format("{}", fmt::join(split_words(line.substr(0, colon)), " ")));
  return {lower_case(replaced(key, "_", " ")),
          fmt::format("{}", fmt::join(split_words(line.substr(colon + 1)), " "))};
}

int port_number(const std::string& text) { return std::atoi(text.substr(0, 4).c_str()); }

double number_before(const std::string& text) {
  const double value = std::strtod(text.c_str(), nullptr);
  constexpr double kMost = 100'000.0;
  return value > 0.0 && value < kMost ? value : 0.0;
}

// "CA 'mlx5_0'", "Infiniband device 'mlx5_0' port 1 status:": what stands in quotes.
std::string quoted_in(const std::string& line) {
  const std::size_t open = line.find('\'');
  const std::size_t close = open == std::string::npos ? open : line.find('\'', open + 1);
  return close == std::string::npos ? "" : line.substr(open + 1, close - open - 1);
}

class PortReader {
 public:
  RdmaPorts read(std::string_view text) {
    for (const std::string& line : split_lines(text)) {
      if (!begins_device(line) && !is_netdev(line) && port_ != nullptr) read_setting(line);
      if (ports_.size() > kMostPorts) break;
    }
    return std::move(ports_);
  }

 private:
  RdmaPort* at(const std::string& device, int number) { return &ports_[{device, number}]; }

  bool begins_device(const std::string& line) {
    const std::vector<std::string> words = split_words(line);
    if (words.empty()) return false;
    const auto last_two_are = [&](const char* first) {
      return words.size() >= 2 && words[words.size() - 2] == first;
    };
    if (last_two_are("CA") && !quoted_in(line).empty()) {
      device_ = quoted_in(line);
      port_ = at(device_, 1);
      return true;
    }
    if (contains(line, "nfini") && contains(line, "and device '") && contains(line, "' port ")) {
      device_ = quoted_in(line);
      port_ = at(device_, port_number(line.substr(line.find("' port ") + 7)));
      return true;
    }
    if (last_two_are("hca_id:")) {
      device_ = words.back();
      port_ = at(device_, 1);
      return true;
    }
    return false;
  }

  // "mlx5_0 port 1 ==> ib0 (Up)"; with -v the bus and the board stand before.
  bool is_netdev(const std::string& line) {
    const std::vector<std::string> words = split_words(line);
    const auto arrow = std::find(words.begin(), words.end(), "==>");
    const auto port = std::find(words.begin(), arrow, "port");
    if (arrow == words.end() || port == arrow || port == words.begin()) return false;
    if (words.end() - arrow < 2 || arrow - port < 2) return false;
    auto device = port - 1;
    if (words.front() != *device && contains(words.front(), ":") && port - words.begin() > 2) {
      device = words.begin() + 1;  // -v: "0000:1a:00.0 mlx5_0 (MT4129 - ...) ... port 1 (ACTIVE)"
    }
    RdmaPort& found = *at(*device, port_number(port[1]));
    const bool is_infiniband = arrow[1].starts_with("ib");
    if (!found.infiniband) found.infiniband = is_infiniband;
    const bool ip_up = words.end() - arrow > 2 && arrow[2] == "(Up)";
    const bool verbose = arrow - port > 2;
    if (verbose && !found.up) found.up = port[2] == "(ACTIVE)";
    if (!verbose && !is_infiniband && !found.up) found.up = ip_up;
    port_ = nullptr;
    return true;
  }

  void read_setting(const std::string& line) {
    const Setting setting = setting_in(line);
    const std::string value = lower_case(setting.value);
    if (setting.key.starts_with("port ") && setting.value.empty()) {
      port_ = at(device_, port_number(setting.key.substr(5)));
    } else if (setting.key == "port" && !device_.empty()) {
      port_ = at(device_, port_number(setting.value));
    } else if (setting.key == "state") {
      port_->up = contains(value, "active");
    } else if (setting.key == "rate") {
      port_->gigabits = number_before(value);
    } else if (setting.key == "link layer") {
      port_->infiniband = contains(value, "infiniband");
    } else if (setting.key == "active width") {
      lanes_ = number_before(value);
    } else if (setting.key == "active speed") {
      port_->gigabits = number_before(value) * std::max(1.0, lanes_);
    }
  }

  RdmaPorts ports_;
  std::string device_;
  RdmaPort* port_ = nullptr;
  double lanes_ = 1.0;
};

struct Listed {
  std::string names;
  int count = 0;
  void add(const std::string& name) {
    append_to_list(names, ", ", name);
    ++count;
  }
};

// mlx5_0, mlx5_1, ... without a gap: a whole host. A paste of a part says less.
bool is_whole(const RdmaPorts& ports) {
  std::vector<int> numbers;
  for (const auto& [place, port] : ports) {
    const std::string& name = place.first;
    const std::size_t underscore = name.rfind('_');
    if (underscore == std::string::npos || underscore + 1 == name.size()) continue;
    if (name.find_first_not_of("0123456789", underscore + 1) != std::string::npos) continue;
    if (contains(name, "bond")) continue;
    numbers.push_back(port_number(name.substr(underscore + 1)));
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] != static_cast<int>(i)) return false;
  }
  return ports.size() > 1;
}

struct Sorted {
  Listed counted, slower, ethernet, down;
  double gigabits = 0.0;
  bool infiniband = false;
};

std::string name_of_port(const std::pair<std::string, int>& place) {
  return place.second > 1 ? fmt::format("{} port {}", place.first, place.second) : place.first;
}

Sorted sorted_ports(const RdmaPorts& ports) {
  Sorted all;
  const auto is_up = [](const RdmaPort& port) { return port.up.value_or(true); };
  for (const auto& [place, port] : ports) {
    all.infiniband = all.infiniband || (is_up(port) && port.infiniband.value_or(false));
  }
  const auto counts = [&](const RdmaPort& port) {
    return is_up(port) && port.infiniband.value_or(false) == all.infiniband;
  };
  for (const auto& [place, port] : ports) {
    if (counts(port)) all.gigabits = std::max(all.gigabits, port.gigabits);
  }
  for (const auto& [place, port] : ports) {
    const bool fastest = port.gigabits == all.gigabits;
    Listed& list = !is_up(port)    ? all.down
                   : !counts(port) ? all.ethernet
                   : fastest       ? all.counted
                                   : all.slower;
    list.add(name_of_port(place));
  }
  return all;
}

}  // namespace

bool has_rdma_ports(std::string_view text) {
  return (contains(text, "CA '") && contains(text, "Port ")) || contains(text, "and device '") ||
         (contains(text, " port ") && contains(text, "==>")) || contains(text, "hca_id:");
}

ClusterFacts read_rdma_ports(std::string_view text, const std::string& file) {
  const RdmaPorts ports = PortReader().read(text);
  if (ports.empty()) throw InputError(file, "", "lists no RDMA port");
  if (ports.size() > kMostPorts) throw InputError(file, "", "lists more than 1024 ports");
  const Sorted all = sorted_ports(ports);
  if (all.counted.count == 0) {
    throw InputError(file, "", fmt::format("lists no port that is up; down: {}", all.down.names),
                     "run it on a host whose network is up");
  }
  ClusterFacts facts;
  const char* const layer = all.infiniband ? "InfiniBand" : "Ethernet (RoCE)";
  if (all.gigabits > 0.0) facts.nic_gb_per_s = all.gigabits / 8.0;
  const bool knows_count = is_whole(ports) && (all.infiniband || all.gigabits > 0.0);
  if (knows_count) facts.ports_listed = all.counted.count;
  facts.notes.push_back(fmt::format(
      "{} up: {} ({}){}", layer, all.counted.count, all.counted.names,
      all.gigabits > 0.0 ? fmt::format(", {} Gb/s each: {} GB/s", number_text(all.gigabits),
                                       number_text(all.gigabits / 8.0))
                         : std::string(", no rate said: the cluster's is kept")));
  if (!knows_count) {
    facts.notes.push_back(
        is_whole(ports)
            ? "which Ethernet ports carry training is not said: the cluster's number of "
              "NICs is kept"
            : "not all of a host's ports are listed: the cluster's number of NICs is kept");
  }
  if (all.slower.count > 0) {
    facts.notes.push_back(fmt::format("slower: {}: not counted", all.slower.names));
  }
  if (all.ethernet.count > 0) {
    facts.notes.push_back(
        fmt::format("Ethernet beside InfiniBand: {}: not counted", all.ethernet.names));
  }
  if (all.down.count > 0) facts.notes.push_back("down, not counted: " + all.down.names);
  return facts;
}

}  // namespace meshwright::interop
