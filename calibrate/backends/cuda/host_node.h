// SPDX-License-Identifier: Apache-2.0
// The NUMA node of the host next to a device. The kernel puts pinned memory on the node of the
// thread that asks for it, and a GPU copies from another socket's memory more slowly.
#pragma once

#include <sched.h>

#include <string>
#include <string_view>
#include <vector>

namespace meshwright::calibrate::cuda {

inline constexpr int kAnyNode = -1;

// Node of the PCI device "0000:3B:00.0", from sysfs; kAnyNode where nobody says.
int node_of_device(const std::string& pci_bus_id, const std::string& sysfs = "/sys");

// Numbers of a list as sysfs writes it: "0-3,8" is 0, 1, 2, 3, 8. Empty where it is none.
std::vector<int> numbers_in_list(std::string_view list);

// Those cores of the node that this process may use.
std::vector<int> usable_cores_of_node(int node, const std::string& sysfs = "/sys");

// What a profile says of where pinned memory lies: "node 1".
std::string pinned_memory_words(int node, const std::string& sysfs = "/sys");

// This thread runs on cores of the node while this lives; anywhere it may where none is usable.
class CoresOfNode {
 public:
  explicit CoresOfNode(int node, const std::string& sysfs = "/sys");
  CoresOfNode(const CoresOfNode&) = delete;
  CoresOfNode& operator=(const CoresOfNode&) = delete;
  ~CoresOfNode();

 private:
  cpu_set_t before_{};
  bool moved_ = false;
};

}  // namespace meshwright::calibrate::cuda
