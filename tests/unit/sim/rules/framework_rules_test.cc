// SPDX-License-Identifier: Apache-2.0
#include "sim/rules/framework_rules.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
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

Model gpt_with_experts() {
  Model model = gpt_of_48_layers();
  model.moe = MixtureOfExperts{};
  model.moe->num_moe_experts = 8;
  model.moe->moe_router_topk = 2;
  model.moe->moe_ffn_hidden_size = 6144;
  return model;
}

TEST(FrameworkRules, DefaultsOfShippedFrameworksAreNeverRefused) {
  for (const auto& entry : fs::directory_iterator(framework_folder())) {
    const Framework framework = shipped(entry.path().stem().string());
    Job job = framework.defaults.job;
    job.global_batch_size = 64;
    Layout unasked = framework.defaults.layout;
    unasked.data_parallel_size = 8;
    EXPECT_FALSE(check_layout(gpt_of_48_layers(), job, unasked,
                              {.framework = &framework, .lacks = framework.limits.bits()}))
        << framework.name;
  }
}

// Megatron Core shards the optimizer that it offloads; one rank has it whole either way.
TEST(FrameworkRules, OffloadOfReplicasAloneIsRefused) {
  const Devices devices{.lacks = lack_bit(Unsupported::replicated_optimizer_offload)};
  Layout layout;
  layout.optimizer_offload = true;
  layout.data_parallel_size = 8;
  EXPECT_TRUE(check_data_switches(layout, devices));
  layout.zero_stage = 1;
  EXPECT_FALSE(check_data_switches(layout, devices));
  layout.zero_stage = 0;
  layout.data_parallel_size = 1;
  EXPECT_FALSE(check_data_switches(layout, devices));
}

// A device or its links may lack something whatever the software; the sentence names whose file
// says so.
TEST(FrameworkRules, DevicesAndLinksHaveLimitsOfTheirOwn) {
  Cluster cluster;
  cluster.framework.name = "software-2030";
  cluster.name = "two nodes";
  cluster.gpus_per_node = 4;
  cluster.num_nodes = 2;
  cluster.device.name = "chip";
  Job job;
  Layout layout;
  layout.data_parallel_size = layout.expert_parallel_size = 8;
  layout.moe_token_dispatcher_type = MoeTokenDispatcherType::flex;
  layout.moe_flex_dispatcher_backend = MoeFlexDispatcherBackend::hybridep;
  const auto refusal = [&] {
    const auto violation = check_layout(gpt_with_experts(), job, layout, devices_of(cluster));
    return violation ? describe(*violation, gpt_with_experts(), job, layout, devices_of(cluster))
                     : "";
  };
  EXPECT_EQ(refusal(), "");
  cluster.limits.reasons[static_cast<std::size_t>(Unsupported::flex_dispatcher_across_nodes)] =
      "other NICs";
  EXPECT_EQ(
      refusal(),
      "moe_token_dispatcher_type is flex with 8 expert ranks, 4 of which share fast links, but "
      "on two nodes there is none: other NICs");
  // An unproven feature breaks no rule; it is reported.
  std::swap(cluster.limits, cluster.unproven);
  EXPECT_EQ(refusal(), "");
  EXPECT_EQ(unproven_uses(gpt_with_experts(), job, layout, devices_of(cluster)),
            std::vector<std::string>{"moe_token_dispatcher_type is flex with 8 expert ranks, 4 of "
                                     "which share fast links, which is unproven on two nodes: "
                                     "other NICs."});
  Layout plain = layout;
  plain.moe_token_dispatcher_type = MoeTokenDispatcherType::alltoall;
  EXPECT_TRUE(unproven_uses(gpt_with_experts(), job, plain, devices_of(cluster)).empty());
  std::swap(cluster.limits, cluster.unproven);
  cluster.device.limits.reasons[static_cast<std::size_t>(Unsupported::hybridep)] =
      "of another maker";
  EXPECT_EQ(refusal(),
            "moe_flex_dispatcher_backend is hybridep, but on chip there is none: of another maker");
  cluster = {};
  cluster.node_fabric = NodeFabric::pcie;
  EXPECT_EQ(refusal(), "moe_flex_dispatcher_backend is hybridep, and PCIe alone joins the devices");
}

