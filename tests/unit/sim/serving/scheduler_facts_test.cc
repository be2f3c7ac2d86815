// SPDX-License-Identifier: Apache-2.0
// Steps of vLLM's scheduler (facts/vllm_scheduler.json) against simulated ones. Compared are tokens
// of each request in the order of the batch, prefix hits, preemptions, ends, requests that run and
// wait, and free blocks. One step is one second. Steps from `first` to `last` are equal, but for
// prefix hits of the first.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/record/parse.h"
#include "sim/serving/simulation.h"
#include "tests/paths.h"
#include "tests/unit/sim/serving/plain_replica.h"

namespace meshwright {
namespace {

constexpr int kBlock = 16;

Json scenarios() {
  std::ifstream in(std::filesystem::path(MESHWRIGHT_SOURCE_DIR) /
                   "tests/unit/sim/serving/facts/vllm_scheduler.json");
  std::stringstream text;
  text << in.rdbuf();
  return parse_json(text.str(), "vllm_scheduler.json").at("scenarios");
}

ServingReplica replica_of(const Json& rule, ServingLoad& load) {
  ServingReplica replica = test::plain_replica({}, {}, rule.at("blocks").get<double>() * kBlock);
  replica.step = seconds(1);
  SchedulerRule& r = replica.rule;
  r.block_size = replica.memory.sequence.block_size = kBlock;
  r.token_budget = rule.at("token_budget");
  r.max_sequences = rule.at("max_sequences");
  r.overlapped = rule.value("overlapped", r.overlapped);
  r.prefix_caching = rule.value("prefix_caching", r.prefix_caching);
  r.chunks = rule.value("chunks", r.chunks);
  r.whole_prompts = rule.value("whole_prompts", r.whole_prompts);
  r.by_priority = rule.value("by_priority", r.by_priority);
  r.watermark_blocks = rule.value("watermark_blocks", r.watermark_blocks);
  r.long_prompt = rule.value("long_prompt", r.long_prompt);
  replica.cost.drafts = rule.value("drafts", 0);
  r.tokens_per_step = 1.0 + rule.value("accepted", 0);
  load.kind = LoadKind::arrivals;
  load.lengths.kind = LengthKind::list;
  return replica;
}

Json pairs(const std::vector<TracedTokens>& list) {
  Json json = Json::array();
  for (const TracedTokens& one : list) json.push_back({one.request, one.tokens});
  return json;
}

Json step_json(const TracedStep& step, bool has_ends) {
  Json json{{"batch", pairs(step.batch)},
            {"running", step.running},
            {"waiting", step.waiting},
            {"free_blocks", step.free_blocks}};
  if (!step.cached.empty()) json["cached"] = pairs(step.cached);
  if (!step.preempted.empty()) json["preempted"] = step.preempted;
  if (has_ends && !step.finished.empty()) json["finished"] = step.finished;
  return json;
}

TEST(SchedulerFacts, StepsAreThoseOfVllm) {
  const Json all = scenarios();
  ASSERT_GE(all.size(), 18U);
  for (const Json& scenario : all) {
    const auto name = scenario.at("name").get<std::string>();
    ServingLoad load;
    const ServingReplica replica = replica_of(scenario.at("rule"), load);
    for (const Json& one : scenario.at("requests")) {
      load.arrivals.push_back(seconds(one[0]));
      load.lengths.list.push_back({one[1], one[2], one[3], one[4]});
    }
    const auto run = simulate_serving(replica, 1, load, true);
    ASSERT_TRUE(run.has_value()) << name;
    std::size_t at = 0;
    for (Json step : scenario.at("steps")) {
      const int first = step.at("first"), last = step.at("last");
      step.erase("first");
      step.erase("last");
      for (int now = first; now <= last; ++now, ++at) {
        ASSERT_LT(at, run->trace.size()) << name << ", step " << now;
        EXPECT_EQ(run->trace[at].start.value(), now) << name;
        EXPECT_EQ(step_json(run->trace[at], !replica.rule.overlapped), step)
            << name << ", step " << now;
      }
    }
    EXPECT_EQ(at, run->trace.size()) << name;
  }
}

}  // namespace
}  // namespace meshwright
