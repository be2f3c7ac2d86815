// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/rules.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/unit/llama_model.h"
#include "tests/unit/sim/serving/shipped.h"

namespace meshwright {
namespace {

using test::shipped_cluster;
using test::shipped_engine;
using test::shipped_model;

// The name of the first broken rule and its sentence; empty: the engine starts.
std::string refusal(const Model& model, const ReplicaOptions& asked,
                    const std::string& engine = "vllm-0.24",
                    const std::string& cluster = "h100-512", bool one_of_two_pools = false) {
  const ServingCluster where = shipped_cluster(cluster);
  const Engine software = shipped_engine(engine);
  const ReplicaOptions options = with_defaults(asked, software, only_device(where), model);
  const ServingRuleInput in{model, where, software, options, one_of_two_pools};
  const auto broken = check_replica(in);
  if (!broken) return "";
  return std::string(broken->rule->name) + ": " + broken->rule->sentence(in, broken->missed);
}
bool breaks(const std::string& found, const std::string& rule) { return found.starts_with(rule); }

// vllm#12256: 18,432 / 32 is 576 columns, and 576 / 128 is 4.5.
TEST(ServingRules, RefuseDeepSeekAt32RanksForItsBlocks) {
  const Model model = shipped_model("deepseek-v3");
  ReplicaOptions options{.weights = usual_scheme(WeightFormat::fp8_block, model),
                         .layout = {.tensor_parallel_size = 32}};
  EXPECT_EQ(refusal(model, options),
            "fp8_blocks_are_whole: 18,432 / 32 is 576 columns a rank, which is no multiple of 128");
  options.layout.tensor_parallel_size = 16;
  EXPECT_EQ(refusal(model, options), "");
}

// MiniMax-M2.5: experts of 1,536 columns; at tensor size 8 192 a rank. Expert parallelism cures it.
TEST(ServingRules, RefuseNarrowExpertsAndAcceptExpertParallelism) {
  Model model = llama_model();
  model.num_attention_heads = 48;
  model.moe =
      MixtureOfExperts{.num_moe_experts = 256, .moe_router_topk = 8, .moe_ffn_hidden_size = 1536};
  ReplicaOptions options{.weights = {.format = WeightFormat::fp8_block},
                         .layout = {.tensor_parallel_size = 8}};
  EXPECT_TRUE(breaks(refusal(model, options), "fp8_blocks_are_whole"));
  options.layout.expert_parallel_size = 8;
  EXPECT_EQ(refusal(model, options), "");
  options.layout = {.tensor_parallel_size = 4};
  EXPECT_EQ(refusal(model, options), "");
}

TEST(ServingRules, RefuseWhatEnginesRefuse) {
  const Model dense = llama_model();  // 32 heads, 8 key-value heads, 14,336 columns
  const Model experts = shipped_model("qwen3-235b-a22b");  // 64 heads, 4 key-value heads
  const auto sizes = [](ReplicaLayout layout) { return ReplicaOptions{.layout = layout}; };
  EXPECT_TRUE(
      breaks(refusal(dense, sizes({.tensor_parallel_size = 3})), "heads_divide_by_tensor_size"));
  Model odd = dense;
  odd.num_attention_heads = 24;
  odd.num_query_groups = 6;
  EXPECT_TRUE(
      breaks(refusal(odd, sizes({.tensor_parallel_size = 4})), "kv_heads_divide_or_repeat"));
  EXPECT_EQ(refusal(dense, sizes({.tensor_parallel_size = 16})), "");  // heads are repeated
  EXPECT_TRUE(
      breaks(refusal(shipped_model("qwen3.5-397b-a17b"), sizes({.tensor_parallel_size = 32})),
             "linear_attention_heads_divide"));  // 16 key heads
  EXPECT_TRUE(breaks(refusal(dense, sizes({.data_parallel_size = 2})), "data_ranks_need_experts"));
  EXPECT_TRUE(breaks(refusal(dense, sizes({.tensor_parallel_size = 2, .expert_parallel_size = 2})),
                     "experts_need_experts"));
  EXPECT_TRUE(
      breaks(refusal(experts, sizes({.tensor_parallel_size = 8, .expert_parallel_size = 3})),
             "expert_size_divides_ranks"));
  EXPECT_TRUE(
      breaks(refusal(experts, sizes({.tensor_parallel_size = 8, .expert_parallel_size = 4})),
             "expert_group_is_whole_in_vllm"));
  EXPECT_EQ(refusal(experts, sizes({.tensor_parallel_size = 8, .expert_parallel_size = 4}),
                    "sglang-0.5.14"),
            "");
  EXPECT_TRUE(breaks(refusal(dense, sizes({.pipeline_parallel_size = 33})), "layers_cover_stages"));
  EXPECT_TRUE(breaks(refusal(dense, sizes({.tensor_parallel_size = 16}), "vllm-0.24", "h100-8"),
                     "replica_fits_cluster"));
  EXPECT_TRUE(
      breaks(refusal(dense, sizes({.tensor_parallel_size = 2, .decode_context_parallel_size = 2})),
             "decode_context_repeats_heads"));
  EXPECT_TRUE(breaks(refusal(shipped_model("deepseek-v3"),
                             sizes({.tensor_parallel_size = 8, .decode_context_parallel_size = 8}),
                             "sglang-0.5.14"),
                     "decode_context_divides_tensor_size"));
  EXPECT_TRUE(breaks(refusal(dense, {.max_num_seqs = 512, .max_num_batched_tokens = 256}),
                     "batched_tokens_cover_sequences"));
  const Model short_one = shipped_model("llama-3-8b");
  EXPECT_EQ(refusal(short_one, {.max_model_len = 8193}),
            "positions_cover_max_model_len: max_model_len 8,193 exceeds the 8,192 positions of "
            "llama-3-8b");
  EXPECT_EQ(refusal(short_one, {.max_model_len = 8193}, "tensorrt-llm-1.3"), "");  // it cuts it
  EXPECT_EQ(refusal(short_one, {.max_model_len = 8192}), "");
  EXPECT_TRUE(breaks(refusal(dense, {.kv_cache = KvCacheFormat::fp8_ds_mla}),
                     "kv_cache_format_is_supported"));
  EXPECT_TRUE(breaks(refusal(dense, {.weights = {.format = WeightFormat::nvfp4}}, "sglang-0.5.14"),
                     "device_multiplies_format"));
  EXPECT_TRUE(breaks(refusal(shipped_model("toy-mlp"), {}), "model_has_kv_layout"));
  const auto split =
      sizes({.tensor_parallel_size = 4, .data_parallel_size = 2, .expert_parallel_size = 8});
  EXPECT_TRUE(
      breaks(refusal(experts, split, "tensorrt-llm-1.3"), "attention_data_size_is_all_or_none"));
}

// vllm#52913: NixlConnector moves no caches between pools with pipeline stages; SGLang's engines
// do.
TEST(ServingRules, RefuseStagesInPoolsOfVllm) {
  const Model model = shipped_model("llama-3-70b");
  const ReplicaOptions stages{.layout = {.tensor_parallel_size = 4, .pipeline_parallel_size = 2}};
  const ReplicaOptions ranks{.layout = {.tensor_parallel_size = 8}};
  EXPECT_EQ(refusal(model, stages), "");
  EXPECT_EQ(refusal(model, stages, "vllm-0.24", "h100-512", true),
            "pools_have_one_stage_in_vllm: vLLM moves no caches between pools of 2 stages");
  EXPECT_EQ(refusal(model, ranks, "vllm-0.24", "h100-512", true), "");
  EXPECT_EQ(refusal(model, stages, "sglang-0.5.14", "h100-512", true), "");
}

// vllm#17604: Qwen3-235B in GPTQ with groups of 128: 1,536 / 8 is 192.
TEST(ServingRules, RefuseCutGroupsOfInt4) {
  const Model model = shipped_model("qwen3-235b-a22b");
  ReplicaOptions options{.weights = {.format = WeightFormat::int4, .group_size = 128},
                         .layout = {.tensor_parallel_size = 8}};
  EXPECT_TRUE(breaks(refusal(model, options), "int4_groups_are_whole"));
  options.layout.tensor_parallel_size = 4;
  EXPECT_EQ(refusal(model, options), "");
}

TEST(ServingRules, AcceptWhatIsServedEveryDay) {
  const Model deepseek = shipped_model("deepseek-v3");
  const WeightScheme blocks = usual_scheme(WeightFormat::fp8_block, deepseek);
  EXPECT_EQ(refusal(deepseek, {.weights = blocks, .layout = {.tensor_parallel_size = 8}}), "");
  EXPECT_EQ(refusal(deepseek, {.weights = blocks,
                               .layout = {.data_parallel_size = 8, .expert_parallel_size = 8}}),
            "");
  const Model oss = shipped_model("gpt-oss-120b");
  for (const int tp : {1, 2, 4, 8}) {
    EXPECT_EQ(refusal(oss, {.weights = usual_scheme(WeightFormat::mxfp4, oss),
                            .layout = {.tensor_parallel_size = tp}}),
              "")
        << tp;
  }
}

TEST(ServingRules, EachHasItsOwnNameAndSaysWhy) {
  std::set<std::string_view> names;
  for (const ServingRuleRow& row : serving_rules()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.requirement.empty() || row.reason.empty() || row.remedy.empty()) << row.name;
  }
}

// vLLM cuts its default of 1,024 sequences to the tokens of a step, and refuses a stated 1,024.
TEST(ServingRules, CutTheDefaultOfSequencesToTheTokensOfAStep) {
  const Model model = llama_model();
  EXPECT_EQ(refusal(model, {.max_num_batched_tokens = 400}), "");
  EXPECT_TRUE(breaks(refusal(model, {.max_num_seqs = 1024, .max_num_batched_tokens = 400}),
                     "batched_tokens_cover_sequences"));
  const ServingCluster cluster = shipped_cluster("h100-8");
  const auto defaults = [&](const char* engine) {
    return with_defaults({.max_num_batched_tokens = 400}, shipped_engine(engine),
                         only_device(cluster), model)
        .max_num_seqs;
  };
  EXPECT_EQ(defaults("vllm-0.24"), 400);
  EXPECT_EQ(defaults("tensorrt-llm-1.3"), 2048);
}

class MemoryRules : public testing::Test {
 protected:
  // The broken rule of Llama-3-70B in 16 bits on that many H100.
  std::string broken(const char* engine, int tensor, double request, bool length_is_given) {
    const Model model = shipped_model("llama-3-70b");
    const ServingCluster cluster = shipped_cluster("h100-8");
    const Engine software = shipped_engine(engine);
    const ReplicaOptions options = with_defaults({.layout = {.tensor_parallel_size = tensor}},
                                                 software, only_device(cluster), model);
    const ServingRuleInput in{model, cluster, software, options};
    const auto found =
        check_replica_memory(in, replica_memory(model, only_device(cluster), software, options),
                             request, length_is_given);
    return found ? std::string(found->rule->name) : "";
  }
};

// 131 GiB of weights: none is left of 79.1 GiB for the cache; two GPUs hold some ten thousand
// tokens. vLLM stops unless they hold max_model_len, 131,072; TensorRT-LLM starts. Eight hold it.
TEST_F(MemoryRules, SayWhetherWeightsTheRequestOrMaxModelLenAreTooLarge) {
  EXPECT_EQ(broken("vllm-0.24", 1, 2048, false), "weights_leave_room_for_cache");
  EXPECT_EQ(broken("vllm-0.24", 2, 2048, false), "");
  EXPECT_EQ(broken("vllm-0.24", 2, 100'000, true), "cache_holds_a_request");
  EXPECT_EQ(broken("vllm-0.24", 2, 2048, true), "cache_holds_longest_request");
  EXPECT_EQ(broken("vllm-0.24", 2, 0, true), "cache_holds_longest_request");
  EXPECT_EQ(broken("tensorrt-llm-1.3", 2, 0, true), "");
  EXPECT_EQ(broken("vllm-0.24", 8, 0, true), "");
}

}  // namespace
}  // namespace meshwright
