// SPDX-License-Identifier: Apache-2.0
// What the fastest layout of a search uses, for every shipped framework on every shipped device,
// and whether that software and hardware have it. The tables here are written by hand and read no
// rule.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "app/files/files.h"
#include "planner/search/search.h"
#include "sim/base/text.h"
#include "sim/json/records.h"
#include "tests/paths.h"

namespace meshwright {
namespace {

namespace fs = std::filesystem;
using Features = std::set<std::string>;

Features words(const std::string& text) {
  const std::vector<std::string> parts = split_words(text);
  return {parts.begin(), parts.end()};
}

// Software of each year, with the features that a search may use by default.
const std::map<std::string, std::string>& software() {
  static const std::string megatron_2021 = "tensor pipeline 1f1b interleaved full ";
  static const std::string megatron_2023 =
      megatron_2021 + "sequence zero1 selective full_some overlap_grad overlap_param overlap_p2p ";
  static const std::string megatron_2025 =
      megatron_2023 +
      "tp_overlap context_ring experts expert_parallel folded_experts uneven_stages "
      "selective_modules "
      "embedding_split optimizer_offload fsdp zero23 deepep ";
  // Overlaps with ZeRO-3, where overlap_comm is true unasked (DeepSpeed, runtime/zero/config.py).
  static const std::string deepspeed_2022 =
      "tensor pipeline 1f1b full zero1 zero23 embedding_split overlap_grad overlap_param ";
  static const std::map<std::string, std::string> table{
      {"megatron-lm-2021", megatron_2021},
      {"megatron-lm-2023", megatron_2023 + "tp_overlap"},
      {"zero-bubble-2023", megatron_2023 + "embedding_split zb_h1 zb_h2 zb_v"},
      {"megatron-core-2025", megatron_2025},
      {"megatron-core-2026", megatron_2025 + "pipeline_layout token_overlap hybridep ncclep "
                                             "module_offload"},
      {"megatron-deepspeed-2022", deepspeed_2022},
      {"gpt-neox-2022", deepspeed_2022 + "overlap_grad"},
      {"deepspeed-zero-2021", deepspeed_2022 + "overlap_grad optimizer_offload"},
      {"megatron-deepspeed-2023",
       deepspeed_2022 + "sequence interleaved overlap_p2p selective full_some overlap_grad "
                        "overlap_param context_a2a experts expert_parallel folded_experts "
                        "optimizer_offload"},
      {"deepspeed-2025", deepspeed_2022 + "overlap_grad context_a2a experts expert_parallel "
                                          "folded_experts optimizer_offload"},
      {"nanotron-2024",
       "tensor pipeline 1f1b sequence zero1 full overlap_grad tp_overlap context_ring"},
      {"pytorch-fsdp-2023", "fsdp full overlap_grad overlap_param"},
      {"accelerate-2026",
       "fsdp full tensor context_ring experts folded_experts overlap_grad overlap_param"},
      {"automodel-2026",
       "fsdp full full_some selective selective_modules tensor sequence pipeline 1f1b interleaved "
       "uneven_stages embedding_split pipeline_layout context_ring experts expert_parallel "
       "folded_experts deepep overlap_grad overlap_param overlap_p2p"},
      {"torchtitan-2025",
       "fsdp full full_some selective selective_modules tensor sequence pipeline 1f1b interleaved "
       "uneven_stages embedding_split pipeline_layout context_ring experts expert_parallel "
       "folded_experts overlap_grad overlap_param overlap_p2p tp_overlap"},
      {"torchtitan-0.3",
       "fsdp full full_some selective selective_modules tensor sequence pipeline 1f1b interleaved "
       "uneven_stages embedding_split pipeline_layout experts expert_parallel "
       "folded_experts overlap_grad overlap_param overlap_p2p tp_overlap"},
      {"hai-llm-2024",
       "tensor sequence pipeline 1f1b zb_h1 dualpipe uneven_stages embedding_split zero1 full "
       "full_some selective selective_modules experts expert_parallel folded_experts deepep "
       "token_overlap overlap_grad overlap_param overlap_p2p"}};
  return table;
}

// Features that a device or its links do not support.
Features missing_on(const Cluster& cluster) {
  const std::string& name = only_device(cluster).name;
  const std::string flex = "deepep hybridep ncclep ";
  if (contains(name, "AMD") || contains(name, "RTX") || contains(name, "L40S") ||
      contains(name, "V100")) {
    return words(flex + "tp_overlap");
  }
  if (contains(name, "PCIe") && cluster.gpus_per_island == 0) return words(flex + "tp_overlap");
  return contains(name, "GB200") || contains(name, "GB300") ? words("deepep") : Features{};
}

std::string in_flex(const Layout& l) { return std::string(name_of(l.moe_flex_dispatcher_backend)); }

Features used_by(const Model& model, const Layout& l) {
  Features used;
  const auto use = [&used](bool asked, const std::string& what) {
    if (asked) used.insert(what);
  };
  use(l.tensor_parallel_size > 1, "tensor");
  use(l.pipeline_parallel_size > 1, "pipeline");
  use(l.pipeline_parallel_size > 1, std::string(name_of(l.schedule)));
  use(static_cast<bool>(l.pipeline_layout), "pipeline_layout");
  use(l.num_layers_in_first_pipeline_stage + l.num_layers_in_last_pipeline_stage > 0,
      "uneven_stages");
  use(l.account_for_embedding_in_pipeline_split || l.account_for_loss_in_pipeline_split,
      "embedding_split");
  const bool context = l.context_parallel_size > 1;
  use(context && l.cp_comm_type == ContextParallelAlgorithm::p2p, "context_ring");
  use(context && l.cp_comm_type == ContextParallelAlgorithm::all_gather, "context_gather");
  use(context && l.cp_comm_type == ContextParallelAlgorithm::a2a, "context_a2a");
  use(l.sequence_parallel, "sequence");
  use(model.moe.has_value(), "experts");
  use(l.expert_parallel_size > 1, "expert_parallel");
  use(model.moe && expert_tensor_size(l) != l.tensor_parallel_size, "folded_experts");
  const bool flex = l.moe_token_dispatcher_type == MoeTokenDispatcherType::flex;
  use(model.moe && l.expert_parallel_size > 1 && flex, in_flex(l));
  use(l.moe_token_dispatcher_type == MoeTokenDispatcherType::allgather, "allgather");
  use(l.overlap_moe_expert_parallel_comm, "token_overlap");
  use(l.moe_shared_expert_overlap, "shared_expert_overlap");
  use(uses_fsdp(l), "fsdp");
  use(!uses_fsdp(l) && l.zero_stage == 1, "zero1");
  use(!uses_fsdp(l) && l.zero_stage > 1, "zero23");
  use(l.zero_shard_size > 0, "hybrid_sharding");
  const bool selective = l.recompute_granularity == RecomputeGranularity::selective;
  const bool full = l.recompute_granularity == RecomputeGranularity::full;
  use(selective, "selective");
  use(recomputes_module(l, ~unsigned{kRecomputeCoreAttention}), "selective_modules");
  use(full, "full");
  use(full && l.recompute_num_layers > 0, "full_some");
  use(l.overlap_grad_reduce, "overlap_grad");
  use(l.overlap_param_gather, "overlap_param");
  use(l.overlap_p2p_comm, "overlap_p2p");
  use(l.tp_comm_overlap, "tp_overlap");
  use(l.scatter_gather_p2p, "scatter_gather");
  use(l.cuda_graph_impl != CudaGraphImpl::none, "graphs");
  use(l.optimizer_offload, "optimizer_offload");
  use(l.cpu_offloading_num_layers > 0, "layer_offload");
  use(l.offload_modules.bits != 0, "module_offload");
  return used;
}

std::string folder(const std::string& name) {
  return std::string(MESHWRIGHT_SOURCE_DIR) + "/configs/" + name;
}

// Two nodes of each device: a shipped cluster's, or another's with the device put in. Each also
// where it does not say that its network is one which libraries of expert parallelism drive.
std::vector<Cluster> a_cluster_of_each_device() {
  std::map<std::string, Cluster> found;
  std::set<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder("clusters"))) files.insert(entry.path());
  for (const fs::path& file : files) {
    Cluster cluster = app::load_cluster(file.string());
    if (only_device(cluster).kind != DeviceKind::gpu) continue;
    cluster.num_nodes = std::min(cluster.num_nodes, 2);
    found.emplace(only_device(cluster).name, cluster);
  }
  std::vector<Cluster> clusters;
  for (const auto& entry : fs::directory_iterator(folder("hardware"))) {
    const std::string stem = entry.path().stem().string();
    const bool pcie = stem == "rtx-4090" || stem == "l40s";
    Cluster other = app::load_cluster(pcie ? "a100-pcie-8" : "dgx-a100-80gb");
    std::ifstream stream(entry.path());
    other.device = device_from_json(Json::parse(stream), stem);
    other.gpus_per_island = 0;
    other.num_nodes = std::min(other.num_nodes, 2);
    found.emplace(only_device(other).name, other);
  }
  for (const auto& [name, cluster] : found) clusters.push_back(cluster);
  clusters.push_back(app::load_cluster("aws-p5"));
  clusters.back().num_nodes = 2;
  return clusters;
}

