// SPDX-License-Identifier: Apache-2.0
#include "app/options/question.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/files/files.h"
#include "planner/search/space.h"
#include "reports/text/text.h"
#include "sim/base/error.h"
#include "sim/hardware/device_noun.h"

namespace meshwright::app {

std::string question_text(const Inputs& inputs) {
  const auto marked = [&](const char* name) {
    const auto& defaults = inputs.defaults;
    return std::find(defaults.begin(), defaults.end(), name) == defaults.end() ? "" : " (default)";
  };
  const Cluster& cluster = inputs.cluster;
  const std::string& framework = cluster.framework.name;
  const std::string where =
      inputs.has_cluster
          ? fmt::format("{}: {} x {}{}, framework {}{}", cluster.name,
                        reports::count_text(cluster.num_gpus()), only_device(cluster).name,
                        marked("gpus"), framework.empty() ? "none (unknown software)" : framework,
                        marked("framework"))
          : fmt::format("{} GPUs of no named cluster", reports::count_text(cluster.num_gpus()));
  const Job& job = inputs.job;
  return fmt::format("{} on {}\n{} tokens per sequence{}, {} sequences per step{}, {}{}\n",
                     inputs.model.name, where, reports::count_text(job.seq_length),
                     marked("seq_length"), reports::count_text(job.global_batch_size),
                     marked("global_batch_size"), name_of(job.precision), marked("precision"));
}

Layout layout_on(Inputs& inputs, const InputOptions& options, const std::string& path_or_text) {
  planner::StatedLayout stated = load_stated_layout(path_or_text, default_layout(inputs.cluster));
  Layout& layout = stated.layout;
  const int gpus = inputs.cluster.num_gpus();
  const int others = world_size(layout) / layout.data_parallel_size;
  if (!stated.says("data_parallel_size") && inputs.has_cluster && gpus >= others) {
    if (gpus % others != 0) {
      throw InputError(layout_source(path_or_text), "",
                       fmt::format("{} ranks do not divide {} {} into data-parallel groups", others,
                                   gpus, device_noun(inputs.cluster, gpus)),
                       "set dp, or use another --gpus");
    }
    layout.data_parallel_size = gpus / others;
  }
  layout = planner::with_default_overlaps(stated, inputs.cluster.framework.limits);
  if (!stated.says("moe_token_dispatcher_type")) {
    layout = with_proven_dispatcher(layout, inputs.cluster);
  }
  const int needed = world_size(layout);
  if (!inputs.has_cluster) {
    inputs.cluster.gpus_per_node = needed;
  } else if (options.gpus == 0 && needed <= gpus) {
    inputs.cluster = scaled_to(inputs.cluster, needed);
  } else if (needed != gpus) {
    throw InputError(layout_source(path_or_text), "",
                     fmt::format("needs {} {}, {} has {}", needed,
                                 device_noun(inputs.cluster, needed), inputs.cluster.name, gpus),
                     needed > gpus
                         ? fmt::format("use --gpus {} to plan for more nodes of this kind", needed)
                         : "leave dp out to use all devices");
  }
  return layout;
}

}  // namespace meshwright::app