// Userbuffers map other devices' memory over NVLink: PCIe alone joins no two devices.
TEST(FrameworkRules, PcieAloneHasNoFastDomain) {
  Cluster cluster;
  EXPECT_EQ(cluster.fast_domain(), 8);
  cluster.node_fabric = NodeFabric::pcie;
  EXPECT_EQ(cluster.fast_domain(), 1);
  cluster.gpus_per_island = 2;
  EXPECT_EQ(cluster.fast_domain(), 2);
  Layout layout;
  layout.tensor_parallel_size = 4;
  layout.data_parallel_size = 2;
  layout.sequence_parallel = layout.tp_comm_overlap = true;
  const auto violation = check_layout(gpt_of_48_layers(), {}, layout, devices_of(cluster));
  ASSERT_TRUE(violation);
  EXPECT_EQ(rule_text(violation->rule).name, "tp_comm_overlap_within_fast_domain");
}

bool lacks(const std::string& framework, Unsupported what) {
  return shipped(framework).limits.lacks(what);
}

// Who has what when (docs/reference/hardware.md).
TEST(FrameworkRules, FilesSayWhatSoftwareOfTheirYearHad) {
  for (const char* name : {"megatron-deepspeed-2022", "deepspeed-zero-2021", "gpt-neox-2022"}) {
    EXPECT_TRUE(lacks(name, Unsupported::sequence_parallel)) << name;
    EXPECT_TRUE(lacks(name, Unsupported::tp_comm_overlap)) << name;
    EXPECT_TRUE(lacks(name, Unsupported::interleaving)) << name;
    EXPECT_FALSE(lacks(name, Unsupported::distributed_optimizer)) << name;
  }
  EXPECT_TRUE(lacks("nanotron-2024", Unsupported::interleaving));
  EXPECT_TRUE(lacks("nanotron-2024", Unsupported::sharded_gradients));
  EXPECT_FALSE(lacks("nanotron-2024", Unsupported::distributed_optimizer));
  EXPECT_TRUE(lacks("megatron-lm-2021", Unsupported::distributed_optimizer));
  EXPECT_TRUE(lacks("megatron-lm-2021", Unsupported::overlap_grad_reduce));
  EXPECT_FALSE(lacks("megatron-lm-2021", Unsupported::interleaving));
  EXPECT_FALSE(lacks("megatron-lm-2023", Unsupported::overlap_param_gather));
  EXPECT_TRUE(lacks("megatron-lm-2023", Unsupported::sharded_gradients));
  for (const char* name :
       {"torchtitan-2025", "automodel-2026", "accelerate-2026", "pytorch-fsdp-2023"}) {
    EXPECT_TRUE(lacks(name, Unsupported::distributed_optimizer)) << name;
    EXPECT_FALSE(lacks(name, Unsupported::fsdp)) << name;
  }
  EXPECT_FALSE(lacks("torchtitan-2025", Unsupported::fsdp_below_pipeline));
  EXPECT_FALSE(lacks("automodel-2026", Unsupported::fsdp_below_pipeline));
  EXPECT_TRUE(lacks("megatron-core-2026", Unsupported::fsdp_below_pipeline));
  EXPECT_TRUE(lacks("torchtitan-2025", Unsupported::tensor_without_sequence_parallel));
  EXPECT_TRUE(lacks("pytorch-fsdp-2023", Unsupported::tensor_parallel));
  EXPECT_TRUE(lacks("pytorch-fsdp-2023", Unsupported::pipeline_parallel));
}

}  // namespace
}  // namespace meshwright
