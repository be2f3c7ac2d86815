// SPDX-License-Identifier: Apache-2.0
#include "sim/rules/framework_rules.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "sim/json/records.h"
#include "sim/rules/rules.h"
#include "tests/paths.h"

namespace meshwright {
namespace {

namespace fs = std::filesystem;

fs::path framework_folder() { return fs::path(MESHWRIGHT_SOURCE_DIR) / "configs/frameworks"; }

Framework shipped(const std::string& name) {
  const fs::path file = framework_folder() / (name + ".json");
  std::ifstream stream(file);
  return framework_from_json(Json::parse(stream), file.filename().string());
}

Model gpt_of_48_layers() {
  Model model;
  model.num_layers = 48;
  model.hidden_size = 6144;
  model.ffn_hidden_size = 24576;
  model.num_attention_heads = model.num_query_groups = 64;
  model.kv_channels = 96;
  model.vocab_size = 51200;
  return model;
}

Devices under(const Framework& framework) {
  return {.framework = &framework, .lacks = lacks_of(framework.limits)};
}

// Asks for one thing beside what the framework does unasked.
using Ask = void (*)(Layout&, Job&);
struct Asked {
  Lack what;
  std::string_view rule;
  Ask ask;
};
void split_tensors(Layout& l, Job& /*job*/) { l.tensor_parallel_size = 2; }
void shard(Layout& l, FsdpUnit unit, int zero_stage) {
  l.data_parallel_size = 8;
  l.fsdp_unit = unit;
  l.zero_stage = zero_stage;
}
const Asked kAsked[]{
    {Lack::tensor_parallel, "framework_splits_tensors", split_tensors},
    {Lack::pipeline_parallel, "framework_has_pipeline",
     [](Layout& l, Job&) { l.pipeline_parallel_size = 2; }},
    {Lack::context_parallel, "framework_splits_sequences",
     [](Layout& l, Job&) { l.context_parallel_size = 2; }},
    {Lack::fp8, "framework_has_fp8", [](Layout&, Job& job) { job.precision = Precision::fp8; }},
    {Lack::interleaving, "framework_interleaves",
     [](Layout& l, Job&) {
       l.pipeline_parallel_size = 4, l.virtual_pipeline_parallel_size = 2;
       l.schedule = PipelineSchedule::interleaved;
     }},
    {Lack::split_backward, "framework_splits_backward",
     [](Layout& l, Job&) { l.pipeline_parallel_size = 4, l.schedule = PipelineSchedule::zb_h1; }},
    {Lack::sequence_parallel, "framework_has_sequence_parallel",
     [](Layout& l, Job&) { l.tensor_parallel_size = 2, l.sequence_parallel = true; }},
    {Lack::tensor_without_sequence_parallel, "framework_splits_tensors_without_sequence",
     split_tensors},
    {Lack::overlap_p2p_comm, "framework_overlaps_sends",
     [](Layout& l, Job&) {
       l.pipeline_parallel_size = 4, l.virtual_pipeline_parallel_size = 2;
       l.schedule = PipelineSchedule::interleaved, l.overlap_p2p_comm = true;
     }},
    {Lack::distributed_optimizer, "framework_shards_optimizer",
     [](Layout& l, Job&) { shard(l, FsdpUnit::none, 1); }},
    {Lack::sharded_gradients, "framework_shards_gradients",
     [](Layout& l, Job&) { shard(l, FsdpUnit::none, 3); }},
    {Lack::fsdp, "framework_has_fsdp", [](Layout& l, Job&) { shard(l, FsdpUnit::block, 3); }},
    {Lack::fsdp_below_pipeline, "framework_has_fsdp_below_pipeline",
     [](Layout& l, Job&) {
       shard(l, FsdpUnit::block, 2);
       l.pipeline_parallel_size = 2;
     }},
    {Lack::replicas_beside_other_axes, "framework_replicates_beside_other_axes",
     [](Layout& l, Job&) {
       shard(l, FsdpUnit::block, 0);
       l.tensor_parallel_size = 2, l.sequence_parallel = true;
     }},
    {Lack::overlap_grad_reduce, "framework_overlaps_gradients",
     [](Layout& l, Job&) { l.data_parallel_size = 8, l.overlap_grad_reduce = true; }},
    {Lack::overlap_param_gather, "framework_overlaps_weights",
     [](Layout& l, Job&) {
       shard(l, l.fsdp_unit, 1);
       l.overlap_grad_reduce = l.overlap_param_gather = true;
     }},
    {Lack::tp_comm_overlap, "framework_overlaps_tensor_parallel",
     [](Layout& l, Job&) {
       l.tensor_parallel_size = 2, l.sequence_parallel = l.tp_comm_overlap = true;
     }},
};

TEST(FrameworkRules, EachLackHasItsRule) {
  std::set<std::string_view> rules;
  for (const Asked& asked : kAsked) {
    SCOPED_TRACE(asked.rule);
    Framework framework;
    framework.name = "software-2030";
    framework.limits.reasons[static_cast<std::size_t>(asked.what)] = "it came in 2031";
    Layout layout;
    Job job;
    job.global_batch_size = 64;
    asked.ask(layout, job);
    EXPECT_FALSE(check_layout(gpt_of_48_layers(), job, layout, {}))
        << "unknown software can do all";
    const auto violation = check_layout(gpt_of_48_layers(), job, layout, under(framework));
    ASSERT_TRUE(violation);
    EXPECT_EQ(rule_text(violation->rule).name, asked.rule);
    EXPECT_TRUE(describe(*violation, gpt_of_48_layers(), job, layout, under(framework))
                    .ends_with(", but under software-2030 there is none: it came in 2031"));
    rules.insert(asked.rule);
  }
  EXPECT_EQ(rules.size(), std::size(kFrameworkRules));
  EXPECT_EQ(rules.size(), kLackNames.size());
}

// What a file says it cannot do is refused with its own reason, and what it does unasked is not.
TEST(FrameworkRules, ShippedFrameworksRefuseWhatTheyLack) {
  for (const auto& entry : fs::directory_iterator(framework_folder())) {
    const Framework framework = shipped(entry.path().stem().string());
    SCOPED_TRACE(framework.name);
    Job job = framework.defaults.job;
    job.global_batch_size = 64;
    Layout unasked = framework.defaults.layout;
    unasked.data_parallel_size = 8;
    EXPECT_FALSE(check_layout(gpt_of_48_layers(), job, unasked, under(framework)));
    for (const Asked& asked : kAsked) {
      if (!framework.limits.lacks(asked.what)) continue;
      Layout layout = framework.defaults.layout;
      Job other = job;
      asked.ask(layout, other);
      const auto violation = check_layout(gpt_of_48_layers(), other, layout, under(framework));
      ASSERT_TRUE(violation) << asked.rule;
      EXPECT_NE(describe(*violation, gpt_of_48_layers(), other, layout, under(framework))
                    .find(framework.name),
                std::string::npos);
    }
  }
}

bool lacks(const std::string& framework, Lack what) {
  return shipped(framework).limits.lacks(what);
}

// Who has what when (docs/model/hardware.md).
TEST(FrameworkRules, FilesSayWhatSoftwareOfTheirYearHad) {
  for (const char* name : {"megatron-deepspeed-2022", "deepspeed-zero-2021", "gpt-neox-2022"}) {
    EXPECT_TRUE(lacks(name, Lack::sequence_parallel)) << name;
    EXPECT_TRUE(lacks(name, Lack::tp_comm_overlap)) << name;
    EXPECT_TRUE(lacks(name, Lack::interleaving)) << name;
    EXPECT_FALSE(lacks(name, Lack::distributed_optimizer)) << name;
  }
  EXPECT_TRUE(lacks("nanotron-2024", Lack::interleaving));
  EXPECT_TRUE(lacks("nanotron-2024", Lack::sharded_gradients));
  EXPECT_FALSE(lacks("nanotron-2024", Lack::distributed_optimizer));
  EXPECT_TRUE(lacks("megatron-lm-2021", Lack::distributed_optimizer));
  EXPECT_TRUE(lacks("megatron-lm-2021", Lack::overlap_grad_reduce));
  EXPECT_FALSE(lacks("megatron-lm-2021", Lack::interleaving));
  EXPECT_FALSE(lacks("megatron-lm-2023", Lack::overlap_param_gather));
  EXPECT_TRUE(lacks("megatron-lm-2023", Lack::sharded_gradients));
  for (const char* name :
       {"torchtitan-2025", "automodel-2026", "accelerate-2026", "pytorch-fsdp-2023"}) {
    EXPECT_TRUE(lacks(name, Lack::distributed_optimizer)) << name;
    EXPECT_FALSE(lacks(name, Lack::fsdp)) << name;
  }
  EXPECT_FALSE(lacks("torchtitan-2025", Lack::fsdp_below_pipeline));
  EXPECT_FALSE(lacks("automodel-2026", Lack::fsdp_below_pipeline));
  EXPECT_TRUE(lacks("megatron-core-2026", Lack::fsdp_below_pipeline));
  EXPECT_TRUE(lacks("torchtitan-2025", Lack::tensor_without_sequence_parallel));
  EXPECT_TRUE(lacks("pytorch-fsdp-2023", Lack::tensor_parallel));
  EXPECT_TRUE(lacks("pytorch-fsdp-2023", Lack::pipeline_parallel));
}

}  // namespace
}  // namespace meshwright
