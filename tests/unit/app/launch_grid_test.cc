// SPDX-License-Identifier: Apache-2.0
// read(write(layout)) = layout for every launcher that is read, over a grid made from the table of
// fields: sizes, and every value of every field set alone on each of them. A layout that a launcher
// cannot say is refused with a reason; nothing in between.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "app/files/files.h"
#include "app/runs/launched_run.h"
#include "interop/read_launch/read_launch.h"
#include "interop/write_launch/launch.h"
#include "interop/write_launch/launch_target.h"
#include "interop/write_launch/vocabulary.h"
#include "planner/search/space.h"
#include "sim/layout/fields.h"
#include "sim/layout/short_name.h"
#include "sim/rules/rules.h"
#include "tests/unit/app/launch_names.h"

namespace meshwright::app {
namespace {

constexpr int kGpus = 64;
constexpr int kEnoughToRead = 20;  // failures of a launcher

std::vector<Layout> sizes(const Layout& defaults) {
  std::vector<Layout> all;
  for (const int tp : {1, 2, 8}) {
    for (const int pp : {1, 4}) {
      for (const int cp : {1, 2}) {
        for (const int vpp : {1, 2}) {
          if (pp == 1 && vpp > 1) continue;
          Layout l = defaults;
          l.tensor_parallel_size = tp;
          l.sequence_parallel = tp > 1;
          l.pipeline_parallel_size = pp;
          l.virtual_pipeline_parallel_size = vpp;
          l.schedule = implied_schedule(vpp);
          l.context_parallel_size = cp;
          l.data_parallel_size = kGpus / (tp * pp * cp);
          all.push_back(l);
        }
      }
    }
  }
  return all;
}

template <typename T>
std::vector<T> values_of(const Field<T>& field) {
  std::vector<T> values;
  for (const auto& entry : field.values.names) values.push_back(entry.value);
  return values;
}
template <typename Module>
std::vector<ModuleSet<Module>> values_of(const Field<ModuleSet<Module>>& field) {
  std::vector<ModuleSet<Module>> values;
  for (const auto& entry : field.values.names) {
    values.push_back({static_cast<std::uint8_t>(entry.value)});
  }
  return values;
}
std::vector<int> values_of(const Field<int>& field) {
  std::vector<int> values;
  for (int value = std::max(0, field.values.low); value <= std::min(4, field.values.high);
       ++value) {
    values.push_back(value);
  }
  return values;
}
std::vector<bool> values_of(const Field<bool>& /*field*/) { return {false, true}; }
std::vector<PipelineLayout> values_of(const Field<PipelineLayout>& /*field*/) {
  return {{}, std::get<PipelineLayout>(read_pipeline_layout("Et*7|t*9|t*9|t*7L"))};
}

// The grid of a framework, as its commands would run each of them.
std::vector<Layout> grid(const Framework& framework) {
  std::vector<Layout> all;
  for (const Layout& base : sizes(framework.defaults.layout)) {
    for_each_field([&](const auto& field) {
      for (const auto value : values_of(field)) {
        Layout l = base;
        l.*field.member = value;
        if (l.recompute_granularity == RecomputeGranularity::none &&
            (l.recompute_num_layers > 0 || l.recompute_modules != base.recompute_modules)) {
          const bool modules = l.recompute_modules != base.recompute_modules;
          l.recompute_granularity =
              modules ? RecomputeGranularity::selective : RecomputeGranularity::full;
          l.recompute_method = RecomputeMethod::block;
        }
        planner::set_overlaps(l, l.overlap_grad_reduce || field.name != "overlap_grad_reduce",
                              framework.limits);
        all.push_back(l);
      }
    });
  }
  return all;
}

Model model_for(const std::string& target, bool experts) {
  Model m = load_model("llama-3-8b");
  if (target == "llm-foundry") {
    m.activation = Activation::gelu;
    m.position_embedding = PositionEmbedding::alibi;
    m.max_position_embeddings = 0;
    m.tied_embeddings = true;
  }
  if (experts) {
    m.moe = MixtureOfExperts{.num_moe_experts = 16,
                             .moe_router_topk = 2,
                             .moe_ffn_hidden_size = 2048,
                             .moe_shared_expert_intermediate_size = 2048};
  }
  return m;
}

struct Tally {
  int same = 0, refused = 0, illegal = 0, different = 0;
};

// As a user has it: DeepSpeed's file beside the command that starts it, which says the recompute.
interop::LaunchRecord read_back(const interop::Training& training, const LaunchFile& file,
                                const interop::LaunchHints& hints) {
  if (file.target != "DeepSpeed") return interop::read_launch(file.text, file.file_name, hints);
  const interop::ReadNamedFile read = [&](const std::string& name) -> std::optional<std::string> {
    if (name != file.file_name) return std::nullopt;
    return file.text;
  };
  return interop::read_launch(interop::deepspeed_command(training), "run.sh", hints, read);
}

Tally round_trips(const interop::LaunchTarget& target, bool experts) {
  Tally tally;
  const std::string name(target.name);
  const Model model = model_for(name, experts);
  Cluster cluster = load_cluster("hgx-h100-400g");
  cluster.framework = load_framework(std::string(target.framework));
  Job job = cluster.framework.defaults.job;
  job.seq_length = 8192;
  job.global_batch_size = 1024;
  interop::LaunchHints hints;
  hints.model = model;
  hints.seq_length = job.seq_length;
  const Scenario scenario{model, cluster, job};
  for (const Layout& layout : grid(cluster.framework)) {
    if (check_layout(model, job, layout, devices_of(cluster))) {
      ++tally.illegal;
      continue;
    }
    const LaunchFile file = target.write({scenario, layout});
    EXPECT_NE(file.text.empty(), file.refusal.empty()) << name;
    if (!file.refusal.empty()) {
      ++tally.refused;
      continue;
    }
    const interop::LaunchRecord record = read_back({scenario, layout}, file, hints);
    EXPECT_EQ(record.target, name);
    const Layout& defaults = cluster.framework.defaults.layout;
    const Layout back = interop::without_idle_fields(
        launched_layout(record, cluster.framework, kGpus, file.file_name), model, defaults);
    const Layout wrote = interop::without_idle_fields(layout, model, defaults);
    EXPECT_TRUE(back == wrote) << name << "\n"
                               << short_name(wrote) << "\n"
                               << short_name(back) << "\n"
                               << file.text;
    if (back == wrote) ++tally.same;
    if (!(back == wrote) && ++tally.different == kEnoughToRead) return tally;
  }
  return tally;
}

// Refusals are of layouts that obey every rule of the framework.
TEST(LaunchGrid, WhatIsWrittenIsReadBackAsTheSameLayout) {
  std::map<std::string, int> same;
  for (const interop::LaunchTarget& target : interop::launch_targets()) {
    if (target.write == nullptr) continue;
    const Tally tally = round_trips(target, false);
    same[std::string(target.name)] = tally.same;
    RecordProperty(std::string(target.name), fmt::format("{} same, {} refused, {} illegal",
                                                         tally.same, tally.refused, tally.illegal));
    fmt::print("{}: {} same, {} refused, {} against a rule\n", target.name, tally.same,
               tally.refused, tally.illegal);
  }
  // None is refused to death.
  EXPECT_GE(same["Megatron-LM"], 1500);
  EXPECT_GE(same["Megatron-Bridge"], 1200);
  EXPECT_GE(same["torchtitan"], 1200);
  EXPECT_GE(same["DeepSpeed"], 80);
  EXPECT_GE(same["accelerate"], 100);
  EXPECT_GE(same["nanotron"], 700);
  EXPECT_GE(same["llm-foundry"], 50);
}

TEST(LaunchGrid, WithExperts) {
  for (const char* name : {"Megatron-LM", "Megatron-Bridge", "torchtitan"}) {
    const Tally tally = round_trips(*interop::launch_target(name), true);
    EXPECT_GE(tally.same, 400) << name;
  }
}

// Names of flags and keys stand in a table with since when and where; nothing else is written.
TEST(LaunchGrid, EveryNameThatIsWrittenHasASource) {
  for (const interop::LaunchTarget& target : interop::launch_targets()) {
    Cluster cluster = load_cluster("hgx-h100-400g");
    cluster.framework = load_framework(std::string(target.framework));
    Job job = cluster.framework.defaults.job;
    job.global_batch_size = 1024;
    std::map<std::string, int> unknown;
    for (const bool experts : {false, true}) {
      const Model model = model_for(std::string(target.name), experts);
      const Scenario scenario{model, cluster, job};
      for (const Layout& layout : grid(cluster.framework)) {
        const bool runs = !check_layout(model, job, layout, devices_of(cluster));
        if (!runs || !target.layout_refusal({scenario, layout}).empty()) continue;
        for (const auto& setting : target.settings({scenario, layout})) {
          const auto row = interop::launch_name(target.name, setting.name);
          if (!row || row->since.empty() || row->source.empty()) ++unknown[setting.name];
        }
      }
    }
    EXPECT_TRUE(unknown.empty()) << target.name << ": " << unknown.begin()->first;
  }
}

}  // namespace
}  // namespace meshwright::app
