// SPDX-License-Identifier: Apache-2.0
#include "calibrate/calibrated_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "calibrate/launch/rank_hosts.h"
#include "calibrate/measure/shared_devices.h"
#include "calibrate/profile/onto.h"
#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::calibrate {

void refuse_shared_devices(Communicator& world, const DeviceDescription& device) {
  if (device.device_kind() == DeviceKind::cpu) return;
  const std::string words = shared_device(device_ids(world, detail(device.details, "pci_bus_id")));
  if (words.empty()) return;
  // With --gpus-per-task=1 a rank sees its own GPU alone, and NCCL finds no NVLink
  // (NVIDIA/nccl#1066).
  throw SystemError(
      words,
      "start one rank per GPU: fewer --ranks, or under srun as many tasks per node as "
      "GPUs with --gpus-per-node=8 --gpu-bind=none; not --gpus-per-task, which hides "
      "the other GPUs from NCCL");
}

Bytes least_free_memory(HostRanks& world, const DeviceDescription& device) {
  return bytes(-world.host_max(-device.free_memory.value()));
}

Cluster measured_cluster(const RankSlots& slots, const DeviceDescription& device,
                         const Profile& profile) {
  Cluster cluster;
  cluster.name = profile.machine.host;
  cluster.source = "measured " + profile.created;
  cluster.num_nodes = slots.num_nodes;
  cluster.gpus_per_node = slots.num_ranks / slots.num_nodes;
  only_device(cluster).name = device.name;
  only_device(cluster).source = cluster.source;
  only_device(cluster).kind = device.device_kind();
  only_device(cluster).architecture = device.architecture;
  only_device(cluster).num_multiprocessors = device.num_multiprocessors;
  only_device(cluster).memory = device.memory;
  const bool cores = only_device(cluster).kind == DeviceKind::cpu;
  if (cores) cluster.node_fabric = NodeFabric::shared_memory;
  cluster.intra_node.name = cores ? "shared memory" : "device links";
  cluster.inter_node.name = "network";
  return cluster;
}

void check_onto(const Cluster& base, const Cluster& measured) {
  const std::string why = cannot_be(base, measured);
  if (why.empty()) return;
  throw SystemError("--onto: " + why,
                    "meshwright cluster list says what there is; without --onto only what is "
                    "measured is in the profile");
}

bool same_nccl_variables(Communicator& world, const MachineDescription& machine) {
  std::string all;
  for (const auto& [name, value] : machine.nccl_variables) all += name + '=' + value + '\n';
  const std::vector<double> hashes =
      gathered(world, static_cast<double>(std::hash<std::string>{}(all)));
  return std::all_of(hashes.begin(), hashes.end(), [&](double h) { return h == hashes.front(); });
}

std::string throttled_words(const std::vector<MeasuredPoint>& points) {
  std::size_t count = 0;
  unsigned long long reasons = 0;
  for (const MeasuredPoint& p : points) {
    if (!p.throttled()) continue;
    ++count;
    reasons |= p.state.throttle_reasons;
  }
  if (count == 0) return "";
  return fmt::format(
      "{} of {} points were measured while a device was held back ({}); they are marked "
      "\"throttled\": their rates are those of a hot, busy device",
      count, points.size(), throttle_names(reasons));
}

std::string noisy_words(const std::vector<MeasuredPoint>& points) {
  std::size_t count = 0;
  const MeasuredPoint* worst = nullptr;
  for (const MeasuredPoint& p : points) {
    if (!p.measurement.noisy) continue;
    ++count;
    const double spread = p.measurement.summary.relative_spread;
    if (worst == nullptr || spread > worst->measurement.summary.relative_spread) worst = &p;
  }
  if (worst == nullptr) return "";
  return fmt::format(
      "{} of {} points were measured twice and differ still, {} most, by {:.0f} %: other programs "
      "on this machine, or more ranks than cores; --budget gives more samples",
      count, points.size(), worst->label(), 100.0 * worst->measurement.summary.relative_spread);
}

std::string neighbours_words(const std::vector<MeasuredPoint>& points) {
  constexpr double kMuchFaster = 1.3;
  const GroupCall* widest = nullptr;
  double most = kMuchFaster;
  for (const MeasuredPoint& strided : points) {
    const auto* apart = strided.as<timed::CollectiveCall>();
    if (apart == nullptr || apart->call.stride <= 1) continue;
    MeasuredPoint beside = strided;
    std::get<timed::CollectiveCall>(beside.subject).call.stride = 1;
    const auto near = std::find_if(points.begin(), points.end(),
                                   [&](const MeasuredPoint& p) { return same_subject(p, beside); });
    if (near == points.end() || strided.time() / near->time() < most) continue;
    most = strided.time() / near->time();
    widest = &apart->call;
  }
  if (widest == nullptr) return "";
  return fmt::format(
      "an all-reduce over {} neighbours is {:.1f} times as fast as over every {}th GPU: neighbours "
      "have links of their own; --onto a cluster with \"gpus_per_island\" keeps both apart",
      widest->group_size, most, widest->stride);
}

std::string reduction_in_switch(const std::vector<MeasuredPoint>& points) {
  bool told = false;
  for (const MeasuredPoint& p : points) {
    const GroupCall* call = call_of(p.subject);
    if (call == nullptr) continue;
    if (contains(call->algorithm, "nvls")) return "chosen by NCCL";
    told = told || !call->algorithm.empty();
  }
  return told ? "not chosen" : "";
}

}  // namespace meshwright::calibrate
