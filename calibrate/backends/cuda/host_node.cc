// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/cuda/host_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <optional>

namespace meshwright::calibrate::cuda {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

int node_of_device(const std::string& pci_bus_id, const std::string& sysfs) {
  std::string id = pci_bus_id;  // CUDA writes capitals, sysfs small letters
  std::transform(id.begin(), id.end(), id.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string line = first_line(sysfs + "/bus/pci/devices/" + id + "/numa_node");
  return std::max(kAnyNode, number(line).value_or(kAnyNode));
}

std::vector<int> numbers_in_list(std::string_view list) {
  std::vector<int> numbers;
  while (!list.empty()) {
    const std::string_view part = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), part.size() + 1));
    const std::size_t dash = part.find('-');
    const auto first = number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last >= CPU_SETSIZE) return {};
    for (int i = *first; i <= *last; ++i) numbers.push_back(i);
  }
  return numbers;
}

std::vector<int> usable_cores_of_node(int node, const std::string& sysfs) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (node < 0 || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return {};
  std::vector<int> cores = numbers_in_list(
      first_line(fmt::format("{}/devices/system/node/node{}/cpulist", sysfs, node)));
  std::erase_if(cores,
                [&](int core) { return !CPU_ISSET(static_cast<std::size_t>(core), &allowed); });
  return cores;
}

std::string pinned_memory_words(int node, const std::string& sysfs) {
  if (node < 0) return "any node";
  if (usable_cores_of_node(node, sysfs).empty()) {
    return fmt::format("any node (this rank may use no core of node {}, next to the device)", node);
  }
  return fmt::format("node {}", node);
}

CoresOfNode::CoresOfNode(int node, const std::string& sysfs) {
  const std::vector<int> cores = usable_cores_of_node(node, sysfs);
  if (cores.empty() || sched_getaffinity(0, sizeof before_, &before_) != 0) return;
  cpu_set_t there;
  CPU_ZERO(&there);
  for (const int core : cores) CPU_SET(static_cast<std::size_t>(core), &there);
  moved_ = sched_setaffinity(0, sizeof there, &there) == 0;
}

CoresOfNode::~CoresOfNode() {
  if (moved_) sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace meshwright::calibrate::cuda
