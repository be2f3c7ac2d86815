// SPDX-License-Identifier: Apache-2.0
#include "sim/rules/framework_rules.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "sim/json/records.h"
#include "sim/rules/feature_rules.h"
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
  return {.framework = &framework, .lacks = framework.limits.bits()};
}

Model gpt_with_experts() {
  Model model = gpt_of_48_layers();
  model.moe = MixtureOfExperts{};
  model.moe->num_moe_experts = 8;
  model.moe->moe_router_topk = 2;
  model.moe->moe_ffn_hidden_size = 6144;
  return model;
}

// Asks for one thing beside what the framework does unasked.
using Ask = void (*)(Layout&, Job&);
struct Asked {
  Unsupported what;
  std::string_view rule;
  Ask ask;
  bool of_experts = false;  // of a model that has them
  [[nodiscard]] Model model() const { return of_experts ? gpt_with_experts() : gpt_of_48_layers(); }
};
void split_tensors(Layout& l, Job& /*job*/) { l.tensor_parallel_size = 2; }
void shard(Layout& l, FsdpUnit unit, int zero_stage) {
  l.data_parallel_size = 8;
  l.fsdp_unit = unit;
  l.zero_stage = zero_stage;
}
void split_context(Layout& l, ContextParallelAlgorithm kind) {
  l.context_parallel_size = 8;
  l.cp_comm_type = kind;
  if (kind == ContextParallelAlgorithm::a2a_p2p) l.hierarchical_context_parallel_size = 2;
}
void in_fp8(Job& job, Fp8Recipe recipe) {
  job.precision = Precision::fp8;
  job.fp8_recipe = recipe;
}
void split_experts(Layout& l, MoeTokenDispatcherType type,
                   MoeFlexDispatcherBackend backend = MoeFlexDispatcherBackend::deepep) {
  l.data_parallel_size = l.expert_parallel_size = 8;
  l.moe_token_dispatcher_type = type;
  l.moe_flex_dispatcher_backend = backend;
}
const Asked kAsked[]{
    {Unsupported::tensor_parallel, "framework_splits_tensors", split_tensors},
    {Unsupported::pipeline_parallel, "framework_has_pipeline",
     [](Layout& l, Job&) { l.pipeline_parallel_size = 2; }},
    {Unsupported::context_parallel, "framework_splits_sequences",
     [](Layout& l, Job&) { l.context_parallel_size = 2; }},
    {Unsupported::fp8, "framework_has_fp8",
     [](Layout&, Job& job) { job.precision = Precision::fp8; }},
    {Unsupported::interleaving, "framework_interleaves",
     [](Layout& l, Job&) {
       l.pipeline_parallel_size = 4, l.virtual_pipeline_parallel_size = 2;
       l.schedule = PipelineSchedule::interleaved;
     }},
    {Unsupported::split_backward, "framework_splits_backward",
     [](Layout& l, Job&) { l.pipeline_parallel_size = 4, l.schedule = PipelineSchedule::zb_h1; }},
    {Unsupported::sequence_parallel, "framework_has_sequence_parallel",
     [](Layout& l, Job&) { l.tensor_parallel_size = 2, l.sequence_parallel = true; }},
    {Unsupported::tensor_without_sequence_parallel, "framework_splits_tensors_without_sequence",
     split_tensors},
    {Unsupported::overlap_p2p_comm, "framework_overlaps_sends",
     [](Layout& l, Job&) {
       l.pipeline_parallel_size = 4, l.virtual_pipeline_parallel_size = 2;
       l.schedule = PipelineSchedule::interleaved, l.overlap_p2p_comm = true;
     }},
    {Unsupported::distributed_optimizer, "framework_shards_optimizer",
     [](Layout& l, Job&) { shard(l, FsdpUnit::none, 1); }},
    {Unsupported::sharded_gradients, "framework_shards_gradients",
     [](Layout& l, Job&) { shard(l, FsdpUnit::none, 3); }},
    {Unsupported::fsdp, "framework_has_fsdp",
     [](Layout& l, Job&) { shard(l, FsdpUnit::block, 3); }},
    {Unsupported::fsdp_below_pipeline, "framework_has_fsdp_below_pipeline",
     [](Layout& l, Job&) {
       shard(l, FsdpUnit::block, 2);
       l.pipeline_parallel_size = 2;
     }},
    {Unsupported::replicas_beside_other_axes, "framework_replicates_beside_other_axes",
     [](Layout& l, Job&) {
       shard(l, FsdpUnit::block, 0);
       l.tensor_parallel_size = 2, l.sequence_parallel = true;
     }},
    {Unsupported::overlap_grad_reduce, "framework_overlaps_gradients",
     [](Layout& l, Job&) { l.data_parallel_size = 8, l.overlap_grad_reduce = true; }},
    {Unsupported::overlap_param_gather, "framework_overlaps_weights",
     [](Layout& l, Job&) {
       shard(l, l.fsdp_unit, 1);
       l.overlap_grad_reduce = l.overlap_param_gather = true;
     }},
    {Unsupported::tp_comm_overlap, "framework_overlaps_tensor_parallel",
     [](Layout& l, Job&) {
       l.tensor_parallel_size = 2, l.sequence_parallel = l.tp_comm_overlap = true;
     }},
    {Unsupported::experts, "framework_has_experts", [](Layout&, Job&) {}, true},
    {Unsupported::expert_parallel, "framework_splits_experts",
     [](Layout& l, Job&) { split_experts(l, MoeTokenDispatcherType::alltoall); }, true},
    {Unsupported::expert_tensor_parallel, "framework_folds_experts",
     [](Layout& l, Job&) {
       l.tensor_parallel_size = 2, l.expert_tensor_parallel_size = 1, l.sequence_parallel = true;
     },
     true},
    {Unsupported::pipeline_layout, "framework_has_pipeline_layouts",
     [](Layout& l, Job&) {
       l.pipeline_parallel_size = 2;
       l.pipeline_layout = std::get<PipelineLayout>(read_pipeline_layout("Et*23|t*25L"));
     }},
    {Unsupported::uneven_stages, "framework_has_uneven_stages",
     [](Layout& l, Job&) {
       l.pipeline_parallel_size = 3, l.num_layers_in_first_pipeline_stage = 14;
     }},
    {Unsupported::embedding_in_pipeline_split, "framework_counts_embedding",
     [](Layout& l, Job&) {
       l.pipeline_parallel_size = 2;
       l.account_for_embedding_in_pipeline_split = l.account_for_loss_in_pipeline_split = true;
     }},
    {Unsupported::scatter_gather_p2p, "framework_scatters_sends",
     [](Layout& l, Job&) {
       l.tensor_parallel_size = l.pipeline_parallel_size = 2, l.scatter_gather_p2p = true;
     }},
    {Unsupported::ring_context_parallel, "framework_has_ring_attention",
     [](Layout& l, Job&) { split_context(l, ContextParallelAlgorithm::p2p); }},
    {Unsupported::all_gather_context_parallel, "framework_gathers_keys",
     [](Layout& l, Job&) { split_context(l, ContextParallelAlgorithm::all_gather); }},
    {Unsupported::a2a_context_parallel, "framework_exchanges_heads",
     [](Layout& l, Job&) { split_context(l, ContextParallelAlgorithm::a2a); }},
    {Unsupported::fp8_tensorwise, "framework_has_tensorwise",
     [](Layout&, Job& job) { in_fp8(job, Fp8Recipe::tensorwise); }},
    {Unsupported::fp8_blockwise, "framework_has_blockwise",
     [](Layout&, Job& job) { in_fp8(job, Fp8Recipe::blockwise); }},
    {Unsupported::mxfp8, "framework_has_mxfp8",
     [](Layout&, Job& job) { in_fp8(job, Fp8Recipe::mxfp8); }},
    {Unsupported::fp4, "framework_has_fp4",
     [](Layout&, Job& job) { job.precision = Precision::fp4; }},
    {Unsupported::selective_recompute, "framework_recomputes_modules",
     [](Layout& l, Job&) { l.recompute_granularity = RecomputeGranularity::selective; }},
    {Unsupported::recompute_modules, "framework_recomputes_named_modules",
     [](Layout& l, Job&) {
       l.recompute_granularity = RecomputeGranularity::selective;
       l.recompute_modules = {kRecomputeMlp};
     }},
    {Unsupported::partial_recompute, "framework_recomputes_some_layers",
     [](Layout& l, Job&) {
       l.recompute_granularity = RecomputeGranularity::full;
       l.recompute_method = RecomputeMethod::block, l.recompute_num_layers = 2;
     }},
    {Unsupported::allgather_dispatcher, "framework_gathers_tokens",
     [](Layout& l, Job&) { split_experts(l, MoeTokenDispatcherType::allgather); }, true},
    {Unsupported::flex_dispatcher, "flex_dispatcher_runs",
     [](Layout& l, Job&) { split_experts(l, MoeTokenDispatcherType::flex); }, true},
    {Unsupported::deepep, "deepep_runs",
     [](Layout& l, Job&) { split_experts(l, MoeTokenDispatcherType::flex); }, true},
    {Unsupported::hybridep, "hybridep_runs",
     [](Layout& l, Job&) {
       split_experts(l, MoeTokenDispatcherType::flex, MoeFlexDispatcherBackend::hybridep);
     },
     true},
    {Unsupported::ncclep, "ncclep_runs",
     [](Layout& l, Job&) {
       split_experts(l, MoeTokenDispatcherType::flex, MoeFlexDispatcherBackend::ncclep);
     },
     true},
    {Unsupported::flex_dispatcher_across_nodes, "flex_dispatcher_crosses_nodes",
     [](Layout& l, Job&) { split_experts(l, MoeTokenDispatcherType::flex); }, true},
    {Unsupported::token_overlap, "framework_overlaps_tokens",
     [](Layout& l, Job&) {
       split_experts(l, MoeTokenDispatcherType::alltoall);
       l.overlap_moe_expert_parallel_comm = true;
     },
     true},
    {Unsupported::shared_expert_overlap, "framework_overlaps_shared_experts",
     [](Layout& l, Job&) {
       split_experts(l, MoeTokenDispatcherType::alltoall);
       l.moe_shared_expert_overlap = true;
     },
     true},
    {Unsupported::hybrid_sharding, "framework_shards_in_groups",
     [](Layout& l, Job&) {
       shard(l, FsdpUnit::none, 1);
       l.zero_shard_size = 4;
     }},
    {Unsupported::optimizer_offload, "framework_offloads_optimizer",
     [](Layout& l, Job&) { l.optimizer_offload = true; }},
    {Unsupported::layer_offload, "framework_offloads_layers",
     [](Layout& l, Job&) { l.cpu_offloading_num_layers = 2; }},
    {Unsupported::offload_modules, "framework_offloads_modules",
     [](Layout& l, Job&) { l.offload_modules = {kOffloadQkvLinear}; }},
    {Unsupported::cuda_graphs, "framework_has_cuda_graphs",
     [](Layout& l, Job&) { l.cuda_graph_impl = CudaGraphImpl::local; }},
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
    // Two NVLink domains of 4.
    const Devices anything{.fast_domain = 4};
    EXPECT_FALSE(check_layout(asked.model(), job, layout, anything))
        << "unknown software can do all";
    Devices devices = under(framework);
    devices.fast_domain = anything.fast_domain;
    const auto violation = check_layout(asked.model(), job, layout, devices);
    ASSERT_TRUE(violation);
    EXPECT_EQ(rule_text(violation->rule).name, asked.rule);
    EXPECT_TRUE(describe(*violation, asked.model(), job, layout, devices)
                    .ends_with(", but under software-2030 there is none: it came in 2031"));
    rules.insert(asked.rule);
  }
  EXPECT_EQ(rules.size(), std::size(kFrameworkRules) + std::size(kFeatureRules));
  EXPECT_EQ(rules.size(), kUnsupportedNames.size());
}

// A feature that a file lists as unsupported is refused with its own reason; defaults are never
// refused.
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
      if (!framework.limits.lacks(asked.what) || asked.of_experts) continue;
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
  split_experts(layout, MoeTokenDispatcherType::flex, MoeFlexDispatcherBackend::hybridep);
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

// A framework that states its schedules has no other.
TEST(FrameworkRules, StatedSchedulesAreAllThatThereAre) {
  Framework framework;
  framework.name = "software-2030";
  Layout layout;
  layout.pipeline_parallel_size = 2;
  layout.schedule = PipelineSchedule::zb_h1;
  EXPECT_FALSE(check_layout(gpt_of_48_layers(), {}, layout, under(framework)));
  framework.pipeline.schedules[static_cast<std::size_t>(PipelineSchedule::gpipe)] = true;
  framework.pipeline.schedules[static_cast<std::size_t>(PipelineSchedule::one_f_one_b)] = true;
  const auto violation = check_layout(gpt_of_48_layers(), {}, layout, under(framework));
  ASSERT_TRUE(violation);
  EXPECT_EQ(describe(*violation, gpt_of_48_layers(), {}, layout, under(framework)),
            "schedule is zb_h1; software-2030 has gpipe, 1f1b");
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
