// SPDX-License-Identifier: Apache-2.0
#include "app/commands/serving/service_launch.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "app/files/checkpoint_names.h"
#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::app {
namespace {

interop::LaunchedPool launched_pool(const planner::ServingPool& pool, interop::PoolRole role) {
  interop::LaunchedPool launched;
  launched.role = role;
  launched.replicas = pool.replicas;
  launched.options = pool.options;
  return launched;
}

// Checkpoints in fp8 state by themselves whether their scales are of blocks.
bool alike(WeightFormat a, WeightFormat b) {
  const auto is_fp8 = [](WeightFormat one) {
    return one == WeightFormat::fp8 || one == WeightFormat::fp8_block;
  };
  return a == b || (is_fp8(a) && is_fp8(b));
}

struct FormFile {
  interop::ServingForm form;
  const char *target, *file_name;
};
constexpr std::array kFormFiles{
    FormFile{interop::ServingForm::command, "Commands", "serve.sh"},
    FormFile{interop::ServingForm::kubernetes, "Kubernetes", "serve.yaml"},
    FormFile{interop::ServingForm::dynamo, "Dynamo", "dynamo.yaml"}};

}  // namespace

interop::ServingForm launch_form_of(const std::string& name) {
  for (const auto& form : interop::kServingFormNames) {
    if (form.name == name) return form.value;
  }
  throw InputError(
      "--launch-form", "",
      fmt::format("unknown form \"{}\"; expected command, kubernetes or dynamo", name));
}

interop::ServingLaunch service_launch(const ServingScenario& scenario,
                                      const planner::Deployment& deployment,
                                      const ServedCheckpoint& checkpoint) {
  interop::ServingLaunch launch;
  launch.engine = scenario.engine.kind;
  launch.engine_version = scenario.engine.version;
  launch.model = checkpoint.name.empty() ? scenario.model.name : checkpoint.name;
  const WeightFormat wanted = scenario.options.weights.format;
  const auto stored = checkpoint.stored
                          ? checkpoint.stored
                          : format_in_name(launch.model, scenario.model.moe.has_value());
  const bool as_stored = alike(stored.value_or(WeightFormat::bf16), wanted);
  if (!as_stored) launch.weights = wanted;
  if (deployment.prefill) {
    launch.pools.push_back(launched_pool(*deployment.prefill, interop::PoolRole::prefill));
  }
  launch.pools.push_back(launched_pool(deployment.pool, deployment.prefill
                                                            ? interop::PoolRole::decode
                                                            : interop::PoolRole::aggregated));
  return launch;
}

interop::ServingHosts serving_hosts(const Cluster& cluster) {
  const Device& device = only_device(cluster);
  interop::ServingHosts hosts;
  hosts.devices = cluster.gpus_per_tray > 0 ? cluster.gpus_per_tray : cluster.gpus_per_node;
  if (device.kind == DeviceKind::cpu) {
    hosts.device = interop::ServedDevice::core;
  } else if (device.architecture.starts_with("cdna") ||
             lower_case(device.name).starts_with("amd")) {
    hosts.device = interop::ServedDevice::amd_gpu;
    hosts.cdna4 = device.architecture == "cdna4";
  }
  return hosts;
}

std::vector<LaunchFile> service_launch_files(const interop::ServingLaunch& launch,
                                             const interop::ServingHosts& hosts) {
  std::vector<LaunchFile> files;
  for (const FormFile& form : kFormFiles) {
    LaunchFile file;
    file.target = form.target;
    file.names_of = fmt::format("{} {}", interop::title_of(launch.engine), launch.engine_version);
    file.file_name = form.file_name;
    file.notes = {launch.weights
                      ? fmt::format("The engine makes {} weights of {}, or it stores "
                                    "them so.",
                                    name_of(*launch.weights), launch.model)
                      : fmt::format("{} states the format of its weights.", launch.model)};
    try {
      file.text = interop::write_serving(launch, form.form, hosts);
    } catch (const InputError& error) {
      file.refusal = error.what();
    }
    files.push_back(std::move(file));
  }
  return files;
}

}  // namespace meshwright::app