TEST(StackWinners, UseOnlyWhatTheirSoftwareAndHardwareHave) {
  const std::vector<Cluster> clusters = a_cluster_of_each_device();
  ASSERT_GE(clusters.size(), 17U);
  int winners = 0;
  for (const std::string& name : {std::string("gemma-2-27b"), std::string("qwen3-30b-a3b")}) {
    const Model model = app::load_model(name);
    unsigned number = model.moe ? 1 : 0;  // software and device meet one of the models
    for (const auto& [framework, has] : software()) {
      for (Cluster cluster : clusters) {
        if (++number % 2 == 0) continue;
        cluster.framework = app::load_framework(framework);
        Job job = cluster.framework.defaults.job;
        job.global_batch_size = 64;
        job.moe_dispatch_fwd_dtype = job.moe_combine_bwd_dtype = Precision::bf16;
        planner::SearchOptions options;
        options.top = 1;
        const planner::Plan plan = planner::search({model, cluster, job}, options);
        if (plan.ranked.empty()) continue;
        ++winners;
        const Layout& best = plan.ranked.front().layout;
        const Features used = used_by(model, best);
        fmt::print("{} of {} on {}: {}\n", name, framework, only_device(cluster).name,
                   fmt::join(used, " "));
        const Features known = words(has);
        const Features missing = missing_on(cluster);
        for (const std::string& feature : used) {
          EXPECT_TRUE(known.contains(feature))
              << framework << " has no " << feature << ": " << name;
          EXPECT_FALSE(missing.contains(feature))
              << only_device(cluster).name << " runs no " << feature << ": " << framework;
        }
        // Userbuffers and libraries that other nodes' NICs do not answer stay inside a domain.
        const int domain =
            cluster.gpus_per_island > 0 ? cluster.gpus_per_island : cluster.gpus_per_node;
        if (best.tp_comm_overlap) {
          EXPECT_LE(best.tensor_parallel_size, domain);
        }
        const bool flex = used.contains("deepep") || used.contains("hybridep");
        if (flex && contains(cluster.inter_node.name, "EFA")) {
          EXPECT_LE(expert_tensor_size(best) * best.expert_parallel_size, domain);
        }
      }
    }
  }
  EXPECT_GE(winners, 300);
}

// Every framework's file stands in the table above.
TEST(StackWinners, KnowEveryFramework) {
  for (const auto& entry : fs::directory_iterator(folder("frameworks"))) {
    EXPECT_TRUE(software().contains(entry.path().stem().string())) << entry.path();
  }
}

}  // namespace
}  // namespace meshwright
