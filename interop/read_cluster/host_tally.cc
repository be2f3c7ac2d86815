// SPDX-License-Identifier: Apache-2.0
#include "interop/read_cluster/host_tally.h"

#include <fmt/format.h>

#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/hardware/named_device.h"

namespace meshwright::interop {
namespace {

// "4 a100 and 4 h100".
std::string host_kind(const HostGpus& host) {
  std::string text;
  for (const auto& [type, count] : host.gpus) {
    append_to_list(text, " and ", fmt::format("{} {}", count, type.empty() ? "GPUs" : type));
  }
  return text;
}

}  // namespace

void HostGpus::add(const std::string& type, long count) {
  constexpr long kMostOfAHost = 100'000;
  if (count < 1 || count > kMostOfAHost) return;
  (names_a_slice(type) ? slices : gpus[type]) += static_cast<int>(count);
}

void HostTally::add(int hosts, const HostGpus& host, bool up) {
  if (host.slices > 0) {
    sliced_ += hosts;
  } else if (host.gpus.empty()) {
    without_ += hosts;
  } else if (!up) {
    out_ += hosts;
  } else {
    hosts_by_kind_[host_kind(host)] += hosts;
    known_ = host;
  }
}

ClusterFacts HostTally::facts(const std::string& file, const std::string& hint) const {
  std::string left_out;
  const auto add = [&](int hosts, const char* why) {
    if (hosts > 0) append_to_list(left_out, ", ", fmt::format("{} {}", hosts, why));
  };
  add(without_, "without GPUs");
  add(out_, "down, drained or not responding");
  add(sliced_, "with GPUs in MIG slices");
  if (hosts_by_kind_.empty()) {
    throw InputError(file, "",
                     fmt::format("names no host with whole GPUs that is up ({})", left_out));
  }
  if (hosts_by_kind_.size() > 1 || known_.gpus.size() > 1) {
    std::string kinds;
    for (const auto& [kind, hosts] : hosts_by_kind_) {
      append_to_list(kinds, "; ", fmt::format("{} with {}", hosts, kind));
    }
    throw InputError(file, "", "holds hosts with several kinds of GPUs: " + kinds, hint);
  }
  ClusterFacts facts;
  const auto& [type, gpus] = *known_.gpus.begin();
  facts.gpus_per_host = gpus;
  facts.num_hosts = hosts_by_kind_.begin()->second;
  if (names_a_chip(type)) facts.devices.push_back(type);
  if (!left_out.empty()) facts.notes.push_back("hosts that are left out: " + left_out);
  return facts;
}

}  // namespace meshwright::interop
