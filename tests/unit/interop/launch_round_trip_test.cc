// SPDX-License-Identifier: Apache-2.0
// What is written for a launcher is read back as the same layout, over a grid.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/read_launch/megatron.h"
#include "interop/read_launch/megatron_bridge.h"
#include "interop/read_launch/read_launch.h"
#include "interop/write_launch/launch.h"
#include "interop/write_launch/launch_target.h"
#include "sim/layout/short_name.h"
#include "tests/unit/llama_model.h"

namespace meshwright::interop {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Configured : Scenario {
  [[nodiscard]] Training training(const Layout& layout) const { return {*this, layout}; }
};

Configured llama_on_64() {
  Configured e;
  e.model = llama_model();
  e.model.max_position_embeddings = 8192;
  e.cluster.gpus_per_node = 8;
  e.cluster.num_nodes = 8;
  e.job.seq_length = 8192;
  e.job.global_batch_size = 256;
  return e;
}

Configured mixture() {
  Configured e = llama_on_64();
  e.model.moe = MixtureOfExperts{.num_moe_experts = 16,
                                 .moe_router_topk = 2,
                                 .moe_ffn_hidden_size = 2048,
                                 .num_first_dense_layers = 2};
  return e;
}

// Sets the fields that follow from the sizes, for which a launcher has no option.
Layout settled(Layout l) {
  l.sequence_parallel = l.sequence_parallel && l.tensor_parallel_size > 1;
  l.tp_comm_overlap = l.tp_comm_overlap && l.sequence_parallel;
  l.schedule = implied_schedule(l.virtual_pipeline_parallel_size);
  l.overlap_p2p_comm = l.virtual_pipeline_parallel_size > 1;
  l.overlap_param_gather = l.overlap_grad_reduce && l.zero_stage > 0;
  return l;
}

std::vector<Layout> sizes() {
  std::vector<Layout> all;
  for (const int tp : {1, 8}) {
    for (const int pp : {1, 4}) {
      for (const int cp : {1, 2}) {
        for (const int vpp : {1, 2}) {
          if (pp == 1 && vpp > 1) continue;
          Layout l;
          l.tensor_parallel_size = tp;
          l.pipeline_parallel_size = pp;
          l.context_parallel_size = cp;
          l.virtual_pipeline_parallel_size = vpp;
          l.data_parallel_size = 4;
          l.micro_batch_size = 2;
          all.push_back(l);
        }
      }
    }
  }
  return all;
}

std::vector<Layout> with_recompute(const Layout& base) {
  using enum RecomputeGranularity;
  std::vector<Layout> all;
  for (const RecomputeGranularity granularity : {none, selective, full}) {
    Layout l = base;
    l.recompute_granularity = granularity;
    all.push_back(l);
  }
  all.push_back(all[1]);
  all.back().recompute_modules = {kRecomputeMlp | kRecomputeLayerNorm};
  all.push_back(all[2]);
  all.back().recompute_method = RecomputeMethod::block;
  all.back().recompute_num_layers = 2 * base.virtual_pipeline_parallel_size;
  return all;
}

// As the program completes a record: devices, and shards of so many copies.
Layout read_back(const LaunchRecord& record, const Layout& written) {
  Layout l = record.layout;
  if (record.data_parallel_size_follows) l.data_parallel_size = written.data_parallel_size;
  if (record.replicas > 1 && l.zero_stage > 0) {
    l.zero_shard_size = gradient_group_size(l) / record.replicas;
  }
  return l;
}

int megatron_round_trips(const Configured& e, const std::vector<Layout>& layouts) {
  int trips = 0;
  for (const Layout& layout : layouts) {
    const LaunchFile file = megatron_lm(e.training(layout));
    if (!file.refusal.empty()) continue;
    const LaunchRecord record = read_megatron_script(file.text, "megatron-lm.sh", {});
    EXPECT_EQ(short_name(read_back(record, layout)), short_name(layout)) << file.text;
    EXPECT_TRUE(read_back(record, layout) == layout) << file.text;
    EXPECT_TRUE(record.not_understood.size() <= 3U);  // $NODE_RANK, $MASTER_ADDR
    EXPECT_EQ(record.job.global_batch_size, e.job.global_batch_size);
    EXPECT_EQ(record.job.dropout, e.job.dropout);
    EXPECT_EQ(record.job.precision, e.job.precision);
    Model model = record.model;
    model.name = e.model.name;
    model.vocab_size = e.model.vocab_size;  // NullTokenizer adds one
    EXPECT_TRUE(model == e.model) << file.text;
    ++trips;
  }
  return trips;
}

TEST(LaunchRoundTrip, MegatronLm) {
  std::vector<Layout> layouts;
  for (const Layout& size : sizes()) {
    for (const Layout& recompute : with_recompute(size)) {
      for (const int zero : {0, 1, 3}) {
        for (const bool on : {false, true}) {
          Layout l = recompute;
          l.zero_stage = zero;
          l.sequence_parallel = l.tp_comm_overlap = l.overlap_grad_reduce = on;
          if (zero == 1 && on) l.zero_shard_size = 2 * l.context_parallel_size;
          layouts.push_back(settled(l));
        }
      }
    }
  }
  EXPECT_EQ(megatron_round_trips(llama_on_64(), layouts), 12 * 5 * 3 * 2);
}

TEST(LaunchRoundTrip, MegatronLmWithExperts) {
  std::vector<Layout> layouts;
  for (Layout l : sizes()) {
    for (const int ep : {1, 4}) {
      for (const auto type : {MoeTokenDispatcherType::allgather, MoeTokenDispatcherType::alltoall,
                              MoeTokenDispatcherType::flex}) {
        l.sequence_parallel = true;
        l.expert_parallel_size = ep;
        l.expert_tensor_parallel_size = l.tensor_parallel_size > 1 ? 1 : 0;
        l.moe_token_dispatcher_type = type;
        if (type == MoeTokenDispatcherType::flex) {
          l.moe_flex_dispatcher_backend = MoeFlexDispatcherBackend::hybridep;
        }
        layouts.push_back(settled(l));
        l.moe_flex_dispatcher_backend = {};
      }
    }
  }
  EXPECT_EQ(megatron_round_trips(mixture(), layouts), 12 * 2 * 3);
}

TEST(LaunchRoundTrip, MegatronLmWithOffloadAndUnevenStages) {
  Layout l;
  l.pipeline_parallel_size = 4;
  l.data_parallel_size = 4;
  l.zero_stage = 1;
  l.optimizer_offload = true;
  l.num_layers_in_first_pipeline_stage = 7;
  l.num_layers_in_last_pipeline_stage = 7;
  Layout list = l;
  list.num_layers_in_first_pipeline_stage = list.num_layers_in_last_pipeline_stage = 0;
  list.pipeline_layout = std::get<PipelineLayout>(read_pipeline_layout("Et*7|t*9|t*9|t*7L"));
  Layout order = l;
  order.rank_order = {Axis::tensor, Axis::context, Axis::expert, Axis::pipeline, Axis::data};
  EXPECT_EQ(megatron_round_trips(llama_on_64(), {l, list, order}), 3);
}

TEST(LaunchRoundTrip, Nanotron) {
  int trips = 0;
  for (Layout l : sizes()) {
    if (l.virtual_pipeline_parallel_size > 1) continue;
    for (const int zero : {0, 1}) {
      for (const bool on : {false, true}) {
        l.zero_stage = zero;
        l.sequence_parallel = l.tp_comm_overlap = on && l.tensor_parallel_size > 1;
        l.recompute_granularity = on ? RecomputeGranularity::full : RecomputeGranularity::none;
        l.pipeline_engine = PipelineEngine::nanotron;
        const LaunchFile file = nanotron(llama_on_64().training(l));
        ASSERT_EQ(file.refusal, "");
        const LaunchRecord record = read_nanotron(file.text, "nanotron.yaml", {});
        Layout back = read_back(record, l);
        back.pipeline_engine = PipelineEngine::nanotron;  // the framework's
        EXPECT_TRUE(back == l) << file.text;
        EXPECT_EQ(record.micro_batches_a_rank, 256 / (2 * 4));
        EXPECT_TRUE(record.not_understood.empty());
        ++trips;
      }
    }
  }
  EXPECT_EQ(trips, 8 * 2 * 2);
}

TEST(LaunchRoundTrip, MegatronBridge) {
  int trips = 0;
  for (const Layout& size : sizes()) {
    for (const Layout& recompute : with_recompute(size)) {
      for (const int zero : {0, 1}) {
        Layout l = recompute;
        l.zero_stage = zero;
        l.sequence_parallel = l.tp_comm_overlap = l.overlap_grad_reduce = zero > 0;
        l = settled(l);
        const LaunchFile file = megatron_bridge(llama_on_64().training(l));
        ASSERT_EQ(file.refusal, "");
        const LaunchRecord record = read_megatron_bridge(file.text, "bridge.yaml", {});
        EXPECT_TRUE(read_back(record, l) == l) << file.text << short_name(read_back(record, l));
        EXPECT_EQ(record.job.global_batch_size, 256);
        EXPECT_EQ(record.job.seq_length, 8192);
        EXPECT_TRUE(record.not_understood.empty());
        ++trips;
      }
    }
  }
  EXPECT_EQ(trips, 12 * 5 * 2);
}

int torchtitan_round_trips(const Configured& e, FsdpVocabulary vocabulary) {
  int trips = 0;
  LaunchHints hints;
  hints.model.emplace().num_layers = 32;
  for (Layout l : sizes()) {
    l.schedule = implied_schedule(l.virtual_pipeline_parallel_size);
    l.overlap_p2p_comm = l.virtual_pipeline_parallel_size > 1;
    for (const int zero : {2, 3}) {
      for (const int shard : {0, 2}) {
        l.sequence_parallel = l.tensor_parallel_size > 1;
        l.zero_stage = zero;
        l.fsdp_unit = FsdpUnit::block;
        l.fsdp_vocabulary = vocabulary;
        l.zero_shard_size = shard * l.context_parallel_size;
        // With one context rank the file says nothing of it.
        if (l.context_parallel_size > 1) l.cp_comm_type = ContextParallelAlgorithm::all_gather;
        l.recompute_granularity =
            shard == 0 ? RecomputeGranularity::full : RecomputeGranularity::selective;
        l.recompute_modules =
            shard == 0 ? Layout{}.recompute_modules : RecomputeModules{kRecomputeOp};
        const LaunchFile file = torchtitan(e.training(l));
        EXPECT_EQ(file.refusal, "");
        const LaunchRecord record = read_launch(file.text, file.file_name, hints);
        EXPECT_TRUE(read_back(record, l) == l) << file.text << short_name(read_back(record, l));
        EXPECT_EQ(record.job.seq_length, 8192);
        ++trips;
      }
    }
  }
  return trips;
}

TEST(LaunchRoundTrip, Torchtitan) {
  EXPECT_EQ(torchtitan_round_trips(llama_on_64(), FsdpVocabulary::root), 12 * 2 * 2);
}

// 0.3.0 has a command in the place of a file.
TEST(LaunchRoundTrip, TorchtitanCommand) {
  Configured e = llama_on_64();
  e.model.name = "llama-3-8b";
  e.cluster.framework.defaults.layout.tensor_engine = TensorEngine::spmd_types;
  EXPECT_EQ(torchtitan_round_trips(e, FsdpVocabulary::units), 12 * 2 * 2);
  e.job.precision = Precision::fp8;
  EXPECT_NE(torchtitan(e.training(sizes().front())).refusal, "");
}

TEST(LaunchRoundTrip, DeepSpeed) {
  for (const int zero : {0, 1, 2, 3}) {
    for (const int tp : {1, 2}) {
      Layout l;
      l.tensor_parallel_size = tp;
      l.data_parallel_size = 16;
      l.micro_batch_size = 2;
      l.zero_stage = zero;
      l.overlap_grad_reduce = zero > 0;
      l.optimizer_offload = zero == 3;
      const LaunchFile file = deepspeed(llama_on_64().training(l));
      ASSERT_EQ(file.refusal, "");
      LaunchHints hints;
      hints.seq_length = 8192;
      const LaunchRecord record = read_deepspeed(file.text, "deepspeed.json", hints);
      EXPECT_TRUE(read_back(record, l) == l) << file.text;
      EXPECT_EQ(record.job.global_batch_size, 256);
    }
  }
}

// A switch alone offloads nothing, or ends the launch.
TEST(LaunchRoundTrip, OffloadOfTheOptimizerStandsWithWhatItAsksFor) {
  const Configured run = llama_on_64();
  Layout one_rank;
  one_rank.tensor_parallel_size = 8;
  one_rank.pipeline_parallel_size = 8;
  one_rank.optimizer_offload = true;
  EXPECT_THAT(megatron_lm(run.training(one_rank)).text,
              AllOf(HasSubstr("--use-distributed-optimizer"), HasSubstr("--optimizer-cpu-offload"),
                    HasSubstr("--use-precision-aware-optimizer")));
  EXPECT_THAT(megatron_bridge(run.training(one_rank)).text,
              HasSubstr("optimizer_offload_fraction: 1.0"));
  Layout replicas;
  replicas.data_parallel_size = 64;
  replicas.optimizer_offload = true;
  EXPECT_EQ(deepspeed(run.training(replicas)).refusal, "it offloads the optimizer of ZeRO only");
}

TEST(LaunchRoundTrip, AnUnknownTargetIsRefused) {
  EXPECT_EQ(refusal_for("SomeLauncher", llama_on_64().training({})),
            "nothing is written for SomeLauncher");
}

}  // namespace
}  // namespace meshwright::interop
